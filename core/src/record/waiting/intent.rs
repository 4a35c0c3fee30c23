//! Changes of a waiting intent, each with the condition that mirrors it (contract 5.16).

use alloc::vec::Vec;

use crate::{
    id::WorkItemId,
    record::{
        Record,
        waiting::{
            EndedBy, ExternalTriggerScope, WaitConditionRecord, WaitingIntentRecord,
            WaitingIntentStatus,
        },
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

impl WaitingIntentRecord {
    /// The item that waits; `None` if the agent itself does.
    #[must_use]
    pub fn owner(&self) -> Option<&WorkItemId> {
        self.work_item_id.as_ref().filter(|_| self.scope == ExternalTriggerScope::WorkItem)
    }

    /// The records by which the turn of a trigger consumes it (contract 5.16, D20). An intent of
    /// the agent is standing: it counts the trigger, unless no other can come.
    pub(crate) fn satisfied(&self, by: EndedBy, is_last: bool, at: Timestamp) -> Vec<Record> {
        if by == EndedBy::TriggerEnded {
            return ended(self, by, at).into();
        }
        let triggered = once_more(self, at);
        match self.scope {
            ExternalTriggerScope::Agent if !is_last => with_mirror(triggered).into(),
            _ => ended(&triggered, EndedBy::Trigger, at).into(),
        }
    }
}

pub(crate) fn ended(intent: &WaitingIntentRecord, by: EndedBy, at: Timestamp) -> [Record; 2] {
    with_mirror(WaitingIntentRecord {
        status: WaitingIntentStatus::Cancelled,
        cancelled_at: Some(at),
        ended_by: Some(by),
        ..intent.clone()
    })
}
