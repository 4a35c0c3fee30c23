//! What a host provides: a ledger, a clock and a provider, the imports of the scheduler's world.

use alloc::{string::String, vec::Vec};

use serde::Serialize;
use wakeful_json::Readable;

use crate::{
    id::{Seq, TaskId},
    record::{chain::Head, effect::Effect, entry::EntryBytes},
    tagged::{names, read_through, required},
    time::Timestamp,
};

/// Where entries are kept: 50 lines for a new store, which [`suite::ledger`](crate::suite::ledger)
/// tests.
pub trait Ledger {
    /// Stores a batch after the entry `expected`, all or nothing, durable before it returns.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] where the ledger does not end at `expected`; nothing is stored
    /// then.
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError>;

    /// Up to `limit` entries after `after`, in order; empty at the end.
    ///
    /// # Errors
    /// Where the store fails.
    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError>;

    /// The newest snapshot that was stored, as it was written; none in a store that keeps none
    /// (contract 3.5).
    ///
    /// # Errors
    /// Where the store fails; the log is folded whole then.
    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(None)
    }

    /// Keeps the snapshot that `write` writes, made at `head`; older ones may go. A store that
    /// keeps none does not call `write`.
    ///
    /// # Errors
    /// Where the store fails; nothing is lost then but the time that the next opening takes.
    fn store_snapshot(
        &mut self,
        _head: &Head,
        _write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        Ok(())
    }
}

/// Why a ledger did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum LedgerError {
    /// Another writer was first.
    #[error(
        "the ledger ends at entry {found}, not where this writer left it: another writer was first"
    )]
    Conflict {
        /// Where it ends.
        found: Seq,
    },
    /// The store failed.
    #[error("the ledger failed: {message}")]
    Failed {
        /// How.
        message: String,
    },
}

impl TryFrom<LedgerErrorFields> for LedgerError {
    type Error = String;

    fn try_from(f: LedgerErrorFields) -> Result<Self, String> {
        Ok(match f.error {
            LedgerErrorKind::Conflict => {
                Self::Conflict { found: required(f.found, "found", "conflict")? }
            }
            LedgerErrorKind::Failed => {
                Self::Failed { message: required(f.message, "message", "failed")? }
            }
        })
    }
}

read_through!(LedgerError, LedgerErrorFields, Self::Conflict { found: Seq(0) });

/// All fields that some such error has; what [`LedgerError`] is read through.
#[derive(Readable)]
struct LedgerErrorFields {
    error: LedgerErrorKind,
    found: Option<Seq>,
    message: Option<String>,
}

names! {
    enum LedgerErrorKind {
        Conflict,
        Failed,
    }
}

/// What time it is.
pub trait Clock {
    /// Now.
    fn now(&mut self) -> Timestamp;
}

/// Who executes turns for the host.
pub trait Provider {
    /// Begins what an effect asks for, and returns at once. What happens comes back as facts that
    /// name the run.
    ///
    /// # Errors
    /// If it cannot be done. The run of the effect then fails: the scheduler records it, and the
    /// next call of the host says it first.
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError>;

    /// Which of the active tasks are alive after a restart; the others become interrupted (contract
    /// 5.23). By default none are: a task in another process ends with the process that started it.
    ///
    /// # Errors
    /// If it cannot be found out now. The agent is not taken over then, so that no task is given up
    /// that is alive.
    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        drop(active);
        Ok(Vec::new())
    }
}

/// Why a provider did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable, thiserror::Error)]
#[error("the provider failed: {message}")]
pub struct ProviderError {
    /// How.
    pub message: String,
}
