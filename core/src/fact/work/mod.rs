//! The plane of work items and their focus (contract 5.13, 5.14, 8).

pub mod delegation;

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::{
        ingress,
        outcome::{Answer, Outcome, Refusal},
        waiting,
    },
    id::{Seq, WorkItemId},
    record::{
        Record,
        control::{ControlRecord, FocusCause, FocusSet, ItemParked, ParkCause},
        diagnostic::{Diagnostic, DiagnosticKind},
        event::{EventKind, EventRecord},
        text,
        work::{WorkItemPlanStatus, WorkItemRecord, WorkItemState, agent_home},
    },
    state::{State, work::Item},
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

/// Fact `work_item_created`: a work item was created.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemCreated {
    /// Chosen by the host, unique within the agent.
    pub work_item_id: WorkItemId,
    /// The goal of the item.
    pub objective: String,
    /// The status of the plan; absent means draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<WorkItemPlanStatus>,
}

/// Facts `work_item_picked` and `work_item_unblocked`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemNamed {
    /// The item that was picked or unblocked.
    pub work_item_id: WorkItemId,
}

/// Fact `work_item_updated`. An absent field leaves the item as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemUpdated {
    /// The item that changed.
    pub work_item_id: WorkItemId,
    /// The goal of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// The status of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<WorkItemPlanStatus>,
    /// The plan, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<RawJson>,
    /// The todo list, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_list: Option<RawJson>,
}

/// Fact `work_item_blocked`: something blocks the item.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemBlocked {
    /// The item that is blocked.
    pub work_item_id: WorkItemId,
    /// What blocks the item.
    pub blocked_by: String,
    /// When to look at the blocker again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    /// When to look at it again, as a duration from now in milliseconds. It counts instead of
    /// `recheck_at`, and a correction of the clock moves it (contract 1.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_in_ms: Option<u64>,
}

/// Fact `work_item_completed`: the item is done.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkItemCompleted {
    /// The item that is done.
    pub work_item_id: WorkItemId,
    /// The result in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
}

/// The transition of `work_item_created`.
pub(crate) fn created(state: &State, fact: WorkItemCreated, at: Timestamp) -> Outcome {
    let seen = state.work.seen(&fact.work_item_id);
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
        recheck_from: None,
        recheck_consumed_at: None,
        result_summary: None,
        created_at: at,
        updated_at: at,
    };
    let record = Record::WorkItem(record);
    match seen {
        Some(seen) => Outcome::repeated(state, &record, seen),
        None => Outcome::accepted([record].into()),
    }
}

/// The transition of `work_item_picked`: it moves the focus and nothing else (contract 5.14).
pub(crate) fn picked(state: &State, fact: WorkItemNamed) -> Outcome {
    on_open_item(state, &fact.work_item_id, |_| {
        [focus(Some(fact.work_item_id.clone()), FocusCause::Pick)].into()
    })
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

/// The transition of `work_item_blocked`. The item keeps the focus (contract 5.14, D12).
pub(crate) fn blocked(state: &State, fact: WorkItemBlocked, at: Timestamp) -> Outcome {
    on_open_item(state, &fact.work_item_id.clone(), |item| {
        let mut next = item.next_snapshot(at);
        next.blocked_by = Some(fact.blocked_by);
        next.recheck_at = fact.recheck_in_ms.map(|ms| at.plus_ms(ms)).or(fact.recheck_at);
        next.recheck_from = fact.recheck_in_ms.map(|_| at);
        // The new recheck is still to come.
        next.recheck_consumed_at = None;
        [Record::WorkItem(next)].into()
    })
}

/// The transition of `work_item_unblocked`.
pub(crate) fn unblocked(state: &State, fact: WorkItemNamed, at: Timestamp) -> Outcome {
    on_open_item(state, &fact.work_item_id, |item| {
        let mut next = item.next_snapshot(at);
        clear_blocker(&mut next);
        [Record::WorkItem(next)].into()
    })
}

/// The transition of `work_item_completed`: one batch clears focus, blocker and the item's own
/// waits. The turn ends after its round (contract 5.14).
pub(crate) fn completed(state: &State, fact: WorkItemCompleted, at: Timestamp) -> Outcome {
    let mut outcome = on_open_item(state, &fact.work_item_id.clone(), |item| {
        let mut next = item.next_snapshot(at);
        next.state = WorkItemState::Completed;
        next.result_summary = fact.result_summary;
        clear_blocker(&mut next);
        // The item goes first: it loses the focus because it is completed (I7).
        let mut records = Vec::from([Record::WorkItem(next)]);
        if state.work.focus.as_ref().is_some_and(|focus| focus.work_item_id == fact.work_item_id) {
            records.push(focus(None, FocusCause::Completion));
        }
        records.extend(waiting::end_with_item(state, &fact.work_item_id, at));
        records.extend(ingress::end_with_item(state, &fact.work_item_id, at));
        records
    });
    // A refused completion ends no turn.
    if outcome.answer == Answer::Accepted {
        outcome.effects.extend(state.turns.yield_once());
    }
    outcome
}

fn clear_blocker(next: &mut WorkItemRecord) {
    (next.blocked_by, next.recheck_at) = (None, None);
    (next.recheck_from, next.recheck_consumed_at) = (None, None);
}

fn focus(work_item_id: Option<WorkItemId>, cause: FocusCause) -> Record {
    Record::Control(ControlRecord::FocusSet(FocusSet { work_item_id, cause }))
}

/// Whether an item can own something new. A wait or trigger of an item ends with it (contract
/// 5.14), so a completed or unknown item cannot have another one.
pub(crate) fn can_be_owned(state: &State, item: &WorkItemId) -> Result<(), (Refusal, Seq)> {
    match state.work.ended.get(item) {
        Some(seq) => Err((Refusal::AlreadyTerminal, *seq)),
        None if state.work.items.contains_key(item) => Ok(()),
        None => Err((Refusal::Unknown, state.head.seq)),
    }
}

fn on_open_item(
    state: &State,
    id: &WorkItemId,
    make: impl FnOnce(&Item) -> Vec<Record>,
) -> Outcome {
    if let Some(seq) = state.work.ended.get(id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    match state.work.items.get(id) {
        Some(item) => Outcome::accepted(make(item)),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}

/// The records that park an item and report it to the operator.
pub(crate) fn park(work_item_id: WorkItemId, cause: ParkCause, at: Timestamp) -> [Record; 2] {
    let diagnostic = Diagnostic {
        work_item_id: Some(work_item_id.clone()),
        ..Diagnostic::new(
            DiagnosticKind::Parked,
            text::ITEM_PARKED,
            [alloc::format!("cause={cause}")].into(),
        )
    };
    let parked = ControlRecord::ItemParked(ItemParked { work_item_id, cause });
    [
        Record::Control(parked),
        Record::Event(EventRecord::new(EventKind::SchedulerDiagnostic, at, &diagnostic)),
    ]
}
