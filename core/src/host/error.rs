//! Why the loop did not do what was asked, and the report of it that every host gives.

use alloc::string::{String, ToString};

use serde::Serialize;

use crate::{
    foreign::ForeignError,
    host::imports::{LedgerError, ProviderError},
    id::Seq,
    machine::{OpenError, ProposeError},
    tagged::names,
};
use wakeful_json::{ErrorPlace, JsonError, Readable};

/// Why the loop did not do what was asked. The ledger is consistent in every case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// The ledger cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nothing was proposed.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// The ledger failed; the state is as before.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The provider did not say which tasks are alive; the ledger was not taken over.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// There is no such entry.
    #[error("there is no entry {asked}: the entries of this ledger have the numbers 1 to {ends}")]
    NoSuchEntry {
        /// What was asked for.
        asked: Seq,
        /// The newest entry.
        ends: Seq,
    },
    /// The folder cannot be imported.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// The loop did not come to rest.
    #[error("no rest after {steps} steps: this is a defect, keep the ledger")]
    Restless {
        /// How many steps it took.
        steps: usize,
    },
}

/// An error as every host reports it: a code to branch on, a sentence to read, and the place where
/// there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorReport {
    /// What kind of error it is.
    pub code: ErrorCode,
    /// What is wrong, in a sentence that says what to do.
    pub message: String,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ErrorPlace>,
}

names! {
    /// What kind of error it is.
    pub enum ErrorCode {
        /// The stored ledger cannot be opened.
        CannotOpen,
        /// A fact or a folder cannot be read.
        Malformed,
        /// Something is longer than its limit.
        TooLarge,
        /// The ledger is not in the state that the call needs.
        WrongState,
        /// Another writer was first.
        Conflict,
        /// The store failed.
        LedgerFailed,
        /// The provider failed where the call needs its answer.
        ProviderFailed,
        /// The ledger has no such entry.
        NoSuchEntry,
        /// The loop did not come to rest.
        Restless,
    }
}

impl SchedulerError {
    /// The error as a report.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        let of_json = |why: &JsonError| ErrorPlace {
            file: None,
            line: why.line,
            column: why.column,
            path: why.path.clone(),
        };
        let (code, place) = match self {
            Self::Open(_) => (ErrorCode::CannotOpen, None),
            Self::Propose(ProposeError::Malformed(why)) => {
                (ErrorCode::Malformed, Some(of_json(why)))
            }
            Self::Propose(ProposeError::TooLarge { .. }) => (ErrorCode::TooLarge, None),
            Self::Propose(
                ProposeError::Busy
                | ProposeError::NotDriven
                | ProposeError::NotBegun
                | ProposeError::NotEmpty(_)
                | ProposeError::OtherAgent { .. },
            ) => (ErrorCode::WrongState, None),
            Self::Ledger(LedgerError::Conflict { .. }) => (ErrorCode::Conflict, None),
            Self::Ledger(LedgerError::Failed { .. }) => (ErrorCode::LedgerFailed, None),
            Self::Provider(_) => (ErrorCode::ProviderFailed, None),
            Self::NoSuchEntry { .. } => (ErrorCode::NoSuchEntry, None),
            Self::Foreign(why) => (ErrorCode::Malformed, why.place()),
            Self::Restless { .. } => (ErrorCode::Restless, None),
        };
        ErrorReport { code, message: self.to_string(), place }
    }
}
