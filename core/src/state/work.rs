//! The plane of work: open items, the focus, spent keys and delegations.

use alloc::vec::Vec;

use serde::Serialize;
use wakeful_json::{Map, Readable, sort::sort_by};

use crate::{
    id::{DelegationId, MessageId, Seq, WorkItemId},
    record::{
        control::{FocusCause, FocusSet, ItemParked},
        entry::Place,
        key::{Epoch, Key, TickReason},
        queue::note::RecheckNote,
        work::{DelegationState, WorkItemRecord, WorkItemState},
    },
    time::Timestamp,
};

/// The offers of an item that led to no progress, since anything else moved its epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Progress {
    /// The number of the offer that made the epoch; 0 if something else did.
    pub offer: u64,
    /// The first turn of the epoch that made no progress, since which the item rests.
    pub rest: Option<Rest>,
    /// The entry that parked the item, until its epoch moves.
    pub parked: Option<Seq>,
}

/// A turn that made no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct Rest {
    /// When the turn settled.
    pub since: Timestamp,
    /// The entry that settled it.
    pub seq: Seq,
}

/// The number of completed items that the state keeps whole. Of older ones it keeps the id
/// (contract 3.3).
pub const COMPLETED_KEPT: usize = 16;

/// An open item, the entry of its latest snapshot, and what has moved its epoch since.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Item {
    /// The entry of the latest snapshot.
    pub seq: Seq,
    /// The latest snapshot.
    pub record: WorkItemRecord,
    /// The `k` of the epoch: live entries since the snapshot that give the model a new reason to
    /// look (contract 8.2).
    pub moved: u64,
    /// Whether the item was ever picked.
    pub picked: bool,
    /// The newest recheck that became a message.
    #[serde(default)]
    pub recheck: Option<RecheckTold>,
    /// The offers that led to no progress.
    #[serde(default)]
    pub progress: Progress,
}

impl Item {
    /// An item from its first snapshot.
    #[must_use]
    pub fn new(seq: Seq, record: WorkItemRecord) -> Self {
        Self { seq, record, moved: 0, picked: false, recheck: None, progress: Progress::default() }
    }

    /// Moves the epoch for another reason than an offer.
    fn move_epoch(&mut self) {
        self.moved += 1;
        self.progress = Progress::default();
    }

    /// The current epoch, which is part of the item's keys (contract 8.2).
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        Epoch { revision: self.record.revision, moved: self.moved }
    }

    pub(crate) fn next_snapshot(&self, at: Timestamp) -> WorkItemRecord {
        WorkItemRecord { revision: self.record.revision + 1, updated_at: at, ..self.record.clone() }
    }
}

/// A recheck that became a message (contract 5.17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct RecheckTold {
    /// When the recheck was due.
    pub recheck_at: Timestamp,
    /// The message about it.
    pub message_id: MessageId,
    /// Whether a turn was told of it.
    pub consumed: bool,
}

/// The focus, and the entry that set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct Focus {
    /// The item with the focus. In foreign ledgers it need not exist.
    pub work_item_id: WorkItemId,
    /// The entry that set the focus.
    pub seq: Seq,
}

/// A spent key, and the entry that spent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct SpentKey {
    /// The key that is spent.
    pub key: Key,
    /// The entry that spent it.
    pub seq: Seq,
}

/// The newest spent key of an item, for each reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Spent {
    /// The newest one for `continue_active`.
    pub continue_active: Option<SpentKey>,
    /// The newest one for `queued_available`.
    pub queued_available: Option<SpentKey>,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Work {
    /// The open items, by id.
    pub items: Map<WorkItemId, Item>,
    /// The durable focus, if an item has it.
    pub focus: Option<Focus>,
    /// Spent keys, one per live item and reason (contract 8.3).
    pub spent: Map<WorkItemId, Spent>,
    /// Completed items, each with the entry that completed it.
    pub ended: Map<WorkItemId, Seq>,
    /// The newest completed items, the most recently updated first. They are for display only; no
    /// decision reads them (contract 3.3).
    pub completed: Vec<WorkItemRecord>,
    /// Delegations, each with its state and the entry that says so.
    pub delegations: Map<DelegationId, (DelegationState, Seq)>,
    /// The number of records that a completion refused (contract 3.3).
    pub refused: u64,
    /// The items that the current entry changed and whose listings are out of date.
    #[serde(skip)]
    pub(crate) touched: Vec<WorkItemId>,
}

impl Work {
    /// The item with the focus, if it is open.
    #[must_use]
    pub fn current(&self) -> Option<&Item> {
        self.items.get(&self.focus.as_ref()?.work_item_id)
    }

    /// The entry that has this item, open or completed.
    #[must_use]
    pub fn seen(&self, id: &WorkItemId) -> Option<Seq> {
        let open = self.items.get(id).map(|item| item.seq);
        open.or_else(|| self.ended.get(id).copied())
    }

