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

/// Conditions of one owner by kind, as the entries of their newest records.
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

impl ByKind {
    fn add(&mut self, conditions: &[&Active<WaitConditionRecord>]) {
        for condition in conditions {
            let list = match condition.record.kind {
                WaitConditionKind::Task => &mut self.task,
                WaitConditionKind::Operator => &mut self.operator,
                WaitConditionKind::Timer => &mut self.timer,
                WaitConditionKind::External => &mut self.external,
                WaitConditionKind::System => &mut self.system,
            };
            list.push(condition.seq);
        }
    }
}

/// The agent's own conditions.
#[must_use]
pub fn agent_conditions(state: &State) -> ByKind {
    let mut own = ByKind::default();
    for kind in WaitConditionKind::ALL {
        own.add(&state.own_conditions(*kind));
    }
    own
}

/// The active waits of one item, as the entries of their newest records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemWaits {
    /// Blocking tasks of the item.
    pub blocking_tasks: Vec<Seq>,
    /// Conditions, including mirrors of intents.
    pub conditions: ByKind,
    /// Intents of item scope.
    pub intents: Vec<Seq>,
}

impl ItemWaits {
    /// The waits of the item with this id, open or not.
    #[must_use]
    pub fn new(state: &State, id: &WorkItemId) -> Self {
        let mut conditions = ByKind::default();
        conditions.add(&state.conditions_of(id));
        Self {
            blocking_tasks: state.blocking_tasks(id).into_iter().map(|task| task.seq).collect(),
            conditions,
            intents: state.intents_for(id).iter().map(|intent| intent.seq).collect(),
        }
    }

    /// Whether the item waits for a task, by a condition or because the task blocks.
    #[must_use]
    pub fn wait_for_task(&self) -> bool {
        !self.blocking_tasks.is_empty() || !self.conditions.task.is_empty()
    }

    /// Whether an intent or condition is active. A blocking task is neither.
    #[must_use]
    pub fn are_registered(&self) -> bool {
        let ByKind { task, operator, timer, external, system } = &self.conditions;
        [task, operator, timer, external, system, &self.intents]
            .iter()
            .any(|waits| !waits.is_empty())
    }
}

/// The scheduling state of an open item: the first matching row of contract 5.13.
#[must_use]
pub fn standing(state: &State, item: &Item) -> Readiness {
    if item.record.plan_status == WorkItemPlanStatus::NeedsInput {
        return Readiness::new(SchedulingState::WaitingOperator, Vec::new());
    }
    let ItemWaits { blocking_tasks, conditions, intents } = ItemWaits::new(state, &item.record.id);
    let rows = [
        (SchedulingState::WaitingTask, [blocking_tasks, conditions.task].concat()),
        (SchedulingState::WaitingOperator, conditions.operator),
        (SchedulingState::WaitingTimer, conditions.timer),
        (SchedulingState::WaitingExternal, [conditions.external, intents].concat()),
        (SchedulingState::WaitingSystem, conditions.system),
    ];
    for (waits_as, waits) in rows {
        if !waits.is_empty() {
            return Readiness::new(waits_as, waits);
        }
    }
    if item.record.blocked_by.is_some() {
        return Readiness::new(SchedulingState::Blocked, Vec::new());
    }
    // contract 16.4: an item over its budget gives none either.
    let account = state.budgets.items.get(&item.record.id);
    if let Some(seq) = account.and_then(|account| account.exhausted) {
        return Readiness::new(SchedulingState::Blocked, Vec::from([seq]));
    }
    // contract 9.4, 9.5: a parked item gives no work signal.
    if let Some(seq) = item.progress.parked {
        return Readiness::new(SchedulingState::Blocked, Vec::from([seq]));
    }
    Readiness::new(SchedulingState::Runnable, Vec::new())
}

/// The runnable items without the focus, the least recently touched first.
#[must_use]
pub fn queued_runnable(state: &State) -> Vec<&Item> {
    state.items_in(List::Runnable, Timestamp::MAX).collect()
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
