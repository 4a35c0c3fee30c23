//! What the scheduler asks for, noted: the owner of the agent carries it out when the call that
//! asked has returned.

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

/// The tasks for which something runs here. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Alive(Rc<RefCell<BTreeSet<TaskId>>>);

impl Alive {
    /// Something runs for a task, or is about to.
    pub(crate) fn add(&self, task: &TaskId) {
        self.0.borrow_mut().insert(task.clone());
    }

    /// Nothing runs for it any more.
    pub(crate) fn remove(&self, task: &TaskId) {
        self.0.borrow_mut().remove(task);
    }
}

/// A provider that notes effects in order. Clones share them.
#[derive(Clone)]
pub(crate) struct Noted {
    effects: Rc<RefCell<VecDeque<Effect>>>,
    alive: Alive,
}

impl Noted {
    /// A provider that proves these tasks alive.
    pub(crate) fn new(alive: Alive) -> Self {
        Self { effects: Rc::default(), alive }
    }

    /// The oldest effect that is still to be carried out.
    pub(crate) fn take(&self) -> Option<Effect> {
        self.effects.borrow_mut().pop_front()
    }
}

impl Provider for Noted {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        self.effects.borrow_mut().push_back(effect.clone());
        Ok(())
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        let alive = self.alive.0.borrow();
        Ok(active.into_iter().filter(|task| alive.contains(task)).collect())
    }
}
