//! The plane of waits: the active ones, and how the others ended.

use serde::Serialize;

use crate::{
    id::{MessageId, Seq, TimerId, WaitConditionId, WaitingIntentId},
    record::{
        Record,
        entry::Place,
        waiting::{
            EndedBy, TimerRecord, TimerStatus, WaitConditionRecord, WaitConditionStatus,
            WaitingIntentRecord, WaitingIntentStatus,
        },
    },
    time::Timestamp,
};
use wakeful_json::{Map, Readable};

/// An active wait, and the entry of its latest record.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Active<T> {
    /// The entry of the latest record.
    pub seq: Seq,
    /// The latest record.
    pub record: T,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Waiting {
    /// Active intents.
    pub intents: Map<WaitingIntentId, Active<WaitingIntentRecord>>,
    /// Active conditions.
    pub conditions: Map<WaitConditionId, Active<WaitConditionRecord>>,
    /// Active timers.
    pub timers: Map<TimerId, Active<TimerRecord>>,
    /// Ended intents, each with the entry that ended it.
    pub ended_intents: Map<WaitingIntentId, Seq>,
    /// Ended conditions, each with its status and the entry that ended it.
    pub ended_conditions: Map<WaitConditionId, (WaitConditionStatus, Seq)>,
    /// Ended timers, each with its status and the entry that ended it.
    pub ended_timers: Map<TimerId, (TimerStatus, Seq)>,
    /// Active conditions whose system-wait key is spent, each with the entry that spent it
    /// (contract 8.3).
    pub ticked: Map<WaitConditionId, Seq>,
    /// Active conditions whose deadline has a message, each with its newest one (contract 5.17).
    #[serde(default)]
    pub deadlines_told: Map<WaitConditionId, MessageId>,
    /// Active conditions that nothing can end, with the entry that reported it (contract 11.3).
    #[serde(default)]
    pub reported: Map<WaitConditionId, Seq>,
    /// The number of records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Waiting {
    /// The entry that has this intent, active or ended.
    #[must_use]
    pub fn seen_intent(&self, id: &WaitingIntentId) -> Option<Seq> {
        let active = self.intents.get(id).map(|wait| wait.seq);
        active.or_else(|| self.ended_intents.get(id).copied())
    }

    /// The entry that has this timer, active or ended.
    #[must_use]
    pub fn seen_timer(&self, id: &TimerId) -> Option<Seq> {
        let active = self.timers.get(id).map(|wait| wait.seq);
        active.or_else(|| self.ended_timers.get(id).map(|(_, seq)| *seq))
    }

    /// The entry that has this condition, active or ended.
    #[must_use]
    pub fn seen_condition(&self, id: &WaitConditionId) -> Option<Seq> {
        let active = self.conditions.get(id).map(|wait| wait.seq);
        active.or_else(|| self.ended_conditions.get(id).map(|(_, seq)| *seq))
    }

    /// The record by which the turn of a trigger consumes a condition (contract 5.16).
    pub(crate) fn condition_satisfied(
        &self,
        id: &WaitConditionId,
        by: EndedBy,
        at: Timestamp,
    ) -> Option<Record> {
        let condition = self.conditions.get(id)?;
        Some(match by {
            EndedBy::Deadline => condition.record.ended_by_deadline(at),
            EndedBy::TriggerEnded => condition.record.ended(WaitConditionStatus::Cancelled, by, at),
            _ => condition.record.ended(WaitConditionStatus::Resolved, by, at),
        })
    }

    /// Notes that a diagnostic `wait_without_waker` was recorded.
    pub(crate) fn reported(&mut self, place: &Place, id: Option<WaitConditionId>) {
        if let Some(id) = id.filter(|id| self.conditions.contains_key(id)) {
            self.reported.insert(id, place.seq);
        }
    }

    pub(crate) fn apply_intent(&mut self, place: &Place, record: &WaitingIntentRecord) {
        let id = &record.id;
        match record.status {
            WaitingIntentStatus::Active if self.ended_intents.contains_key(id) => self.refused += 1,
            WaitingIntentStatus::Active => {
                let wait = Active { seq: place.seq, record: record.clone() };
                self.intents.insert(id.clone(), wait);
            }
            // An intent has only one terminal status, so a second end contradicts nothing.
            WaitingIntentStatus::Cancelled => {
                self.intents.remove(id);
                self.ended_intents.insert(id.clone(), place.seq);
            }
        }
    }

    pub(crate) fn apply_condition(&mut self, place: &Place, record: &WaitConditionRecord) {
        let id = &record.id;
        if let Some((status, seq)) = self.ended_conditions.get_mut(id) {
            // contract 3.3: the same status replaces the record, and another one is refused.
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
            // The keys of an ended wait cannot be used again, so nothing of it stays (I24).
            self.ticked.remove(id);
            self.deadlines_told.remove(id);
            self.reported.remove(id);
            self.ended_conditions.insert(id.clone(), (record.status, place.seq));
        }
    }

    pub(crate) fn apply_timer(&mut self, place: &Place, record: &TimerRecord) {
        let id = &record.id;
        if let Some((status, seq)) = self.ended_timers.get_mut(id) {
            if *status == record.status {
                *seq = place.seq;
            } else {
                self.refused += 1;
            }
        } else if record.status == TimerStatus::Active {
            let wait = Active { seq: place.seq, record: record.clone() };
            self.timers.insert(id.clone(), wait);
        } else {
            self.timers.remove(id);
            self.ended_timers.insert(id.clone(), (record.status, place.seq));
        }
    }
}
