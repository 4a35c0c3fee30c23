//! The lanes of the queue: which messages wait, in which order, and how the others ended.

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

/// The position of a message in its lane (contract 5.1): imported ones first, by time and id, then
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
    /// The subject of its first turn; `None` before that turn.
    #[serde(default)]
    about: Option<About>,
    #[serde(skip)]
    ready_at: Option<(Priority, Position)>,
}

/// The item of a turn, if it had one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub(crate) struct About {
    pub(crate) work_item_id: Option<WorkItemId>,
}

/// A message, and the entry that recorded it.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Held {
    /// The entry that recorded the message.
    pub seq: Seq,
    /// Whether a driver recorded it; false for an import.
    pub live: bool,
    /// The message.
    pub record: MessageRecord,
}

impl Held {
    /// Whether the core made this message, and not a host or another runtime.
    #[must_use]
    pub fn is_core_made(&self) -> bool {
        self.live && self.record.id == MessageId::made_at(&self.record.agent_id, self.seq)
    }
}

/// The number of dequeues in a row that passed over waiting messages (contract 5.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
struct Passed {
    /// Dequeues that passed over operator input.
    operator: u64,
    /// Dequeues that passed over each lower lane with waiting messages.
    lanes: Map<Priority, u64>,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Queue {
    slots: Map<MessageId, Slot>,
    #[serde(skip)]
    ready: Map<Priority, Map<Position, MessageId>>,
    /// The waiting operator input, oldest first.
    #[serde(skip)]
    operator: Map<Position, MessageId>,
    /// The waiting messages that were dequeued before and replay.
    #[serde(skip)]
    replaying: Map<MessageId, ()>,
    passed: Passed,
    ended: Map<MessageId, (QueueStatus, Seq)>,
    /// Messages that no completed turn has read (contract 5.3).
    #[serde(default)]
    pub deferred: Deferred,
    /// The number of records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Queue {
    /// The number of waiting messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ready.values().map(Map::len).sum()
    }

    /// The number of waiting messages that were never dequeued. An import does not name the message
    /// of its open run, so that message waits too, to replay.
    #[must_use]
    pub fn untaken(&self) -> usize {
        self.len() - self.replaying.len()
    }

    /// Whether no message is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// The message that goes next: the oldest of the most urgent lane. After `lane_burst` dequeues
    /// in a row that passed over operator input or a lower lane, its oldest message goes first
    /// (contract 5.1, D23).
    #[must_use]
    pub fn head(&self, lane_burst: NonZeroU64) -> Option<&Held> {
        let oldest_operator =
            self.operator.values().next().filter(|_| self.passed.operator >= lane_burst.get());
        let starved = || {
            self.passed
                .lanes
                .iter()
                // Lanes are in order, so of several that wait the highest goes (contract 5.1).
                .find(|(_, passed)| **passed >= lane_burst.get())
                .map(|(lane, _)| *lane)
        };
        // Operator input comes first: it is dequeued within `lane_burst` + 1 dequeues (contract
        // 9.2).
        let id = oldest_operator
            .or_else(|| self.first_of(starved()?))
            .or_else(|| self.ready.values().find_map(|lane| lane.values().next()));
        id.and_then(|id| self.message(id))
    }

    /// The first message that may be inserted into an open run (contract 5.9).
    #[must_use]
    pub fn interjection(&self) -> Option<&Held> {
        self.ready
            .get(&Priority::Interject)?
            .values()
            .filter_map(|id| self.message(id))
            .find(|held| held.record.is_operator_input())
    }

    /// The number of queue entries without a message (contract 3.6).
    #[must_use]
    pub fn orphans(&self) -> usize {
        self.slots.values().filter(|slot| slot.status.is_some() && slot.message.is_none()).count()
    }

    /// The number of ids of settled messages that the state keeps (contract 3.3).
    #[must_use]
    pub fn tombstones(&self) -> usize {
        self.ended.len()
    }

    fn first_of(&self, lane: Priority) -> Option<&MessageId> {
        self.ready.get(&lane)?.values().next()
    }

