//! Readiness: the scheduling state of each open item, and the order of the runnable ones (contract
//! 5.13).

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::{Seq, WorkItemId},
    record::{
        key::TickReason,
        waiting::{WaitConditionKind, WaitConditionRecord},
        work::WorkItemPlanStatus,
    },
    state::{State, index::List, progress, waiting::Active, work::Item},
    tagged::names,
    time::Timestamp,
};

names! {
    /// The scheduling state of a work item.
    pub enum SchedulingState {
        /// It can be worked on.
        Runnable,
        /// It waits for the operator.
        WaitingOperator,
        /// It waits for a task.
        WaitingTask,
        /// It waits for something external.
        WaitingExternal,
        /// It waits for an instant.
        WaitingTimer,
        /// It waits for the runtime itself.
        WaitingSystem,
        /// Something else blocks it.
        Blocked,
        /// It is done.
        Completed,
    }
}

/// A scheduling state, and the entries that it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// The state.
    pub state: SchedulingState,
    /// The entries of the waits; empty if the item's own snapshot decides.
    pub waits: Vec<Seq>,
}

impl Readiness {
    fn new(state: SchedulingState, waits: Vec<Seq>) -> Self {
        Self { state, waits }
    }
}

/// The active conditions that count. An imported one without an item is inert (contract, preface).
pub fn conditions(state: &State) -> impl Iterator<Item = &Active<WaitConditionRecord>> {
    state.waiting.conditions.values().filter(|wait| counts(state, wait))
}

/// Whether an active condition counts.
pub(crate) fn counts(state: &State, wait: &Active<WaitConditionRecord>) -> bool {
    wait.record.work_item_id.is_some() || wait.record.is_mirror() || state.control.is_live(wait.seq)
}

/// The place of a kind among the rows of contract 5.13.
pub(crate) fn rank(kind: WaitConditionKind) -> u64 {
    match kind {
        WaitConditionKind::Task => 0,
        WaitConditionKind::Operator => 1,
        WaitConditionKind::Timer => 2,
        WaitConditionKind::External => 3,
        WaitConditionKind::System => 4,
    }
}

/// The number of entries that a decision names of things of one kind. It says how many there are,
/// so that it is as short beside ten thousand waits as beside ten.
pub const NAMED: usize = 16;

/// Things of one kind: how many there are, and the entries of the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Several {
    /// How many there are.
    pub len: usize,
    /// The entries of the first [`NAMED`].
    pub first: Vec<Seq>,
}

