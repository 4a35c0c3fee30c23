//! The host of a scenario: a ledger and a provider that fail when the scenario says so. The
//! provider remembers what it was asked.

use std::{cell::RefCell, rc::Rc};

use wakeful_core::{
    host::{Ledger, LedgerError, Provider, ProviderError},
    id::Seq,
    record::{chain::Head, effect::Effect, entry::EntryBytes},
};

use crate::watched::WatchedLedger;

/// The failures that are still to come, and the calls of the provider. Clones share both.
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
    /// The next `count` appends store nothing and give an error.
    pub(super) fn fail_appends(&self, count: u32) {
        self.0.borrow_mut().appends = count;
    }

    /// The next append stores its batch, but gives an error.
    pub(super) fn leave_unacknowledged(&self) {
        self.0.borrow_mut().unacknowledged = true;
    }

    /// The next call of the provider fails.
    pub(super) fn fail_provider(&self) {
        self.0.borrow_mut().provider = true;
    }

    /// The calls of the provider in order, failed ones included.
    pub(super) fn asked(&self) -> Vec<String> {
        self.0.borrow().asked.clone()
    }
}

/// A ledger that fails as [`Trouble`] says.
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

/// A provider that executes nothing: the scenario says what happens in its turns.
#[derive(Clone, Default)]
pub(super) struct Told(pub(super) Trouble);

impl Provider for Told {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        let what = match effect {
            Effect::StartTurn(request) => {
                format!("start {} on {}", request.run_id, request.message.id)
            }
            Effect::Interject { run_id, message_id } => {
                format!("interject {message_id} into {run_id}")
            }
            Effect::YieldTurn { run_id } => format!("yield {run_id}"),
            Effect::AbortTurn { run_id, reason } => format!("abort {run_id} {reason}"),
            Effect::Release => "release".to_owned(),
        };
        let mut inner = self.0.0.borrow_mut();
        inner.asked.push(what);
        if std::mem::take(&mut inner.provider) {
            Err(ProviderError { message: "no connection".to_owned() })
        } else {
            Ok(())
        }
    }
}
