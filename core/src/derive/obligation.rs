//! Obligations: durable reasons not to rest. Derived, never kept (contract 9.1).

use alloc::string::{String, ToString};

use serde::Serialize;

use crate::{id::Seq, tagged::names, time::Timestamp};

names! {
    /// What kind of reason it is.
    #[non_exhaustive]
    pub enum ObligationKind {
        /// A message waits.
        Message,
        /// A timer is due, or will be.
        Timer,
        /// The deadline of a condition is reached, or will be.
        Deadline,
        /// A failed turn is to be tried again.
        Retry,
        /// The blocker of an item is to be looked at again.
        Recheck,
        /// A wake hint is pending.
        WakeHint,
        /// A runnable item was not yet offered.
        RunnableItem,
        /// A wait for the runtime itself was not yet ticked.
        SystemWait,
        /// A run was interrupted and its message has not started another.
        InterruptedRun,
    }
}

/// A durable reason not to rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Obligation {
    /// What kind of reason it is.
    pub kind: ObligationKind,
    /// What it is about: a message, timer, key or run.
    pub id: String,
    /// The entry that made it.
    pub seq: Seq,
    /// When it becomes enabled; already is where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_at: Option<Timestamp>,
    /// The rule of the active wait that holds it back in this edition (contract 7.3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
}

impl Obligation {
    pub(crate) fn new(kind: ObligationKind, id: impl ToString, seq: Seq) -> Self {
        Self { kind, id: id.to_string(), seq, enabled_at: None, held_by: None }
    }
}
