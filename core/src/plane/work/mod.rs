//! The work plane: items, the focus among them, and which of their keys are spent (contract 5.13, 5.14, 8).

pub(crate) mod delegation;
pub(crate) mod progress;

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::{Answer, Outcome, Refusal},
    id::{DelegationId, MessageId, Seq, WorkItemId},
    json::{RawJson, Readable},
    map::Map,
    plane::waiting,
    record::{
        Record,
        control::{ControlRecord, FocusCause, FocusSet, ItemParked},
        entry::Place,
        event::{EventKind, EventRecord},
        key::{Epoch, Key, TickReason},
        queue::note::RecheckNote,
        work::{DelegationState, WorkItemPlanStatus, WorkItemRecord, WorkItemState, agent_home},
    },
    sorted::sort_by,
    state::State,
    time::Timestamp,
};

pub use self::progress::{Progress, Rest};

/// How many completed items the state keeps whole; of older ones it knows the id (contract 3.3).
pub const COMPLETED_KEPT: usize = 16;

/// Fact `work_item_created`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemCreated {
    /// Its id; the host's to choose, once per agent.
    pub work_item_id: WorkItemId,
    /// What is to be reached.
    pub objective: String,
    /// How far its plan is; draft where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<WorkItemPlanStatus>,
}

/// Facts `work_item_picked` and `work_item_unblocked`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemNamed {
    /// The item.
    pub work_item_id: WorkItemId,
}

/// Fact `work_item_updated`; what is absent stays.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemUpdated {
    /// The item.
    pub work_item_id: WorkItemId,
    /// What is to be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// How far its plan is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<WorkItemPlanStatus>,
    /// The plan, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RawJson>,
    /// The todo list, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_list: Option<RawJson>,
}

/// Fact `work_item_blocked`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemBlocked {
    /// The item.
    pub work_item_id: WorkItemId,
    /// What blocks it.
    pub blocked_by: String,
    /// When to look at it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
}

/// Fact `work_item_completed`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemCompleted {
    /// The item.
    pub work_item_id: WorkItemId,
    /// What came out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
}

/// The transition of `work_item_created`.
pub(crate) fn created(state: &State, fact: WorkItemCreated, at: Timestamp) -> Outcome {
    if let Some(seq) = state.work.seen(&fact.work_item_id) {
        return Outcome::ignored(Refusal::Duplicate, seq);
    }
    let record = WorkItemRecord {
        id: fact.work_item_id,
        agent_id: state.control.agent_id.clone(),
        workspace_id: agent_home(),
        revision: 1,
        objective: fact.objective,
        state: WorkItemState::Open,
        plan_status: fact.plan_status.unwrap_or(WorkItemPlanStatus::Draft),
        plan: None,
        todo_list: None,
        blocked_by: None,
        recheck_at: None,
        recheck_consumed_at: None,
        result_summary: None,
        created_at: at,
        updated_at: at,
    };
    Outcome::accepted([Record::WorkItem(record)].into())
}

/// The transition of `work_item_picked`: the focus moves, nothing else (contract 5.14).
pub(crate) fn picked(state: &State, fact: WorkItemNamed) -> Outcome {
    on_open_item(state, &fact.work_item_id, |_| [focus(Some(fact.work_item_id.clone()), FocusCause::Pick)].into())
}

/// The transition of `work_item_updated`.
pub(crate) fn updated(state: &State, fact: WorkItemUpdated, at: Timestamp) -> Outcome {
    on_open_item(state, &fact.work_item_id.clone(), |item| {
        let mut next = item.next_snapshot(at);
        next.objective = fact.objective.unwrap_or(next.objective);
        next.plan_status = fact.plan_status.unwrap_or(next.plan_status);
        next.plan = fact.plan.or(next.plan);
        next.todo_list = fact.todo_list.or(next.todo_list);
        [Record::WorkItem(next)].into()
    })
}

