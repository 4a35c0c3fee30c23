//! The plane of ingress: external triggers and what was delivered to them (contract 15).

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::{ExternalTriggerId, MessageId, Seq, WorkItemId},
    record::{
        entry::Place,
        ingress::{DELIVERY, DeliveryKey, ExternalTriggerRecord, ExternalTriggerStatus},
        waiting::WaitConditionRecord,
    },
    state::{State, queue::lanes::Held, trigger::Trigger},
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{Map, Readable};

names! {
    /// How an external trigger ended.
    pub enum TriggerEnd {
        /// It was revoked, or its work item was completed.
        Revoked,
        /// It was for one delivery and had it.
        Used,
        /// Its time is over.
        Expired,
    }
}

/// A trigger that can be delivered to.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct OpenTrigger {
    /// The entry of its newest record.
    pub seq: Seq,
    /// Its newest record.
    pub record: ExternalTriggerRecord,
    /// Its newest deliveries, oldest first, each with its entry.
    deliveries: Vec<(DeliveryKey, Seq)>,
}

/// The deliveries that a trigger remembers, so that one that is told again does not count again
/// (contract 15.2).
const REMEMBERED: usize = 1_024;

/// What stays of a trigger that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct EndedTrigger {
    /// How it ended.
    pub how: TriggerEnd,
    /// The entry of its newest record.
    pub seq: Seq,
    /// When it ended.
    pub at: Timestamp,
    /// The number of deliveries.
    pub delivery_count: u64,
    /// The item whose waits alone it served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_item: Option<WorkItemId>,
    /// Its newest delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_delivery: Option<DeliveryKey>,
}

/// The state of the plane. The triggers of an import are inert, so they are not in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Ingress {
    /// The triggers that can be delivered to.
    pub open: Map<ExternalTriggerId, OpenTrigger>,
    /// The triggers that have ended.
    pub ended: Map<ExternalTriggerId, EndedTrigger>,
    /// The triggers that came with an import, each with its entry.
    pub inert: Map<ExternalTriggerId, Seq>,
    /// The number of records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Ingress {
    /// The entry that has this trigger.
    #[must_use]
    pub fn seen(&self, id: &ExternalTriggerId) -> Option<Seq> {
        let open = self.open.get(id).map(|trigger| trigger.seq);
        let ended = || self.ended.get(id).map(|trigger| trigger.seq);
        open.or_else(ended).or_else(|| self.inert.get(id).copied())
    }

    /// Whether this trigger was made here, so that only its deliveries name it (contract 15.4).
    #[must_use]
    pub fn knows(&self, id: &ExternalTriggerId) -> bool {
        self.open.contains_key(id) || self.ended.contains_key(id)
    }

    /// The item whose waits alone a trigger serves; `None` for one of the agent.
    #[must_use]
    pub fn only_item(&self, id: &ExternalTriggerId) -> Option<&WorkItemId> {
        match self.open.get(id) {
            Some(open) => open.record.only_item(),
            None => self.ended.get(id)?.only_item.as_ref(),
        }
    }

    /// The entry of a delivery that is remembered.
    #[must_use]
    pub fn delivered(&self, id: &ExternalTriggerId, key: DeliveryKey) -> Option<Seq> {
        if let Some(ended) = self.ended.get(id) {
            return (ended.last_delivery == Some(key)).then_some(ended.seq);
        }
        let known = self.open.get(id)?.deliveries.iter().find(|(known, _)| *known == key);
        known.map(|(_, seq)| *seq)
    }

    /// The instant at which a trigger ends or ended, if that is known.
    #[must_use]
    pub fn ends_at(&self, id: &ExternalTriggerId) -> Option<Timestamp> {
        match self.open.get(id) {
            Some(open) => open.record.expires_at,
            None => self.ended.get(id).map(|ended| ended.at),
        }
    }

    /// When the last of the triggers ends that alone can end this wait. `None` if one of them does
    /// not end, or if something else can end the wait.
    #[must_use]
    pub fn leaves(&self, wait: &WaitConditionRecord) -> Option<Timestamp> {
        let ends: Option<Vec<_>> =
            wait.only_triggers()?.into_iter().map(|id| self.ends_at(id)).collect();
        ends?.into_iter().max()
    }

    pub(crate) fn apply(&mut self, place: &Place, record: &ExternalTriggerRecord) {
        let id = &record.external_trigger_id;
        if !place.live {
            // Imported triggers are inert: their tokens are another runtime's (contract 15).
            self.inert.insert(id.clone(), place.seq);
            return;
        }
        if let Some(ended) = self.ended.get(id) {
            // contract 3.3: terminal statuses absorb.
            let says_the_same = match ended.how {
                TriggerEnd::Revoked => record.status == ExternalTriggerStatus::Revoked,
                TriggerEnd::Used => record.status == ExternalTriggerStatus::Used,
                TriggerEnd::Expired => false,
            };
            self.refused += u64::from(!says_the_same);
            return;
        }
        let mut deliveries = self.open.remove(id).map_or_else(Vec::new, |open| open.deliveries);
        let counted = deliveries.len();
        if let Some(key) =
            record.last_delivery().filter(|key| deliveries.iter().all(|(known, _)| known != key))
        {
            deliveries.push((key, place.seq));
            deliveries.drain(..(counted + 1).saturating_sub(REMEMBERED));
        }
        let open = OpenTrigger { seq: place.seq, record: record.clone(), deliveries };
        let (how, at) = match record.status {
            ExternalTriggerStatus::Active => {
                self.open.insert(id.clone(), open);
                return;
            }
            ExternalTriggerStatus::Revoked => (TriggerEnd::Revoked, record.revoked_at),
            ExternalTriggerStatus::Used => (TriggerEnd::Used, record.last_delivered_at),
        };
        self.end(id, &open, how, at.unwrap_or(record.created_at));
    }

    /// Folds that the time of a trigger is over.
    pub(crate) fn expire(&mut self, id: &ExternalTriggerId) {
        let Some(open) = self.open.remove(id) else { return };
        if let Some(at) = open.record.expires_at {
            self.end(id, &open, TriggerEnd::Expired, at);
        }
    }

    fn end(&mut self, id: &ExternalTriggerId, open: &OpenTrigger, how: TriggerEnd, at: Timestamp) {
        let ended = EndedTrigger {
            how,
            seq: open.seq,
            at,
            delivery_count: open.record.delivery_count,
            only_item: open.record.only_item().cloned(),
            last_delivery: open.record.last_delivery(),
        };
        self.ended.insert(id.clone(), ended);
    }
}