impl Several {
    /// This number of things, with these entries.
    pub fn new(len: usize, seqs: &mut dyn Iterator<Item = Seq>) -> Self {
        let mut first = Vec::new();
        name(&mut first, seqs);
        Self { len, first }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The agent's own conditions by kind, as the entries of their newest records. Of those that a
/// driver recorded there is at most one (contract 5.17).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByKind {
    /// Conditions that wait for a task.
    pub task: Vec<Seq>,
    /// Conditions that wait for the operator.
    pub operator: Vec<Seq>,
    /// Conditions that wait for an instant.
    pub timer: Vec<Seq>,
    /// Conditions that wait for something external.
    pub external: Vec<Seq>,
    /// Conditions that wait for the runtime.
    pub system: Vec<Seq>,
}

/// The agent's own conditions.
#[must_use]
pub fn agent_conditions(state: &State) -> ByKind {
    let mut own = ByKind::default();
    for condition in state.own_waits() {
        let list = match condition.record.kind {
            WaitConditionKind::Task => &mut own.task,
            WaitConditionKind::Operator => &mut own.operator,
            WaitConditionKind::Timer => &mut own.timer,
            WaitConditionKind::External => &mut own.external,
            WaitConditionKind::System => &mut own.system,
        };
        list.push(condition.seq);
    }
    own
}

/// The scheduling state of an open item: the first matching row of contract 5.13.
#[must_use]
pub fn state_of(state: &State, item: &Item) -> SchedulingState {
    row(state, item).0
}

/// The scheduling state of an open item, and the entries of the first waits that it rests on.
#[must_use]
pub fn standing(state: &State, item: &Item) -> Readiness {
    let (stands, decided_by) = row(state, item);
    let id = &item.record.id;
    let mut waits: Vec<_> = decided_by.into_iter().collect();
    if stands == SchedulingState::WaitingTask {
        name(&mut waits, &mut state.blocking_tasks(id).map(|task| task.seq));
    }
    let kind = match stands {
        SchedulingState::WaitingTask => Some(WaitConditionKind::Task),
        SchedulingState::WaitingOperator => Some(WaitConditionKind::Operator),
        SchedulingState::WaitingTimer => Some(WaitConditionKind::Timer),
        SchedulingState::WaitingExternal => Some(WaitConditionKind::External),
        SchedulingState::WaitingSystem => Some(WaitConditionKind::System),
        SchedulingState::Runnable | SchedulingState::Blocked | SchedulingState::Completed => None,
    };
    // An item that needs input waits by its own snapshot.
    let by_waits = item.record.plan_status != WorkItemPlanStatus::NeedsInput;
    if let Some(kind) = kind.filter(|_| by_waits) {
        name(&mut waits, &mut state.waits_of_kind(id, kind).map(|wait| wait.seq));
    }
    if stands == SchedulingState::WaitingExternal {
        name(&mut waits, &mut state.intents_for(id).map(|intent| intent.seq));
    }
    Readiness::new(stands, waits)
}

/// Names more entries, while there is room.
fn name(named: &mut Vec<Seq>, seqs: &mut dyn Iterator<Item = Seq>) {
    for seq in seqs {
        if named.len() >= NAMED {
            return;
        }
        named.push(seq);
    }
}

/// The first matching row of contract 5.13, and the entry that decides it if that is neither a wait
/// nor the item's own snapshot.
fn row(state: &State, item: &Item) -> (SchedulingState, Option<Seq>) {
    let id = &item.record.id;
    if item.record.plan_status == WorkItemPlanStatus::NeedsInput {
        return (SchedulingState::WaitingOperator, None);
    }
    if state.blocking_tasks(id).next().is_some() {
        return (SchedulingState::WaitingTask, None);
    }
    // They are in the order of the rows, so the first decides. An intent waits for something
    // external too.
    let kind = state.waits_of(id).next().map(|wait| wait.record.kind);
    let waits_as = match kind {
        Some(WaitConditionKind::Task) => Some(SchedulingState::WaitingTask),
        Some(WaitConditionKind::Operator) => Some(SchedulingState::WaitingOperator),
        Some(WaitConditionKind::Timer) => Some(SchedulingState::WaitingTimer),
        Some(WaitConditionKind::External) => Some(SchedulingState::WaitingExternal),
        _ if state.intents_for(id).next().is_some() => Some(SchedulingState::WaitingExternal),
        Some(WaitConditionKind::System) => Some(SchedulingState::WaitingSystem),
        None => None,
    };
    if let Some(waits_as) = waits_as {
        return (waits_as, None);
    }
    if item.record.blocked_by.is_some() {
        return (SchedulingState::Blocked, None);
    }
    // contract 16.4: an item over its budget gives none either.
    let account = state.budgets.items.get(id);
    if let Some(seq) = account.and_then(|account| account.exhausted) {
        return (SchedulingState::Blocked, Some(seq));
    }
    // contract 9.4, 9.5: a parked item gives no work signal.
    if let Some(seq) = item.progress.parked {
        return (SchedulingState::Blocked, Some(seq));
    }
    (SchedulingState::Runnable, None)
}

/// Whether a system wait gives a tick, now or later: it is the agent's own, or its item waits for
/// nothing else (contract 5.13).
pub(crate) fn would_be_ticked(state: &State, wait: &Active<WaitConditionRecord>) -> bool {
    let record = &wait.record;
    if record.kind != WaitConditionKind::System || !counts(state, wait) {
        return false;
    }
    match &record.work_item_id {
        // A condition that claims to be the mirror of an intent belongs to that intent, never to
        // the agent.
        None => !record.is_mirror(),
        Some(id) => {
            let item = state.work.items.get(id);
            item.is_some_and(|item| state_of(state, item) == SchedulingState::WaitingSystem)
        }
    }
}

/// The instant at which a system wait gives a tick. Only one that a driver recorded waits for it
/// (contract 8.4).
pub(crate) fn tick_at(state: &State, wait: &Active<WaitConditionRecord>) -> Option<Timestamp> {
    let delay = state.control.policy.system_wait_delay_ms.get();
    state.control.is_live(wait.seq).then(|| wait.record.created_at.plus_ms(delay))
}

/// The runnable items without the focus, the least recently touched first.
pub fn queued_runnable(state: &State) -> impl Iterator<Item = &Item> {
    state.items_in(List::Runnable, Timestamp::MAX)
}

/// The first of these items that can be offered now.
#[must_use]
pub(crate) fn first_offered(state: &State, now: Timestamp) -> Option<&Item> {
    // The index is as of the newest batch. `now` may differ, so both lists are checked against it.
    let is_unspent = |item: &Item| state.work.key(item, TickReason::QueuedAvailable).1.is_none();
    let is_enabled = |item: &&Item| {
        is_unspent(item)
            || progress::next_offer(state, state.control.edition, item).is_some_and(|at| at <= now)
    };
    let offered = state.items_in(List::Offered, Timestamp::MAX).find(is_enabled);
    // `Resting` is in the order of instants, so all that are due are compared.
    let due = state.items_in(List::Resting, now);
    offered.into_iter().chain(due).min_by_key(|item| offer_order(state, item))
}

/// The order in which runnable items are offered (contract 5.13). Of items touched at one instant,
/// the one recorded first comes first (contract 9.2), so that they take turns even if the clock
/// stands still.
fn offer_order<'a>(
    state: &State,
    item: &'a Item,
) -> (Timestamp, Option<Seq>, Timestamp, &'a WorkItemId) {
    (item.record.updated_at, recorded(state, item), item.record.created_at, &item.record.id)
}

/// The entry of an item's newest snapshot, if a driver recorded it. The lines of an import have no
/// order among items (contract 3.7).
pub(crate) fn recorded(state: &State, item: &Item) -> Option<Seq> {
    Some(item.seq).filter(|seq| state.control.is_live(*seq))
}