/// The transition of `work_item_blocked`: the item keeps the focus (contract 5.14, D12).
pub(crate) fn blocked(state: &State, fact: WorkItemBlocked, at: Timestamp) -> Outcome {
    on_open_item(state, &fact.work_item_id.clone(), |item| {
        let mut next = item.next_snapshot(at);
        next.blocked_by = Some(fact.blocked_by);
        next.recheck_at = fact.recheck_at;
        next.recheck_consumed_at = None;
        [Record::WorkItem(next)].into()
    })
}

/// The transition of `work_item_unblocked`.
pub(crate) fn unblocked(state: &State, fact: WorkItemNamed, at: Timestamp) -> Outcome {
    on_open_item(state, &fact.work_item_id, |item| {
        let mut next = item.next_snapshot(at);
        (next.blocked_by, next.recheck_at, next.recheck_consumed_at) = (None, None, None);
        [Record::WorkItem(next)].into()
    })
}

/// The transition of `work_item_completed`: clears focus, blocker and the item's own waits in one batch, and ends
/// the turn at the end of its round (contract 5.14).
pub(crate) fn completed(state: &State, fact: WorkItemCompleted, at: Timestamp) -> Outcome {
    let mut outcome = on_open_item(state, &fact.work_item_id.clone(), |item| {
        let mut next = item.next_snapshot(at);
        next.state = WorkItemState::Completed;
        next.result_summary = fact.result_summary;
        (next.blocked_by, next.recheck_at, next.recheck_consumed_at) = (None, None, None);
        let mut records = Vec::from([Record::WorkItem(next)]);
        if state.work.focus.as_ref().is_some_and(|focus| focus.work_item_id == fact.work_item_id) {
            records.push(focus(None, FocusCause::Completion));
        }
        records.extend(waiting::end_with_item(state, &fact.work_item_id, at));
        records
    });
    if outcome.answer == Answer::Accepted {
        outcome.effects.extend(state.turns.yield_once());
    }
    outcome
}

fn focus(work_item_id: Option<WorkItemId>, cause: FocusCause) -> Record {
    Record::Control(ControlRecord::FocusSet(FocusSet { work_item_id, cause }))
}

fn on_open_item(state: &State, id: &WorkItemId, make: impl FnOnce(&Item) -> Vec<Record>) -> Outcome {
    if let Some(seq) = state.work.ended.get(id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    match state.work.items.get(id) {
        Some(item) => Outcome::accepted(make(item)),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}

/// An open item, the entry of its latest snapshot, and what moved its epoch since.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Item {
    /// The entry of the latest snapshot.
    pub seq: Seq,
    /// The latest snapshot.
    pub record: WorkItemRecord,
    /// The `k` of its epoch: live entries since the snapshot that give the model a new reason to look (contract 8.2).
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

    fn next_snapshot(&self, at: Timestamp) -> WorkItemRecord {
        WorkItemRecord { revision: self.record.revision + 1, updated_at: at, ..self.record.clone() }
    }
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
    /// The newest of them, most recently updated first: what was just done is shown, never decided on (contract 3.3).
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
        self.focus = set.work_item_id.as_ref().map(|id| Focus { work_item_id: id.clone(), seq: place.seq });
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
            item.recheck = Some(RecheckTold { recheck_at: note.recheck_at, message_id: message.clone(), consumed: false });
        }
    }

    pub(crate) fn recheck_consumed(&mut self, note: &RecheckNote) {
        let told = self.item(&note.work_item_id).and_then(|item| item.recheck.as_mut());
        if let Some(told) = told.filter(|told| told.recheck_at == note.recheck_at) {
            told.consumed = true;
        }
    }

    pub(crate) fn apply_event(&mut self, place: &Place, record: &EventRecord) {
        let to = match record.kind.as_str() {
            kind if kind == EventKind::WorkItemDelegated.as_str() => DelegationState::Open,
            kind if kind == EventKind::WorkItemDelegationCompleted.as_str() => DelegationState::Completed,
            _ => return,
        };
        let id = record.data.as_ref().and_then(|data| data.field("delegation_id")).and_then(|raw| raw.read::<DelegationId>().ok());
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