    /// The waiting messages, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Held> {
        self.ready.values().flat_map(Map::values).filter_map(|id| self.message(id))
    }

    /// The messages that would replay after a restart, by creation (contract 5.23).
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

    /// Whether anything is queued and not just replayed (contract 6.4). An entry without a message
    /// counts: it can never be the head (contract 3.6), but it was queued, and that should be
    /// visible.
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.slots.values().any(|slot| slot.status == Some(QueueStatus::Queued))
    }

    /// The messages without a terminal status.
    pub fn open(&self) -> impl Iterator<Item = &MessageId> {
        self.slots.iter().filter(|(_, slot)| slot.message.is_some()).map(|(id, _)| id)
    }

    /// Whether this message has a queue entry without a terminal status.
    #[must_use]
    pub fn has_entry(&self, id: &MessageId) -> bool {
        self.slots.get(id).is_some_and(|slot| slot.status.is_some())
    }

    /// Whether this message is queued and not dequeued yet.
    #[must_use]
    pub fn is_queued(&self, id: &MessageId) -> bool {
        self.slots.get(id).is_some_and(|slot| slot.status == Some(QueueStatus::Queued))
    }

    /// A message without a terminal status.
    #[must_use]
    pub fn message(&self, id: &MessageId) -> Option<&Held> {
        self.slots.get(id)?.message.as_ref()
    }

    /// The entry that gave this message its terminal status, if it has one.
    #[must_use]
    pub fn ended(&self, id: &MessageId) -> Option<Seq> {
        self.ended.get(id).map(|(_, seq)| *seq)
    }

    /// The entry that settled this message, else the one that recorded it.
    #[must_use]
    pub fn seen(&self, id: &MessageId) -> Option<Seq> {
        let ended = self.ended.get(id).map(|(_, seq)| *seq);
        ended.or_else(|| self.message(id).map(|held| held.seq))
    }

    pub(crate) fn apply_message(&mut self, place: &Place, record: &MessageRecord) {
        // contract 3.3: a settled message is not queued again.
        if self.ended.contains_key(&record.id) {
            return;
        }
        let slot = self.slots.get_or_insert(record.id.clone(), Slot::default());
        // The latest record counts, but the message keeps the entry that first recorded it.
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
        // Counted before the message is taken out, while its lane is still known.
        if place.live && record.status == QueueStatus::Dequeued {
            self.count_passed(id);
        }
        let slot = self.slots.get_or_insert(id.clone(), Slot::default());
        slot.status = Some(record.status);
        // The first admission decides the place, so a message replays in its old place.
        slot.admitted.get_or_insert(place.seq);
        if record.status.is_terminal() {
            self.unplace(id);
            self.slots.remove(id);
            self.ended.insert(id.clone(), (record.status, place.seq));
        } else {
            self.place(id);
        }
    }

    /// How this message met the closure when a run took it. A replay meets it in the same way
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

    /// The subject of the first turn of this message. A replay has the same subject (contract 5.4).
    pub(crate) fn about(&self, id: &MessageId) -> Option<&About> {
        self.slots.get(id)?.about.as_ref()
    }

    /// Notes the item of the first turn of this message.
    pub(crate) fn set_about(&mut self, id: &MessageId, work_item_id: Option<WorkItemId>) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.about.get_or_insert(About { work_item_id });
        }
    }

    /// The number of interrupted runs of this message, not counting shutdowns (contract 5.24).
    #[must_use]
    pub fn interruptions(&self, id: &MessageId) -> u64 {
        self.slots.get(id).map_or(0, |slot| slot.interruptions)
    }

    pub(crate) fn interrupted(&mut self, id: &MessageId) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.interruptions += 1;
        }
    }

    /// Whether an open run has this message.
    #[must_use]
    pub fn is_in_run(&self, id: &MessageId) -> bool {
        self.slots.get(id).is_some_and(|slot| slot.in_run)
    }

    /// Notes that a run took the message, or gave it back when it was interrupted.
    pub(crate) fn set_in_run(&mut self, id: &MessageId, in_run: bool) {
        if let Some(slot) = self.slots.get_mut(id) {
            slot.in_run = in_run;
            self.place(id);
        }
    }

    /// Builds the lanes again, which are not stored.
    pub(crate) fn rebuild(&mut self) {
        let ids: Vec<_> = self.slots.keys().cloned().collect();
        ids.iter().for_each(|id| self.place(id));
    }

    /// Counts the messages that the dequeue of this one passes over.
    fn count_passed(&mut self, id: &MessageId) {
        // A message that does not wait in a lane passes nothing over.
        let Some((taken, _)) = self.slots.get(id).and_then(|slot| slot.ready_at.clone()) else {
            return;
        };
        let passes_operator = self.operator.values().next().is_some_and(|oldest| oldest != id);
        self.passed.operator = if passes_operator { self.passed.operator + 1 } else { 0 };
        // A lower lane that waits was passed over; a higher one that waits keeps its count. The
        // lane taken and empty lanes start again.
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
            // `is_empty` and `count_passed` take each lane in the map for one that waits.
            if waiting.is_empty() {
                self.ready.remove(&lane);
            }
        }
    }

    fn place(&mut self, id: &MessageId) {
        // The new record may have another lane, and then the old place would stay behind.
        self.unplace(id);
        let Some(slot) = self.slots.get_mut(id) else { return };
        // contract 3.6: without both a message and a queue entry, nothing is queued.
        let (Some(held), Some(_), Some(admitted)) = (&slot.message, slot.status, slot.admitted)
        else {
            return;
        };
        // A run has the message, and gives it back if it is interrupted.
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
