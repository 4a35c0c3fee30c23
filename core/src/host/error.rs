//! Errors of the loop, and the report of them that every host gives.

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

/// Why a call to the loop failed. The ledger is consistent in every case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// The ledger cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nothing was proposed.
    #[error(transparent)]
    Propose(#[from] ProposeError),
    /// The ledger failed. The state is unchanged.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The provider could not say which tasks are alive, so the ledger was not taken over.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// There is no such entry.
    #[error("there is no entry {asked}: this ledger has the entries 1 to {ends}")]
    NoSuchEntry {
        /// The entry that was asked for.
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
        /// The number of steps that it took.
        steps: usize,
    },
}

/// An error as every host reports it: a code for programs, a sentence for people, and the place if
/// there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorReport {
    /// The kind of the error.
    pub code: ErrorCode,
    /// What is wrong and what to do, in a sentence.
    pub message: String,
    /// The place in the text that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<ErrorPlace>,
}

names! {
    /// The kind of an error.
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
        /// The provider failed, and the call needs its answer.
        ProviderFailed,
        /// The ledger has no such entry.
        NoSuchEntry,
        /// The loop did not come to rest.
        Restless,
        /// The host called or answered in a way that it must not; the message says what to do.
        Misuse,
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
            Self::Propose(
                ProposeError::ReservedId { .. }
                | ProposeError::WrongId(_)
                | ProposeError::NoAgentId,
            ) => (ErrorCode::Malformed, None),
            Self::Propose(ProposeError::TooLarge { .. }) => (ErrorCode::TooLarge, None),
            Self::Propose(
                ProposeError::NotDriven
                | ProposeError::NotBegun
                | ProposeError::NotEmpty(_)
                | ProposeError::OtherAgent { .. },
            ) => (ErrorCode::WrongState, None),
            Self::Propose(ProposeError::Busy | ProposeError::Clock(_)) => (ErrorCode::Misuse, None),
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
