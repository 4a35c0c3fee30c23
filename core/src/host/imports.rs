//! What a host provides: a ledger, a clock and a provider. They are the imports of the scheduler's
//! world.

use alloc::{string::String, vec::Vec};

use serde::Serialize;
use wakeful_json::Readable;

use crate::{
    id::{Seq, TaskId},
    record::{chain::Head, effect::Effect, entry::EntryBytes},
    tagged::{names, read_through, required},
    time::Timestamp,
};

/// The store of the entries. An implementation for a new store takes about 50 lines;
/// [`suite::ledger`](crate::suite::ledger) tests it.
pub trait Ledger {
    /// Stores a batch after the entry `expected`, all or nothing. The batch is durable before this
    /// returns.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] if the ledger does not end at `expected`. Then nothing is stored.
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError>;

    /// Up to `limit` entries after `after`, in order. A page may have fewer, so that it does not
    /// become too long, but at least one; only an empty page is the end.
    ///
    /// # Errors
    /// If the store fails.
    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError>;

    /// The newest stored snapshot, as it was written. `None` if the store does not keep snapshots
    /// (contract 3.5).
    ///
    /// # Errors
    /// If the store fails. Then the whole log is folded.
    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(None)
    }

    /// The longest state of which a snapshot is made, in bytes of its text. A host whose memory is
    /// limited cannot write the text of any state. By default there is no limit.
    fn snapshot_bytes(&self) -> usize {
        usize::MAX
    }

    /// Stores the snapshot that `write` makes at `head`. It may replace older ones. A store that
    /// does not keep snapshots does not call `write`.
    ///
    /// # Errors
    /// If the store fails. Nothing is lost; only the next opening takes longer.
    fn store_snapshot(
        &mut self,
        _head: &Head,
        _write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        Ok(())
    }
}

/// Why a call to a ledger failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum LedgerError {
    /// Another writer was first.
    #[error(
        "the ledger ends at entry {found}, not where this writer left it: another writer was first"
    )]
    Conflict {
        /// The last entry of the ledger.
        found: Seq,
    },
    /// The store failed. It may have stored the batch nevertheless.
    #[error("the ledger failed: {message}")]
    Failed {
        /// What failed, in words.
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

/// The fields of all variants of [`LedgerError`], which is read through this type.
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

/// The clock of the host.
pub trait Clock {
    /// The current time.
    fn now(&mut self) -> Timestamp;
}

/// The part of a host that executes turns.
pub trait Provider {
    /// Starts what an effect requests, and returns at once. The host reports the outcome as facts
    /// that name the run.
    ///
    /// # Errors
    /// If the effect cannot be carried out. The scheduler then records that the run of the effect
    /// failed. If the ledger fails too, the next call records it before anything else.
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError>;

    /// Which of the active tasks are alive after a restart. The others become interrupted (contract
    /// 5.23). By default none are alive: a task in another process ends with the process that
    /// started it.
    ///
    /// # Errors
    /// If this cannot be determined now. Then the ledger is not taken over, so no live task is
    /// given up.
    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        drop(active);
        Ok(Vec::new())
    }
}

/// Why a call to a provider failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable, thiserror::Error)]
#[error("the provider failed: {message}")]
pub struct ProviderError {
    /// What failed, in words.
    pub message: String,
}
