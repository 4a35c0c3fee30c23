//! The state of work: open items, the focus, spent keys, delegations.

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

/// How often an item was offered in vain since anything else moved its epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Progress {
    /// Which offer made its epoch; 0 where something else did.
    pub offer: u64,
    /// Since when it rests: since the first turn of its epoch that made no progress.
    pub rest: Option<Rest>,
    /// The entry that parked it, until its epoch moves.
    pub parked: Option<Seq>,
}

/// A turn that made no progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct Rest {
    /// When it settled.
    pub since: Timestamp,
    /// The entry that settled it.
    pub seq: Seq,
}

/// How many completed items the state keeps whole; of older ones it knows the id (contract 3.3).
pub const COMPLETED_KEPT: usize = 16;

/// An open item, the entry of its latest snapshot, and what moved its epoch since.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Item {
    /// The entry of the latest snapshot.
    pub seq: Seq,
    /// The latest snapshot.
    pub record: WorkItemRecord,
    /// The `k` of its epoch: live entries since the snapshot that give the model a new reason to
    /// look (contract 8.2).
    pub moved: u64,
    /// Whether it was ever picked.
    pub picked: bool,
    /// The newest recheck that was told.
    #[serde(default)]
    pub recheck: Option<RecheckTold>,
    /// How it stands that it was offered in vain.
    #[serde(default)]
    pub progress: Progress,
}

impl Item {
    /// An item as its first snapshot says.
    #[must_use]
    pub fn new(seq: Seq, record: WorkItemRecord) -> Self {
        Self { seq, record, moved: 0, picked: false, recheck: None, progress: Progress::default() }
    }

    /// Something other than an offer moves its epoch.
    fn move_epoch(&mut self) {
        self.moved += 1;
        self.progress = Progress::default();
    }

    /// The epoch in which its keys stand (contract 8.2).
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
    /// When it was due.
    pub recheck_at: Timestamp,
    /// The message.
    pub message_id: MessageId,
    /// Whether a turn was told.
    pub consumed: bool,
}

/// The focus and the entry that set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct Focus {
    /// The item; it need not exist in foreign ledgers.
    pub work_item_id: WorkItemId,
    /// The entry.
    pub seq: Seq,
}

/// A spent key and the entry that spent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
pub struct SpentKey {
    /// The key.
    pub key: Key,
    /// The entry.
    pub seq: Seq,
}

/// The newest spent key of an item for each reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Readable)]
pub struct Spent {
    /// The newest for `continue_active`.
    pub continue_active: Option<SpentKey>,
    /// The newest for `queued_available`.
    pub queued_available: Option<SpentKey>,
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Work {
    /// The open items.
    pub items: Map<WorkItemId, Item>,
    /// The durable focus.
    pub focus: Option<Focus>,
    /// Spent keys, one per live item and reason (contract 8.3).
    pub spent: Map<WorkItemId, Spent>,
    /// Completed items, and the entry that says so.
    pub ended: Map<WorkItemId, Seq>,
    /// The newest of them, most recently updated first: what was just done is shown, never decided
    /// on (contract 3.3).
    pub completed: Vec<WorkItemRecord>,
    /// Delegations, and the entry that says how they stand.
    pub delegations: Map<DelegationId, (DelegationState, Seq)>,
    /// Records that completion refused (contract 3.3).
    pub refused: u64,
    /// The items that the entry at hand has changed.
    #[serde(skip)]
    pub(crate) touched: Vec<WorkItemId>,
}

impl Work {
    /// The item that has the focus, if it is open.
    #[must_use]
    pub fn current(&self) -> Option<&Item> {
        self.items.get(&self.focus.as_ref()?.work_item_id)
    }

    /// The entry that knows this id, if any does.
    #[must_use]
    pub fn seen(&self, id: &WorkItemId) -> Option<Seq> {
        let open = self.items.get(id).map(|item| item.seq);
        open.or_else(|| self.ended.get(id).copied())
    }

    /// The key of an item for one reason, and the entry that spent it, if one did.
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

    /// An open item, to be changed.
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
            // contract 8.2: its first pick moves an item's epoch.
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
        if let Some(told) = told.filter(|told| told.recheck_at == note.recheck_at) {
            told.consumed = true;
        }
    }

    /// A delegation was opened or completed; without an id it is nobody's.
    pub(crate) fn delegated(
        &mut self,
        place: &Place,
        id: Option<DelegationId>,
        to: DelegationState,
    ) {
        let Some(id) = id else { return };
        let known = self.delegations.get(&id).map(|(state, _)| *state);
        if known != Some(DelegationState::Completed) {
            self.delegations.insert(id, (to, place.seq));
        }
    }

    /// The model gets a new reason to look at this item.
    pub(crate) fn move_epoch(&mut self, id: &WorkItemId) {
        if let Some(item) = self.item(id) {
            item.move_epoch();
        }
    }

    /// An offer moves the epoch of a resting item (contract 9.4).
    pub(crate) fn offered(&mut self, id: &WorkItemId, offer: u64) {
        if let Some(item) = self.item(id) {
            item.moved += 1;
            item.progress = Progress { offer, ..Progress::default() };
        }
    }

    /// A turn about the item made no progress; it rests since the first of its epoch.
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
        if self.ended.contains_key(id) {
            return;
        }
        self.touched.push(id.clone());
        let spent = self.spent.get_or_insert(id.clone(), Spent::default());
        let slot = match reason {
            TickReason::ContinueActive => &mut spent.continue_active,
            TickReason::QueuedAvailable => &mut spent.queued_available,
        };
        *slot = Some(SpentKey { key, seq });
    }
}
