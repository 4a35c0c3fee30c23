//! The state of the queue: which messages wait, in which order, and how the others ended.

use alloc::{
    collections::{BTreeMap, btree_map::Entry as MapEntry},
    vec::Vec,
};

use serde::Serialize;

use super::{
    envelope::{Priority, QueueStatus},
    record::{MessageRecord, QueueEntryRecord},
};
use crate::{
    entry::Place,
    id::{MessageId, Seq},
    time::Timestamp,
};

/// Where a message stands in its lane (contract 5.1): imported ones by their own time and id, then live ones by first admission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Position {
    Imported(Timestamp, MessageId),
    Live(Seq),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Slot {
    message: Option<Held>,
    status: Option<QueueStatus>,
    admitted: Option<Seq>,
    in_run: bool,
    #[serde(skip)]
    ready_at: Option<(Priority, Position)>,
}

/// A message and the entry that recorded it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The entry that recorded the message.
    pub seq: Seq,
    /// Whether it was recorded by a driver, not imported.
    pub live: bool,
    /// The message.
    pub record: MessageRecord,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Queue {
    slots: BTreeMap<MessageId, Slot>,
    #[serde(skip)]
    ready: BTreeMap<(Priority, Position), MessageId>,
    ended: BTreeMap<MessageId, (QueueStatus, Seq)>,
    /// Records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Queue {
    /// How many messages wait for a boundary.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether no message waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// The message that goes next.
    #[must_use]
    pub fn head(&self) -> Option<&Held> {
        self.ready.values().next().and_then(|id| self.message(id))
    }

    /// The messages that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Held> {
        self.ready.values().filter_map(|id| self.message(id))
    }

    /// The messages that would replay after a restart, in order of creation (contract 5.23).
    #[must_use]
    pub fn replayable(&self) -> Vec<&MessageId> {
        let mut ids: Vec<_> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.status.is_some())
            .filter_map(|(id, slot)| slot.message.as_ref().map(|held| (held.record.created_at, id)))
            .collect();
        ids.sort();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether any message has the status queued, as opposed to being replayed (contract 6.4).
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.slots.values().any(|slot| slot.status == Some(QueueStatus::Queued) && slot.message.is_some())
    }

    /// Whether this message is queued and not yet taken.
    #[must_use]
    pub fn is_queued(&self, id: &MessageId) -> bool {
        self.slots.get(id).is_some_and(|slot| slot.status == Some(QueueStatus::Queued))
    }

    /// A message that has not reached a terminal status.
    #[must_use]
    pub fn message(&self, id: &MessageId) -> Option<&Held> {
        self.slots.get(id)?.message.as_ref()
    }

    /// The entry that first knew this id, if any did.
    #[must_use]
    pub fn seen(&self, id: &MessageId) -> Option<Seq> {
        let ended = self.ended.get(id).map(|(_, seq)| *seq);
        ended.or_else(|| self.message(id).map(|held| held.seq))
    }

    pub(crate) fn apply_message(&mut self, place: &Place, record: &MessageRecord) {
        if self.ended.contains_key(&record.id) {
            return;
        }
        let slot = self.slots.entry(record.id.clone()).or_default();
        let seq = slot.message.as_ref().map_or(place.seq, |held| held.seq);
        slot.message = Some(Held { seq, live: place.live, record: record.clone() });
        self.place(&record.id);
    }

    pub(crate) fn apply_entry(&mut self, place: &Place, record: &QueueEntryRecord) {
        let id = &record.message_id;
        if let MapEntry::Occupied(ended) = self.ended.entry(id.clone()) {
            // contract 3.3: terminal statuses absorb.
            self.refused += u64::from(ended.get().0 != record.status);
            return;
        }
        let slot = self.slots.entry(id.clone()).or_default();
        slot.status = Some(record.status);
        slot.admitted.get_or_insert(place.seq);
        if record.status.is_terminal() {
            self.unplace(id);
            self.slots.remove(id);
            self.ended.insert(id.clone(), (record.status, place.seq));
        } else {
            self.place(id);
        }
    }

    /// A run took the message, or gave it back by being interrupted.
    pub(crate) fn set_in_run(&mut self, id: &MessageId, in_run: bool) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.in_run = in_run;
            self.place(id);
        }
    }

    fn unplace(&mut self, id: &MessageId) {
        if let Some(key) = self.slots.get_mut(id).and_then(|slot| slot.ready_at.take()) {
            self.ready.remove(&key);
        }
    }

    fn place(&mut self, id: &MessageId) {
        self.unplace(id);
        let Some(slot) = self.slots.get_mut(id) else { return };
        // contract 3.6: a queue entry without message, or a message without queue entry, is never queued.
        let (Some(held), Some(_), Some(admitted)) = (&slot.message, slot.status, slot.admitted) else {
            return;
        };
        if slot.in_run {
            return;
        }
        let position = if held.live { Position::Live(admitted) } else { Position::Imported(held.record.created_at, id.clone()) };
        let key = (held.record.priority, position);
        slot.ready_at = Some(key.clone());
        self.ready.insert(key, id.clone());
    }
}
