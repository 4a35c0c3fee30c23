//! What becomes of a fact: an answer, the records that follow, the effects that they release.

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::Seq,
    record::{Record, effect::Effect},
    tagged::names,
};

names! {
    /// Why a fact changed nothing.
    #[non_exhaustive]
    pub enum Refusal {
        /// Its id is taken.
        Duplicate,
        /// What it is about is over.
        AlreadyTerminal,
        /// It comes after something that overtook it.
        Stale,
        /// Its run is not open.
        StaleRun,
        /// What it is about does not exist.
        Unknown,
        /// The agent is stopped.
        Stopped,
        /// A run is open.
        RunOpen,
        /// The driver of this ledger decides it itself; such facts are for observed ledgers.
        SchedulerDecides,
        /// The task that it is about has not ended yet.
        NotYetTerminal,
        /// What is waited for is there already: no wait is recorded, the turn goes on.
        AlreadySatisfied,
        /// A wait that nothing can end: it names no wake source and no deadline.
        NoWaker,
        /// The condition mirrors an intent and ends with it.
        FollowsItsIntent,
        /// Only operator input ends a wait for the operator.
        OperatorOnly,
    }
}

/// What became of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// It changed the state.
    Accepted,
    /// It changed nothing; that it came is recorded (contract 2.2).
    Ignored {
        /// Why.
        reason: Refusal,
        /// The entry that decides so.
        because: Seq,
    },
}

/// What follows from a fact: records to append and effects to release once they are durable.
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

    pub(crate) fn ignored(reason: Refusal, because: Seq) -> Self {
        Self {
            answer: Answer::Ignored { reason, because },
            records: Vec::new(),
            effects: Vec::new(),
        }
    }
}