impl Held {
    /// Whether a delivery to an external trigger became this message.
    #[must_use]
    pub fn is_delivery(&self) -> bool {
        self.live && self.record.id.as_str().starts_with(DELIVERY)
    }
}

impl State {
    /// Whether a delivery to this trigger has not met the waits yet: as a hint that is pending, or
    /// as a message that no run has taken (contract 15.5). `except` is a message that does not
    /// count.
    #[must_use]
    pub fn is_delivering(&self, id: &ExternalTriggerId, except: Option<&MessageId>) -> bool {
        let hinted = self.control.hint.as_ref().is_some_and(|pending| {
            pending.hint.external_trigger_id.as_ref() == Some(id)
                || pending.coalesced.triggers.contains(id)
        });
        hinted
            || self.queue.waiting().any(|held| {
                let message = &held.record;
                Some(&message.id) != except
                    && (held.is_delivery() || held.is_core_made())
                    // A replay met the waits when a run first took it.
                    && self.queue.resolution(&message.id).is_none()
                    && Trigger::from_held(self, held)
                        .is_some_and(|trigger| trigger.names.triggers.contains(id))
            })
    }

    /// Whether a trigger has ended, and nothing that was delivered to it is still to come.
    #[must_use]
    pub fn has_run_dry(&self, id: &ExternalTriggerId, except: Option<&MessageId>) -> bool {
        self.ingress.ended.contains_key(id) && !self.is_delivering(id, except)
    }

    /// When a wait ends if nothing ends it before: at its own deadline, or when the last trigger
    /// ends that could (contract 5.17, 15.6).
    #[must_use]
    pub fn deadline_of(&self, wait: &WaitConditionRecord) -> Option<Timestamp> {
        wait.deadline().or_else(|| self.ingress.leaves(wait))
    }
}
