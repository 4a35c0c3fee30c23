//! What the scheduler asks for, noted: the owner of the agent carries it out when the call that asked has returned.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use wakeful_core::{
    effect::{Effect, TurnRequest},
    host::{Provider, ProviderError},
    id::{MessageId, RunId, TaskId},
    plane::turn::AbortReason,
};

/// A provider that notes effects in order. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Noted {
    effects: Rc<RefCell<VecDeque<Effect>>>,
    /// The tasks that this host goes on with.
    alive: Rc<Vec<TaskId>>,
}

impl Noted {
    /// A provider that proves these tasks alive.
    pub(super) fn with_alive(alive: Vec<TaskId>) -> Self {
        Self { alive: Rc::new(alive), ..Self::default() }
    }

    /// The oldest effect that is still to be carried out.
    pub(super) fn take(&self) -> Option<Effect> {
        self.effects.borrow_mut().pop_front()
    }

    fn note(&self, effect: Effect) -> Result<(), ProviderError> {
        self.effects.borrow_mut().push_back(effect);
        Ok(())
    }
}

impl Provider for Noted {
    fn start_turn(&mut self, request: &TurnRequest) -> Result<(), ProviderError> {
        self.note(Effect::StartTurn(request.clone()))
    }

    fn interject(&mut self, run: &RunId, message: &MessageId) -> Result<(), ProviderError> {
        self.note(Effect::Interject { run_id: run.clone(), message_id: message.clone() })
    }

    fn yield_turn(&mut self, run: &RunId) -> Result<(), ProviderError> {
        self.note(Effect::YieldTurn { run_id: run.clone() })
    }

    fn abort_turn(&mut self, run: &RunId, reason: AbortReason) -> Result<(), ProviderError> {
        self.note(Effect::AbortTurn { run_id: run.clone(), reason })
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        Ok(active.into_iter().filter(|task| self.alive.contains(task)).collect())
    }

    fn release(&mut self) -> Result<(), ProviderError> {
        self.note(Effect::Release)
    }
}