    /// The key of an item for one reason, and the entry that spent it, if it is spent.
    #[must_use]
    pub fn key(&self, item: &Item, reason: TickReason) -> (Key, Option<Seq>) {
        let key = Key::work(reason, &item.record.id, item.epoch());
        let spent = self.spent.get(&item.record.id).and_then(|spent| match reason {
            TickReason::ContinueActive => spent.continue_active.as_ref(),
            TickReason::QueuedAvailable => spent.queued_available.as_ref(),
        });
        let by = spent.filter(|spent| spent.key == key).map(|spent| spent.seq);
        (key, by)
    }

    /// An open item, mutable. Every change goes through here, so that its listings are updated.
    fn item(&mut self, id: &WorkItemId) -> Option<&mut Item> {
        self.touched.push(id.clone());
        self.items.get_mut(id)
    }

    pub(crate) fn apply(&mut self, place: &Place, record: &WorkItemRecord) {
        let id = &record.id;
        self.touched.push(id.clone());
        if record.state == WorkItemState::Completed {
            self.items.remove(id);
            self.spent.remove(id);
            self.ended.insert(id.clone(), place.seq);
            self.remember_completed(record);
            return;
        }
        if self.ended.contains_key(id) {
            self.refused += 1;
            return;
        }
        // A new snapshot starts a new epoch, but the item stays picked and its recheck stays known.
        let before = self.items.get(id);
        let item = Item {
            picked: before.is_some_and(|item| item.picked),
            recheck: before.and_then(|item| item.recheck.clone()),
            ..Item::new(place.seq, record.clone())
        };
        self.items.insert(id.clone(), item);
    }

    fn remember_completed(&mut self, record: &WorkItemRecord) {
        self.completed.retain(|known| known.id != record.id);
        self.completed.push(record.clone());
        sort_by(&mut self.completed, |a, b| (b.updated_at, &a.id).cmp(&(a.updated_at, &b.id)));
        self.completed.truncate(COMPLETED_KEPT);
    }

    pub(crate) fn apply_focus(&mut self, place: &Place, set: &FocusSet) {
        self.focus =
            set.work_item_id.as_ref().map(|id| Focus { work_item_id: id.clone(), seq: place.seq });
        let Some(item) = set.work_item_id.as_ref().and_then(|id| self.item(id)) else {
            return;
        };
        if set.cause == FocusCause::Pick && !item.picked {
            item.picked = true;
            // contract 8.2: the first pick moves the epoch of an item.
            if place.live {
                item.move_epoch();
            }
        }
    }

    pub(crate) fn recheck_told(&mut self, note: &RecheckNote, message: &MessageId) {
        if let Some(item) = self.item(&note.work_item_id) {
            item.recheck = Some(RecheckTold {
                recheck_at: note.recheck_at,
                message_id: message.clone(),
                consumed: false,
            });
        }
    }

    pub(crate) fn recheck_consumed(&mut self, note: &RecheckNote) {
        let told = self.item(&note.work_item_id).and_then(|item| item.recheck.as_mut());
        // The item may have a new recheck by now, which no turn was told.
        if let Some(told) = told.filter(|told| told.recheck_at == note.recheck_at) {
            told.consumed = true;
        }
    }

    /// Folds a delegation that was opened or completed. One without an id is ignored.
    pub(crate) fn delegated(
        &mut self,
        place: &Place,
        id: Option<DelegationId>,
        to: DelegationState,
    ) {
        let Some(id) = id else { return };
        let known = self.delegations.get(&id).map(|(state, _)| *state);
        // contract 3.3: a completed delegation stays completed.
        if known != Some(DelegationState::Completed) {
            self.delegations.insert(id, (to, place.seq));
        }
    }

    /// Notes a new reason for the model to look at this item.
    pub(crate) fn move_epoch(&mut self, id: &WorkItemId) {
        if let Some(item) = self.item(id) {
            item.move_epoch();
        }
    }

    /// Folds an offer, which moves the epoch of a resting item (contract 9.4).
    pub(crate) fn offered(&mut self, id: &WorkItemId, offer: u64) {
        if let Some(item) = self.item(id) {
            // Not `Item::move_epoch`, which would start the offers again.
            item.moved += 1;
            item.progress = Progress { offer, ..Progress::default() };
        }
    }

    /// Notes that a turn made no progress on the item. It rests since the first such turn of its
    /// epoch.
    pub(crate) fn rests(&mut self, id: &WorkItemId, rest: Rest) {
        if let Some(item) = self.item(id) {
            item.progress.rest.get_or_insert(rest);
        }
    }

    pub(crate) fn apply_parked(&mut self, place: &Place, parked: &ItemParked) {
        if let Some(item) = self.item(&parked.work_item_id) {
            item.progress.parked = Some(place.seq);
        }
    }

    pub(crate) fn spend(&mut self, id: &WorkItemId, reason: TickReason, key: Key, seq: Seq) {
        // No key of a completed item can come up again.
        if self.ended.contains_key(id) {
            return;
        }
        // A spent key takes the item off the list of those that can be offered.
        self.touched.push(id.clone());
        let spent = self.spent.get_or_insert(id.clone(), Spent::default());
        let slot = match reason {
            TickReason::ContinueActive => &mut spent.continue_active,
            TickReason::QueuedAvailable => &mut spent.queued_available,
        };
        *slot = Some(SpentKey { key, seq });
    }
}
