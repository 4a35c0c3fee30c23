//! Identifiers: one newtype per kind of thing, so that one cannot be passed for another.
//!
//! Ids are opaque text. The empty string is a valid id, because foreign ledgers contain it. An id
//! longer than [`MAX_BYTES`] is malformed; the limit for agents and waiting intents is
//! [`MAX_STEM_BYTES`]. A new id with a control character is malformed too; what was stored before
//! keeps such ids. Ids that the core makes come from the agent id and a `seq` (contract 1.2).

use alloc::{
    format,
    string::{String, ToString},
};
use core::fmt;

use serde::Serialize;

use wakeful_json::{Readable, Value, through_readable};

/// The longest id that is accepted, in bytes of UTF-8 (contract 10).
pub const MAX_BYTES: usize = 256;

/// The longest id of an agent or a waiting intent, in bytes of UTF-8. It is shorter because the
/// core makes other ids from these by adding to them, and those must be valid too.
pub const MAX_STEM_BYTES: usize = 200;

/// The position of an entry in its ledger, from 1 without gaps; 0 is "before the first" (contract
/// 3.1).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Readable,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seq(pub u64);

impl Seq {
    /// The position after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The position `n` after this one.
    #[must_use]
    pub fn plus(self, n: usize) -> Self {
        Self(self.0 + n as u64)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident <= $most:ident;)*) => {
        /// The names of the id types.
        pub const KINDS: &[&str] = &[$(stringify!($name)),*];

        $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name(String);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_string())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Readable for $name {
            fn read(value: &Value<'_>) -> Self {
                Self(text(value, $most))
            }
        }

        through_readable!($name);
        )*
    };
}

ids! {
    /// An agent, which owns one ledger.
    AgentId <= MAX_STEM_BYTES;
    /// A message of the queue.
    MessageId <= MAX_BYTES;
    /// One execution of a turn.
    RunId <= MAX_BYTES;
    /// A background task.
    TaskId <= MAX_BYTES;
    /// A work item.
    WorkItemId <= MAX_BYTES;
    /// A waiting intent: a wait for something external.
    WaitingIntentId <= MAX_STEM_BYTES;
    /// A wait condition, as `WaitFor` records it.
    WaitConditionId <= MAX_BYTES;
    /// A timer.
    TimerId <= MAX_BYTES;
    /// A work item handed to another agent.
    DelegationId <= MAX_BYTES;
    /// An external trigger: the address of a callback.
    ExternalTriggerId <= MAX_BYTES;
    /// A grant of a budget.
    GrantId <= MAX_BYTES;
    /// A delivery to an external trigger, as its sender names it.
    DeliveryId <= MAX_BYTES;
}

impl RunId {
    /// The id of the run that the entry at `seq` opens.
    #[must_use]
    pub fn made_at(agent: &AgentId, seq: Seq) -> Self {
        Self(format!("{agent}:run-{seq}"))
    }
}

impl MessageId {
    /// The id of the core's own message that the entry at `seq` records.
    #[must_use]
    pub fn made_at(agent: &AgentId, seq: Seq) -> Self {
        Self(format!("{agent}:message-{seq}"))
    }

    /// The entry that records this message of the core; `None` if a host has made the id.
    #[must_use]
    pub fn place(&self, agent: &AgentId) -> Option<Seq> {
        let number = self.0.strip_prefix(agent.as_str())?.strip_prefix(":message-")?;
        number.parse().ok().map(Seq)
    }
}

/// Reads the text of an id of at most `most` bytes.
// One copy of this code for all types of ids keeps the guest small.
#[inline(never)]
fn text(value: &Value<'_>, most: usize) -> String {
    let text = value.text("a string").into_owned();
    if text.len() > most {
        value.is_wrong(&format_args!("id is {} bytes long, the limit is {most}", text.len()));
    }
    // Asked first: what is read back is read most often.
    if value.is_new()
        && let Some(fault) = fault_in(&text)
    {
        value.is_wrong(&fault);
    }
    text
}

/// What is wrong with a new id (contract 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdFault {
    /// It has no character.
    #[error("id is empty")]
    Empty,
    /// It has a control character: C0, DEL or C1.
    #[error("id contains the control character U+{:04X}", u32::from(*.0))]
    Control(char),
}

/// What is wrong with a new id; `None` if nothing is.
#[must_use]
pub fn fault_in(id: &str) -> Option<IdFault> {
    if id.is_empty() {
        return Some(IdFault::Empty);
    }
    id.chars().find(|c| c.is_control()).map(IdFault::Control)
}
