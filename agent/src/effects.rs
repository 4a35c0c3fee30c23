//! Effects of the scheduler, queued: the owner of the agent carries them out after the call that
//! released them has returned.

use std::{
    cell::RefCell,
    collections::{BTreeSet, VecDeque},
    rc::Rc,
};

use wakeful_core::{
    host::{Provider, ProviderError},
    id::TaskId,
    record::effect::Effect,
};

/// The tasks that this host runs something for. Clones share the set.
#[derive(Clone, Default)]
pub(crate) struct Alive(Rc<RefCell<BTreeSet<TaskId>>>);

impl Alive {
    /// Marks a task as running, or about to run.
    pub(crate) fn add(&self, task: &TaskId) {
        self.0.borrow_mut().insert(task.clone());
    }

    /// Marks a task as no longer running.
    pub(crate) fn remove(&self, task: &TaskId) {
        self.0.borrow_mut().remove(task);
    }
}

/// A provider that queues effects in order. Clones share the queue.
#[derive(Clone)]
pub(crate) struct Noted {
    effects: Rc<RefCell<VecDeque<Effect>>>,
    alive: Alive,
}

impl Noted {
    /// A provider that reports these tasks as alive.
    pub(crate) fn new(alive: Alive) -> Self {
        Self { effects: Rc::default(), alive }
    }

    /// Takes the oldest effect that is not carried out yet.
    pub(crate) fn take(&self) -> Option<Effect> {
        self.effects.borrow_mut().pop_front()
    }
}

impl Provider for Noted {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        // The engine is inside a call here, and what carries an effect out may call it again
        // (decision 023).
        self.effects.borrow_mut().push_back(effect.clone());
        Ok(())
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        let alive = self.alive.0.borrow();
        Ok(active.into_iter().filter(|task| alive.contains(task)).collect())
    }
}
