//! The host of a scenario: a ledger and a provider that fail when the scenario says so, and remember what they were asked.

use std::{cell::RefCell, rc::Rc};

use wakeful_core::{
    host::{Ledger, LedgerError, Provider, ProviderError},
    id::{MessageId, RunId, Seq},
    record::{chain::Head, effect::TurnRequest, entry::EntryBytes, turn::AbortReason},
};

use crate::watched::WatchedLedger;

/// What is to go wrong, and what was asked for. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Trouble(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    appends: u32,
    unacknowledged: bool,
    provider: bool,
    asked: Vec<String>,
}

impl Trouble {
    /// So many of the next appends store nothing and answer with an error.
    pub(super) fn fail_appends(&self, count: u32) {
        self.0.borrow_mut().appends = count;
    }

    /// The next append stores its batch and answers with an error all the same.
    pub(super) fn leave_unacknowledged(&self) {
        self.0.borrow_mut().unacknowledged = true;
    }

    /// The next call of the provider fails.
    pub(super) fn fail_provider(&self) {
        self.0.borrow_mut().provider = true;
    }

    /// What the provider was asked, in order, also where it failed.
    pub(super) fn asked(&self) -> Vec<String> {
        self.0.borrow().asked.clone()
    }
}

/// A ledger that fails when it is told to.
#[derive(Clone, Default)]
pub(super) struct Kept {
    pub(super) ledger: WatchedLedger,
    pub(super) trouble: Trouble,
}

impl Ledger for Kept {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        {
            let mut inner = self.trouble.0.borrow_mut();
            if inner.appends > 0 {
                inner.appends -= 1;
                return Err(LedgerError::Failed { message: "the disk is full".to_owned() });
            }
        }
        self.ledger.append(expected, batch)?;
        if std::mem::take(&mut self.trouble.0.borrow_mut().unacknowledged) {
            return Err(LedgerError::Failed { message: "no answer came".to_owned() });
        }
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.ledger.read(after, limit)
    }
}

/// A provider that executes nothing: what happens in its turns is told by the scenario.
#[derive(Clone, Default)]
pub(super) struct Told(pub(super) Trouble);

impl Told {
    fn asked(&self, what: String) -> Result<(), ProviderError> {
        let mut inner = self.0.0.borrow_mut();
        inner.asked.push(what);
        if std::mem::take(&mut inner.provider) { Err(ProviderError { message: "no connection".to_owned() }) } else { Ok(()) }
    }
}

impl Provider for Told {
    fn start_turn(&mut self, request: &TurnRequest) -> Result<(), ProviderError> {
        self.asked(format!("start {} on {}", request.run_id, request.message.id))
    }

    fn interject(&mut self, run: &RunId, message: &MessageId) -> Result<(), ProviderError> {
        self.asked(format!("interject {message} into {run}"))
    }

    fn yield_turn(&mut self, run: &RunId) -> Result<(), ProviderError> {
        self.asked(format!("yield {run}"))
    }

    fn abort_turn(&mut self, run: &RunId, reason: AbortReason) -> Result<(), ProviderError> {
        self.asked(format!("abort {run} {reason}"))
    }

    fn release(&mut self) -> Result<(), ProviderError> {
        self.asked("release".to_owned())
    }
}
