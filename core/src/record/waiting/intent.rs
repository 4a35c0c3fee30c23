//! Changes of a waiting intent, each with the condition that mirrors it (contract 5.16).

use crate::{
    record::{
        Record,
        waiting::{EndedBy, WaitConditionRecord, WaitingIntentRecord, WaitingIntentStatus},
    },
    time::Timestamp,
};

/// The record of an intent whose trigger arrived once more.
pub(crate) fn once_more(intent: &WaitingIntentRecord, at: Timestamp) -> WaitingIntentRecord {
    WaitingIntentRecord {
        last_triggered_at: Some(at),
        trigger_count: intent.trigger_count + 1,
        ..intent.clone()
    }
}

/// An intent and the condition that mirrors it.
pub(crate) fn with_mirror(intent: WaitingIntentRecord) -> [Record; 2] {
    let mirror = WaitConditionRecord::mirror(&intent);
    [Record::WaitingIntent(intent), Record::WaitCondition(mirror)]
}

pub(crate) fn ended(intent: &WaitingIntentRecord, by: EndedBy, at: Timestamp) -> [Record; 2] {
    with_mirror(WaitingIntentRecord {
        status: WaitingIntentStatus::Cancelled,
        cancelled_at: Some(at),
        ended_by: Some(by),
        ..intent.clone()
    })
}
