//! The projection and the work queue under the reference runtime's keys.

use serde::Serialize;

use wakeful_core::{
    derive::{
        projection, status,
        work_queue::{Candidate, CandidateClass, TodoItem, WorkItemReadiness, WorkQueue},
    },
    id::{AgentId, RunId, WorkItemId},
    record::{
        control::AgentStatus, task::TaskRecord, turn::TurnTerminalKind, work::WorkItemRecord,
    },
    state::{
        State,
        readiness::{self, SchedulingState},
        work::Item,
    },
    time::Timestamp,
};

#[derive(Serialize)]
pub(super) struct Projection<'a> {
    status: AgentStatus,
    queue_len: u64,
    active_run_id: Option<&'a RunId>,
    turn_in_progress: bool,
    active_tasks: Vec<&'a TaskRecord>,
    has_blocking_active_tasks: bool,
    current_work_item: Option<WorkItemRecord>,
    current_work_item_scheduling_state: Option<SchedulingState>,
    queued_runnable_work_items: Vec<WorkItemRecord>,
    queued_work_items: u64,
    pending_wake_hint: bool,
    active_waiting_intents: u64,
    active_work_item_waiting_intents: u64,
    active_agent_waiting_intents: u64,
    active_timers: u64,
    last_turn_terminal: Option<TurnTerminalKind>,
    runtime_error: bool,
}

impl<'a> Projection<'a> {
    pub(super) fn new(state: &'a State, pending: u64) -> Self {
        let scalars = projection::Projection::new(state);
        let current = state.work().current();
        let run = state.turns().run.as_ref();
        Self {
            status: status::status(state),
            queue_len: pending,
            active_run_id: run.map(|run| &run.run_id),
            turn_in_progress: run.is_some(),
            active_tasks: projection::active_tasks(state)
                .into_iter()
                .map(|task| &task.record)
                .collect(),
            has_blocking_active_tasks: scalars.has_blocking_active_tasks,
            current_work_item: current.map(told),
            current_work_item_scheduling_state: current
                .map(|item| readiness::standing(state, item).state),
            queued_runnable_work_items: readiness::queued_runnable(state).map(told).collect(),
            queued_work_items: scalars.queued_work_items,
            pending_wake_hint: scalars.pending_wake_hint,
            active_waiting_intents: scalars.active_waiting_intents,
            active_work_item_waiting_intents: scalars.active_work_item_waiting_intents,
            active_agent_waiting_intents: scalars.active_agent_waiting_intents,
            active_timers: scalars.active_timers,
            last_turn_terminal: scalars.turn_terminal_kind,
            runtime_error: scalars.runtime_error,
        }
    }
}

/// The record as the reference runtime writes it: it leaves out an empty todo list.
fn told(item: &Item) -> WorkItemRecord {
    let todo_list = item.record.todo_list.clone().filter(|list| list.as_str() != "[]");
    WorkItemRecord { todo_list, ..item.record.clone() }
}

#[derive(Serialize)]
pub(super) struct Lists<'a> {
    current: Option<&'a WorkItemId>,
    current_runnable: Option<&'a WorkItemId>,
    triggered_blocked: Vec<&'a WorkItemId>,
    queued_runnable: Vec<&'a WorkItemId>,
    waiting_for_operator: Vec<&'a WorkItemId>,
    blocked: Vec<&'a WorkItemId>,
    completed_recent: Vec<&'a WorkItemId>,
    queued_blocked: Vec<&'a WorkItemId>,
    has_non_current_candidates: bool,
    readiness: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a WorkItemId,
    agent_id: &'a AgentId,
    revision: u64,
    candidate_class: CandidateClass,
    readiness: WorkItemReadiness,
    scheduling_state: SchedulingState,
    is_current: bool,
    has_active_waits: bool,
    has_active_task_waits: bool,
    has_triggered_waits: bool,
    last_triggered_at: Option<Timestamp>,
    current_todo: Option<TodoItem>,
}

impl<'a> Line<'a> {
    fn new(candidate: &Candidate<'a>) -> Self {
        Self {
            id: candidate.id(),
            agent_id: &candidate.record.agent_id,
            revision: candidate.record.revision,
            candidate_class: candidate.class,
            readiness: candidate.readiness(),
            scheduling_state: candidate.state,
            is_current: candidate.is_current,
            has_active_waits: candidate.has_active_waits,
            has_active_task_waits: candidate.has_active_task_waits,
            has_triggered_waits: candidate.has_triggered_waits(),
            last_triggered_at: candidate.last_triggered_at,
            current_todo: candidate.current_todo(),
        }
    }
}

impl<'a> Lists<'a> {
    pub(super) fn new(queue: &WorkQueue<'a>) -> Self {
        Self {
            current: queue.current().map(Candidate::id),
            current_runnable: queue.current_runnable().map(Candidate::id),
            triggered_blocked: queue.triggered_blocked().map(Candidate::id).collect(),
            queued_runnable: queue.queued_runnable().map(Candidate::id).collect(),
            waiting_for_operator: queue.waiting_for_operator().map(Candidate::id).collect(),
            blocked: queue.blocked().map(Candidate::id).collect(),
            completed_recent: queue.completed_recent().map(Candidate::id).collect(),
            queued_blocked: queue.queued_blocked().into_iter().map(Candidate::id).collect(),
            has_non_current_candidates: queue.has_non_current_candidates(),
            readiness: queue.candidates.iter().map(Line::new).collect(),
        }
    }
}
