//! The state of the queue: which messages wait, in which order, and how the others ended.

use alloc::vec::Vec;
use core::{cmp::Ordering, num::NonZeroU64};

use serde::Serialize;

use crate::{
    id::{MessageId, Seq, WorkItemId},
    record::{
        continuation::Resolution,
        entry::Place,
        queue::{
            entry::QueueEntryRecord,
            envelope::{Priority, QueueStatus},
            message::MessageRecord,
        },
    },
    state::queue::deferred::Deferred,
    time::Timestamp,
};
use wakeful_json::{Map, Readable, sort::sort_by};

/// Where a message stands in its lane (contract 5.1): imported ones by their own time and id, then
/// live ones by first admission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Position {
    Imported(Timestamp, MessageId),
    Live(Seq),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
struct Slot {
    message: Option<Held>,
    status: Option<QueueStatus>,
    admitted: Option<Seq>,
    in_run: bool,
    #[serde(default)]
    interruptions: u64,
    resolution: Option<Resolution>,
    /// What its first turn was about; none before there was one.
    #[serde(default)]
    about: Option<About>,
    #[serde(skip)]
    ready_at: Option<(Priority, Position)>,
}

/// What a turn was about, if anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub(crate) struct About {
    pub(crate) work_item_id: Option<WorkItemId>,
}

/// A message and the entry that recorded it.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Held {
    /// The entry that recorded the message.
    pub seq: Seq,
    /// Whether it was recorded by a driver, not imported.
    pub live: bool,
    /// The message.
    pub record: MessageRecord,
}

impl Held {
    /// Whether the core made this message, as opposed to a host or another runtime.
    #[must_use]
    pub fn is_core_made(&self) -> bool {
        self.live && self.record.id == MessageId::made_at(&self.record.agent_id, self.seq)
    }
}

/// How many dequeues in a row passed over what waits (contract 5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
struct Passed {
    /// Over the oldest operator input.
    operator: u64,
    /// Over a lane in which something waits, by lane.
    lanes: Map<Priority, u64>,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Queue {
    slots: Map<MessageId, Slot>,
    #[serde(skip)]
    ready: Map<Priority, Map<Position, MessageId>>,
    /// The operator input among them, oldest first.
    #[serde(skip)]
    operator: Map<Position, MessageId>,
    /// Those among them that were taken before and wait to replay.
    #[serde(skip)]
    replaying: Map<MessageId, ()>,
    passed: Passed,
    ended: Map<MessageId, (QueueStatus, Seq)>,
    /// Messages that no turn has read (contract 5.3).
    #[serde(default)]
    pub deferred: Deferred,
    /// Records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Queue {
    /// How many messages wait for a boundary.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ready.values().map(Map::len).sum()
    }

    /// How many of them were never taken. An import does not say which message its open run has
    /// taken, so that one waits too, to replay.
    #[must_use]
    pub fn untaken(&self) -> usize {
        self.len() - self.replaying.len()
    }

    /// Whether no message waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// The message that goes next: the oldest of the most urgent lane, unless more than
    /// `lane_burst` dequeues in a row would pass over operator input or over another lane (contract
    /// 5.1, D23).
    #[must_use]
    pub fn head(&self, lane_burst: NonZeroU64) -> Option<&Held> {
        let oldest_operator =
            self.operator.values().next().filter(|_| self.passed.operator >= lane_burst.get());
        let starved = || {
            self.passed
                .lanes
                .iter()
                .find(|(_, passed)| **passed >= lane_burst.get())
                .map(|(lane, _)| *lane)
        };
        let id = oldest_operator
            .or_else(|| self.first_of(starved()?))
            .or_else(|| self.ready.values().find_map(|lane| lane.values().next()));
        id.and_then(|id| self.message(id))
    }

    /// The first message that may go into an open run (contract 5.9).
    #[must_use]
    pub fn interjection(&self) -> Option<&Held> {
        self.ready
            .get(&Priority::Interject)?
            .values()
            .filter_map(|id| self.message(id))
            .find(|held| held.record.is_operator_input())
    }

    /// How many queue entries have no message (contract 3.6).
    #[must_use]
    pub fn orphans(&self) -> usize {
        self.slots.values().filter(|slot| slot.status.is_some() && slot.message.is_none()).count()
    }

    /// How many ids of settled messages are kept (contract 3.3).
    #[must_use]
    pub fn tombstones(&self) -> usize {
        self.ended.len()
    }

    fn first_of(&self, lane: Priority) -> Option<&MessageId> {
        self.ready.get(&lane)?.values().next()
    }

