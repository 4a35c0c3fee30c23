//! Obligations: durable reasons not to rest. They are derived and never stored (contract 9.1).

use alloc::string::{String, ToString};

use serde::Serialize;

use crate::{id::Seq, tagged::names, time::Timestamp};

names! {
    /// The kind of an obligation.
    #[non_exhaustive]
    pub enum ObligationKind {
        /// A message is waiting.
        Message,
        /// A timer is due, or will be.
        Timer,
        /// The deadline of a condition is due, or will be.
        Deadline,
        /// A failed turn will be retried.
        Retry,
        /// The recheck of a blocked item is due, or will be.
        Recheck,
        /// A wake hint is pending.
        WakeHint,
        /// A runnable item was not offered yet.
        RunnableItem,
        /// A system wait has not had its tick yet.
        SystemWait,
        /// The next day ends the exhaustion of a budget.
        BudgetDay,
        /// A run was interrupted, and its message has not started another one.
        InterruptedRun,
    }
}

/// A durable reason not to rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Obligation {
    /// The kind of the obligation.
    pub kind: ObligationKind,
    /// The id of its subject: a message, timer, key or run.
    pub id: String,
    /// The entry that created it.
    pub seq: Seq,
    /// When it becomes enabled; `None` if it already is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_at: Option<Timestamp>,
    /// What holds it back: the rule of an active wait in this edition (contract 7.3), or the budget
    /// (contract 16.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
}

impl Obligation {
    pub(crate) fn new(kind: ObligationKind, id: impl ToString, seq: Seq) -> Self {
        Self { kind, id: id.to_string(), seq, enabled_at: None, held_by: None }
    }

    /// Whether it is owed again and again without anything having been asked: an offer of a resting
    /// item, or the next day of a budget. A program that runs until its agent rests must not wait
    /// for it; what is held back waits in the ledger.
    #[must_use]
    pub fn recurs(&self) -> bool {
        matches!(self.kind, ObligationKind::RunnableItem | ObligationKind::BudgetDay)
    }
}
