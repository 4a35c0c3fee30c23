//! Readiness: where each open work item stands, and in which order the runnable ones are offered (contract 5.13).

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    id::Seq,
    plane::{
        waiting::{Active, ExternalTriggerScope, WaitConditionKind, WaitConditionRecord},
        work::{Item, WorkItemPlanStatus},
    },
    state::State,
    tagged::names,
};

names! {
    /// Where a work item stands.
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
        /// It waits for the runtime.
        WaitingSystem,
        /// Something else blocks it.
        Blocked,
        /// It is done.
        Completed,
    }
}

/// A scheduling state and the entries that it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// The state.
    pub state: SchedulingState,
    /// The entries of the waits behind it; empty where the item's own snapshot says it all.
    pub waits: Vec<Seq>,
}

impl Readiness {
    fn new(state: SchedulingState, waits: Vec<Seq>) -> Self {
        Self { state, waits }
    }
}

/// The active conditions that count. An imported one without item is inert (contract, preface).
pub fn conditions(state: &State) -> impl Iterator<Item = &Active<WaitConditionRecord>> {
    state.waiting.conditions.values().filter(|wait| {
        let imported = !state.control.is_live(wait.seq);
        wait.record.work_item_id.is_some() || wait.record.is_mirror() || !imported
    })
}

/// The entries of the conditions of one kind that the agent itself waits for (contract 5.17).
#[must_use]
pub fn agent_conditions(state: &State, kind: WaitConditionKind) -> Vec<Seq> {
    let own = conditions(state).filter(|wait| wait.record.work_item_id.is_none() && !wait.record.is_mirror());
    own.filter(|wait| wait.record.kind == kind).map(|wait| wait.seq).collect()
}

/// Where an open item stands: the first row of contract 5.13 that matches.
#[must_use]
pub fn of(state: &State, item: &Item) -> Readiness {
    let id = &item.record.id;
    let conditions = |kind: WaitConditionKind| -> Vec<Seq> {
        state.waiting.conditions_of(id).filter(|condition| condition.record.kind == kind).map(|condition| condition.seq).collect()
    };
    if item.record.plan_status == WorkItemPlanStatus::NeedsInput {
        return Readiness::new(SchedulingState::WaitingOperator, Vec::new());
    }
    let blocking = state.tasks.blocking(id).into_iter().map(|task| task.seq);
    let mut tasks: Vec<Seq> = blocking.collect();
    tasks.extend(conditions(WaitConditionKind::Task));
    let intents = state
        .waiting
        .intents_of(ExternalTriggerScope::WorkItem)
        .filter(|intent| intent.record.work_item_id.as_ref() == Some(id))
        .map(|intent| intent.seq);
    let mut external = conditions(WaitConditionKind::External);
    external.extend(intents);
    let rows = [
        (SchedulingState::WaitingTask, tasks),
        (SchedulingState::WaitingOperator, conditions(WaitConditionKind::Operator)),
        (SchedulingState::WaitingTimer, conditions(WaitConditionKind::Timer)),
        (SchedulingState::WaitingExternal, external),
        (SchedulingState::WaitingSystem, conditions(WaitConditionKind::System)),
    ];
    for (waits_as, waits) in rows {
        if !waits.is_empty() {
            return Readiness::new(waits_as, waits);
        }
    }
    if item.record.blocked_by.is_some() {
        return Readiness::new(SchedulingState::Blocked, Vec::new());
    }
    Readiness::new(SchedulingState::Runnable, Vec::new())
}

/// The runnable items without the focus, least recently touched first.
#[must_use]
pub fn queued_runnable(state: &State) -> Vec<&Item> {
    let focus = state.work.focus.as_ref().map(|focus| &focus.work_item_id);
    let mut items: Vec<_> = state
        .work
        .items
        .values()
        .filter(|item| Some(&item.record.id) != focus && of(state, item).state == SchedulingState::Runnable)
        .collect();
    items.sort_by_key(|item| (item.record.updated_at, item.record.created_at, &item.record.id));
    items
}