    /// The messages that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Held> {
        self.ready.values().flat_map(Map::values).filter_map(|id| self.message(id))
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
        sort_by(&mut ids, Ord::cmp);
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether anything has the status queued, as opposed to being replayed (contract 6.4). An
    /// entry whose message is missing counts: it is no head (contract 3.6), but somebody queued
    /// something, and that should be seen.
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.slots.values().any(|slot| slot.status == Some(QueueStatus::Queued))
    }

    /// The messages that have not reached a terminal status, queued or not.
    pub fn open(&self) -> impl Iterator<Item = &MessageId> {
        self.slots.iter().filter(|(_, slot)| slot.message.is_some()).map(|(id, _)| id)
    }

    /// Whether this message has a queue entry that is not terminal.
    #[must_use]
    pub fn has_entry(&self, id: &MessageId) -> bool {
        self.slots.get(id).is_some_and(|slot| slot.status.is_some())
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

    /// The entry that gave this message its terminal status, if one did.
    #[must_use]
    pub fn ended(&self, id: &MessageId) -> Option<Seq> {
        self.ended.get(id).map(|(_, seq)| *seq)
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
        let slot = self.slots.get_or_insert(record.id.clone(), Slot::default());
        let seq = slot.message.as_ref().map_or(place.seq, |held| held.seq);
        slot.message = Some(Held { seq, live: place.live, record: record.clone() });
        self.place(&record.id);
    }

    pub(crate) fn apply_entry(&mut self, place: &Place, record: &QueueEntryRecord) {
        let id = &record.message_id;
        if let Some((ended, _)) = self.ended.get(id) {
            // contract 3.3: terminal statuses absorb.
            self.refused += u64::from(*ended != record.status);
            return;
        }
        if place.live && record.status == QueueStatus::Dequeued {
            self.count_passed(id);
        }
        let slot = self.slots.get_or_insert(id.clone(), Slot::default());
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

    /// How this message met the closure when a run took it; a replayed message meets it alike
    /// (contract 6.3).
    #[must_use]
    pub fn resolution(&self, id: &MessageId) -> Option<&Resolution> {
        self.slots.get(id)?.resolution.as_ref()
    }

    pub(crate) fn set_resolution(&mut self, id: &MessageId, resolution: Resolution) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.resolution = Some(resolution);
        }
    }

    /// What the first turn of this message was about, where it had one; a replayed message is about
    /// the same (contract 5.4).
    pub(crate) fn about(&self, id: &MessageId) -> Option<&About> {
        self.slots.get(id)?.about.as_ref()
    }

    /// A turn of this message started, which is about this.
    pub(crate) fn set_about(&mut self, id: &MessageId, work_item_id: Option<WorkItemId>) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.about.get_or_insert(About { work_item_id });
        }
    }

    /// How often the runs of this message were interrupted, shutdowns not counted (contract 5.24).
    #[must_use]
    pub fn interruptions(&self, id: &MessageId) -> u64 {
        self.slots.get(id).map_or(0, |slot| slot.interruptions)
    }

    pub(crate) fn interrupted(&mut self, id: &MessageId) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.interruptions += 1;
        }
    }

    /// Whether a run has taken this message.
    #[must_use]
    pub fn is_in_run(&self, id: &MessageId) -> bool {
        self.slots.get(id).is_some_and(|slot| slot.in_run)
    }

    /// A run took the message, or gave it back by being interrupted.
    pub(crate) fn set_in_run(&mut self, id: &MessageId, in_run: bool) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.in_run = in_run;
            self.place(id);
        }
    }

    /// Puts the messages back into their lanes, which are not stored.
    pub(crate) fn rebuild(&mut self) {
        let ids: Vec<_> = self.slots.keys().cloned().collect();
        ids.iter().for_each(|id| self.place(id));
    }

    /// Counts what the dequeue of this message passes over.
    fn count_passed(&mut self, id: &MessageId) {
        let Some((taken, _)) = self.slots.get(id).and_then(|slot| slot.ready_at.clone()) else {
            return;
        };
        let passes_operator = self.operator.values().next().is_some_and(|oldest| oldest != id);
        self.passed.operator = if passes_operator { self.passed.operator + 1 } else { 0 };
        for lane in [Priority::Interject, Priority::Next, Priority::Normal, Priority::Background] {
            let waits = self.ready.contains_key(&lane);
            match lane.cmp(&taken) {
                Ordering::Greater if waits => *self.passed.lanes.get_or_insert(lane, 0) += 1,
                Ordering::Less if waits => {}
                _ => drop(self.passed.lanes.remove(&lane)),
            }
        }
    }

    fn unplace(&mut self, id: &MessageId) {
        let Some((lane, position)) = self.slots.get_mut(id).and_then(|slot| slot.ready_at.take())
        else {
            return;
        };
        self.operator.remove(&position);
        self.replaying.remove(id);
        if let Some(waiting) = self.ready.get_mut(&lane) {
            waiting.remove(&position);
            if waiting.is_empty() {
                self.ready.remove(&lane);
            }
        }
    }

    fn place(&mut self, id: &MessageId) {
        self.unplace(id);
        let Some(slot) = self.slots.get_mut(id) else { return };
        // contract 3.6: a queue entry without message, or a message without queue entry, is never
        // queued.
        let (Some(held), Some(_), Some(admitted)) = (&slot.message, slot.status, slot.admitted)
        else {
            return;
        };
        if slot.in_run {
            return;
        }
        let position = if held.live {
            Position::Live(admitted)
        } else {
            Position::Imported(held.record.created_at, id.clone())
        };
        if held.record.is_operator_input() {
            self.operator.insert(position.clone(), id.clone());
        }
        if slot.status == Some(QueueStatus::Dequeued) {
            self.replaying.insert(id.clone(), ());
        }
        let lane = held.record.priority;
        slot.ready_at = Some((lane, position.clone()));
        self.ready.get_or_insert(lane, Map::new()).insert(position, id.clone());
    }
}
