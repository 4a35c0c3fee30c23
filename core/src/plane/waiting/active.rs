//! The state of waiting: what is active, and how the rest ended.

use alloc::{collections::BTreeMap, vec::Vec};

use serde::Serialize;

use super::{
    intent_ended,
    record::{
        EndedBy, ExternalTriggerScope, TimerRecord, TimerStatus, WaitConditionRecord, WaitConditionStatus, WaitingIntentRecord,
        WaitingIntentStatus,
    },
    with_mirror,
};
use crate::{
    entry::{Place, Record},
    id::{Seq, TimerId, WaitConditionId, WaitingIntentId, WorkItemId},
    time::Timestamp,
};

/// An active wait and the entry of its latest record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Active<T> {
    /// The entry.
    pub seq: Seq,
    /// The record.
    pub record: T,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Waiting {
    /// Active intents.
    pub intents: BTreeMap<WaitingIntentId, Active<WaitingIntentRecord>>,
    /// Active conditions.
    pub conditions: BTreeMap<WaitConditionId, Active<WaitConditionRecord>>,
    /// Active timers.
    pub timers: BTreeMap<TimerId, Active<TimerRecord>>,
    /// Ended intents, and the entry that says so.
    pub ended_intents: BTreeMap<WaitingIntentId, Seq>,
    /// Ended conditions, how and by which entry.
    pub ended_conditions: BTreeMap<WaitConditionId, (WaitConditionStatus, Seq)>,
    /// Ended timers, and the entry that says so.
    pub ended_timers: BTreeMap<TimerId, Seq>,
    /// Active conditions whose system-wait key is spent, and the entry that spent it (contract 8.3).
    pub ticked: BTreeMap<WaitConditionId, Seq>,
    /// Records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Waiting {
    /// The entry that knows this intent, if any does.
    #[must_use]
    pub fn seen_intent(&self, id: &WaitingIntentId) -> Option<Seq> {
        let active = self.intents.get(id).map(|wait| wait.seq);
        active.or_else(|| self.ended_intents.get(id).copied())
    }

    /// The entry that knows this timer, if any does.
    #[must_use]
    pub fn seen_timer(&self, id: &TimerId) -> Option<Seq> {
        let active = self.timers.get(id).map(|wait| wait.seq);
        active.or_else(|| self.ended_timers.get(id).copied())
    }

    /// The active intents of one scope, by id.
    pub fn intents_of(&self, scope: ExternalTriggerScope) -> impl Iterator<Item = &Active<WaitingIntentRecord>> {
        self.intents.values().filter(move |intent| intent.record.scope == scope)
    }

    /// The active conditions of a work item, by id.
    pub fn conditions_of<'a>(&'a self, item: &'a WorkItemId) -> impl Iterator<Item = &'a Active<WaitConditionRecord>> {
        self.conditions.values().filter(move |condition| condition.record.work_item_id.as_ref() == Some(item))
    }

    /// The records that end the waits of a completed item; agent-scoped intents stay (contract 5.14).
    pub(crate) fn end_with_item(&self, item: &WorkItemId, at: Timestamp) -> Vec<Record> {
        let mut records = Vec::new();
        for intent in self.intents_of(ExternalTriggerScope::WorkItem) {
            if intent.record.work_item_id.as_ref() == Some(item) {
                records.extend(intent_ended(&intent.record, EndedBy::Completion, at));
            }
        }
        for condition in self.conditions_of(item) {
            if !condition.record.id.as_str().starts_with("waiting_intent:") {
                records.push(condition_ended(&condition.record, WaitConditionStatus::Cancelled, EndedBy::Completion, at));
            }
        }
        records
    }

    /// The records with which the turn that a trigger starts consumes an intent (contract 5.16).
    pub(crate) fn intent_satisfied(&self, id: &WaitingIntentId, at: Timestamp) -> Vec<Record> {
        let Some(intent) = self.intents.get(id).map(|wait| &wait.record) else {
            return Vec::new();
        };
        let triggered = WaitingIntentRecord { last_triggered_at: Some(at), trigger_count: intent.trigger_count + 1, ..intent.clone() };
        match intent.scope {
            ExternalTriggerScope::Agent => with_mirror(triggered).into(),
            ExternalTriggerScope::WorkItem => intent_ended(&triggered, EndedBy::Trigger, at).into(),
        }
    }

    /// The record with which the turn that a trigger starts consumes a condition (contract 5.16).
    pub(crate) fn condition_satisfied(&self, id: &WaitConditionId, by: EndedBy, at: Timestamp) -> Option<Record> {
        let condition = self.conditions.get(id)?;
        Some(condition_ended(&condition.record, WaitConditionStatus::Resolved, by, at))
    }

    pub(crate) fn apply_intent(&mut self, place: &Place, record: &WaitingIntentRecord) {
        let id = &record.id;
        match record.status {
            WaitingIntentStatus::Active if self.ended_intents.contains_key(id) => self.refused += 1,
            WaitingIntentStatus::Active => {
                let wait = Active { seq: place.seq, record: record.clone() };
                self.intents.insert(id.clone(), wait);
            }
            WaitingIntentStatus::Cancelled => {
                self.intents.remove(id);
                self.ended_intents.insert(id.clone(), place.seq);
            }
        }
    }

    pub(crate) fn apply_condition(&mut self, place: &Place, record: &WaitConditionRecord) {
        let id = &record.id;
        if let Some((status, seq)) = self.ended_conditions.get_mut(id) {
            if *status == record.status {
                *seq = place.seq;
            } else {
                self.refused += 1;
            }
        } else if record.status == WaitConditionStatus::Active {
            let wait = Active { seq: place.seq, record: record.clone() };
            self.conditions.insert(id.clone(), wait);
        } else {
            self.conditions.remove(id);
            self.ticked.remove(id);
            self.ended_conditions.insert(id.clone(), (record.status, place.seq));
        }
    }

    pub(crate) fn apply_timer(&mut self, place: &Place, record: &TimerRecord) {
        let id = &record.id;
        match record.status {
            TimerStatus::Active if self.ended_timers.contains_key(id) => self.refused += 1,
            TimerStatus::Active => {
                let wait = Active { seq: place.seq, record: record.clone() };
                self.timers.insert(id.clone(), wait);
            }
            TimerStatus::Completed | TimerStatus::Cancelled => {
                self.timers.remove(id);
                self.ended_timers.insert(id.clone(), place.seq);
            }
        }
    }
}
fn condition_ended(record: &WaitConditionRecord, status: WaitConditionStatus, by: EndedBy, at: Timestamp) -> Record {
    let resolved = status == WaitConditionStatus::Resolved;
    Record::WaitCondition(WaitConditionRecord {
        status,
        updated_at: at,
        resolved_at: resolved.then_some(at),
        cancelled_at: (!resolved).then_some(at),
        ended_by: Some(by),
        ..record.clone()
    })
}
