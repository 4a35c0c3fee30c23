//! What becomes a message by itself at an instant, as the state lists it.

use crate::{
    id::Seq,
    record::waiting::{TimerRecord, WaitConditionRecord},
    state::{autonomy, recheck, turn::Retry, waiting::Active, work::Item},
    time::Timestamp,
};

impl<'a> Arrival<'a> {
    /// When it is due.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Timer(timer) => timer.record.due_at(),
            Self::Deadline(wait) => wait.record.deadline().unwrap_or_default(),
            Self::Retry(retry) => retry.due_at,
            Self::Recheck(item) => recheck::pending_at(item).unwrap_or_default(),
        }
    }

    /// What it is about: a timer, a condition, the first message of a lineage, an item.
    #[must_use]
    pub fn id(&self) -> &'a str {
        match self {
            Self::Timer(timer) => timer.record.id.as_str(),
            Self::Deadline(wait) => wait.record.id.as_str(),
            Self::Retry(retry) => retry.retry_of.as_str(),
            Self::Recheck(item) => item.record.id.as_str(),
        }
    }

    /// The entry that made it.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Timer(timer) => timer.seq,
            Self::Deadline(wait) => wait.seq,
            Self::Retry(retry) => retry.seq,
            Self::Recheck(item) => item.seq,
        }
    }

    /// Whether it reaches a parked agent (contract 9.5).
    pub(crate) fn is_from_outside(&self) -> bool {
        matches!(self, Self::Timer(timer) if autonomy::keeps_coming(&timer.record))
    }
}

/// Something that becomes a message at an instant.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a> {
    /// A timer fires (contract 5.20).
    Timer(&'a Active<TimerRecord>),
    /// A condition reaches its deadline (contract 5.17).
    Deadline(&'a Active<WaitConditionRecord>),
    /// A failed turn is tried again (contract 5.6).
    Retry(&'a Retry),
    /// What blocks an item is looked at again (contract 5.17).
    Recheck(&'a Item),
}
