//! The outcome of a fact: an answer, records to append, and effects to release.

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::Seq,
    record::{Record, effect::Effect},
    state::State,
    tagged::names,
};

names! {
    /// Why a fact changed nothing.
    #[non_exhaustive]
    pub enum Refusal {
        /// Its id is in use.
        Duplicate,
        /// Its id is in use for another content. The evidence is the entry that introduced the id.
        ConflictingDuplicate,
        /// Its subject has ended.
        AlreadyTerminal,
        /// Something newer came before it.
        Stale,
        /// Its run is not open.
        StaleRun,
        /// Its subject does not exist.
        Unknown,
        /// The agent is stopped.
        Stopped,
        /// A run is open.
        RunOpen,
        /// The driver of this ledger decides this itself. Such facts are for observed ledgers.
        SchedulerDecides,
        /// Its task has not ended yet.
        NotYetTerminal,
        /// What it waits for is there already. No wait is recorded, and the turn continues.
        AlreadySatisfied,
        /// Nothing can end the wait: it has no wake source and no deadline.
        NoWaker,
        /// The condition mirrors an intent and ends with it.
        FollowsItsIntent,
        /// Only operator input ends a wait for the operator.
        OperatorOnly,
        /// The token was rotated away.
        WrongToken,
        /// Its external trigger serves another work item.
        OtherOwner,
    }
}

/// The answer to a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// It changed the state.
    Accepted,
    /// It changed nothing, and the ledger records that (contract 2.2).
    Ignored {
        /// Why it changed nothing.
        reason: Refusal,
        /// The entry that decides this.
        because: Seq,
    },
}

/// The records to append, and the effects to release once they are durable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) answer: Answer,
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
}

impl Outcome {
    pub(crate) fn accepted(records: Vec<Record>) -> Self {
        Self { answer: Answer::Accepted, records, effects: Vec::new() }
    }

    /// The answer to a fact whose id is in use: `record` is what it would have recorded, and `seen`
    /// the entry that has the id (contract 2.2).
    pub(crate) fn repeated(state: &State, record: &Record, seen: Seq) -> Self {
        match state.introduced.conflict(record) {
            Some(first) => Self::ignored(Refusal::ConflictingDuplicate, first),
            None => Self::ignored(Refusal::Duplicate, seen),
        }
    }

    pub(crate) fn ignored(reason: Refusal, because: Seq) -> Self {
        Self {
            answer: Answer::Ignored { reason, because },
            records: Vec::new(),
            effects: Vec::new(),
        }
    }
}
