//! Arrivals: what becomes a message on its own at some instant.

use crate::{
    id::Seq,
    record::waiting::{TimerRecord, WaitConditionRecord},
    state::{autonomy, recheck, turn::Retry, waiting::Active, work::Item},
    time::Timestamp,
};

impl<'a> Arrival<'a> {
    /// The instant at which it becomes a message.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        // The index lists only items with a pending recheck, so no default is ever used.
        match self {
            Self::Timer(timer) => timer.record.due_at(),
            Self::Deadline(_, at) => *at,
            Self::Retry(retry) => retry.due_at,
            Self::Recheck(item) => recheck::pending_at(item).unwrap_or_default(),
        }
    }

    /// The id of its subject: a timer, a condition, the first message of a lineage, or an item.
    #[must_use]
    pub fn id(&self) -> &'a str {
        match self {
            Self::Timer(timer) => timer.record.id.as_str(),
            Self::Deadline(wait, _) => wait.record.id.as_str(),
            Self::Retry(retry) => retry.retry_of.as_str(),
            Self::Recheck(item) => item.record.id.as_str(),
        }
    }

    /// The entry that created it.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Timer(timer) => timer.seq,
            Self::Deadline(wait, _) => wait.seq,
            Self::Retry(retry) => retry.seq,
            Self::Recheck(item) => item.seq,
        }
    }

    /// Whether it also arrives while the agent is parked (contract 9.5).
    pub(crate) fn is_from_outside(&self) -> bool {
        matches!(self, Self::Timer(timer) if autonomy::keeps_coming(&timer.record))
    }
}

/// Something that becomes a message at an instant.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a> {
    /// A timer fires (contract 5.20).
    Timer(&'a Active<TimerRecord>),
    /// A condition reaches its deadline, or its last external trigger ends (contract 5.17, 15.6).
    Deadline(&'a Active<WaitConditionRecord>, Timestamp),
    /// A failed turn is retried (contract 5.6).
    Retry(&'a Retry),
    /// The recheck of a blocked item is due (contract 5.17).
    Recheck(&'a Item),
}
