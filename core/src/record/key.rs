//! Keys: a spent key says that the model had its chance to act on something (contract 8).

use alloc::{
    format,
    string::{String, ToString},
};
use core::fmt;

use serde::{Serialize, Serializer};

use crate::{
    id::{WaitConditionId, WorkItemId},
    record::control::WakeHint,
    tagged::names,
};
use wakeful_json::{Readable, Value, through_readable};

names! {
    /// Why a tick offers a work item to the model.
    pub enum TickReason {
        /// It has the focus.
        ContinueActive,
        /// It is runnable without the focus.
        QueuedAvailable,
    }
}

/// The epoch of an item: its revision, plus `~k` for the `k` live entries since then that give a
/// new reason to look (contract 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    /// The revision of the newest snapshot.
    pub revision: u64,
    /// The `k`: moves since that revision.
    pub moved: u64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.moved {
            0 => write!(f, "{}", self.revision),
            k => write!(f, "{}~{k}", self.revision),
        }
    }
}

impl Serialize for Epoch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Readable for Epoch {
    fn read(value: &Value<'_>) -> Self {
        let text = value.text("a string");
        let (revision, moved) = text.split_once('~').unwrap_or((&text, "0"));
        match (revision.parse(), moved.parse()) {
            (Ok(revision), Ok(moved)) => Self { revision, moved },
            _ => {
                value.is_wrong(&format_args!("`{text}` is not an epoch like `3` or `3~1`"));
                Self { revision: 0, moved: 0 }
            }
        }
    }
}

through_readable!(Epoch);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Epoch {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Epoch".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9]+(~[0-9]+)?$",
            "description": "revision, and ~k if k > 0"
        })
    }
}

/// An idempotency key (contract 8.1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// The key of a work-queue tick.
    #[must_use]
    pub fn work(reason: TickReason, item: &WorkItemId, epoch: Epoch) -> Self {
        Self(format!("work_queue:{reason}:{item}:{epoch}"))
    }

    /// The key of a wake hint. The generation distinguishes hints of one scope (contract 8.4).
    #[must_use]
    pub fn hint(hint: &WakeHint, generation: i64) -> Self {
        let intent = hint.waiting_intent_id.as_ref().map(ToString::to_string);
        let scope = intent
            .or_else(|| hint.external_trigger_id.as_ref().map(ToString::to_string))
            .or_else(|| hint.source.clone())
            // The scope that the reference runtime uses then (`observed-decisions.md` 4.7).
            .unwrap_or_else(|| "unknown".into());
        Self(format!("wake_hint:{scope}:{generation}"))
    }

    /// The key of a system wait.
    #[must_use]
    pub fn system_wait(condition: &WaitConditionId) -> Self {
        Self(format!("system_wait:{condition}"))
    }

    /// A key from its text, as in a tick's metadata.
    #[must_use]
    pub fn named(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
