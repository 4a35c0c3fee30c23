//! Posture: the agent in one word, for people and programs that observe it. It is never an input of
//! a decision (contract 6.4).

use alloc::{
    format,
    string::{String, ToString},
};

use serde::Serialize;

use crate::{
    derive::{
        status,
        work_queue::{Candidate, WorkQueue},
    },
    id::{RunId, TaskId, WaitingIntentId, WorkItemId},
    record::{control::AgentStatus, text},
    state::{State, autonomy, readiness::SchedulingState},
    tagged::names,
};
use wakeful_json::Readable;

names! {
    /// The agent in one word.
    pub enum Posture {
        /// The agent is stopped.
        Archived,
        /// A run is open.
        ActiveTurn,
        /// Messages are waiting.
        HasQueuedInput,
        /// An item is runnable.
        HasRunnableWork,
        /// An item waits for a task.
        WaitingForTask,
        /// An item waits for something external.
        WaitingForExternal,
        /// An item waits for the operator.
        WaitingForOperator,
        /// An item is blocked, or an item or the agent is parked.
        Blocked,
        /// None of the above.
        Idle,
    }
}

/// A posture with its reason and subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentPosture {
    /// The agent in one word.
    pub posture: Posture,
    /// The reason, in a sentence.
    pub reason: String,
    /// The work item concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The waiting intent concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitingIntentId>,
    /// The task concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The open run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

impl AgentPosture {
    fn new(posture: Posture, reason: impl ToString) -> Self {
        Self {
            posture,
            reason: reason.to_string(),
            work_item_id: None,
            waiting_intent_id: None,
            task_id: None,
            run_id: None,
        }
    }
}

/// The posture of a state: the first matching row of `observed-decisions.md` section 7.
#[must_use]
pub fn posture(state: &State) -> AgentPosture {
    if status::status(state) == AgentStatus::Stopped {
        return AgentPosture::new(Posture::Archived, text::POSTURE_STOPPED);
    }
    if let Some(run) = &state.turns.run {
        return AgentPosture {
            run_id: Some(run.run_id.clone()),
            work_item_id: state.turns.item_of_run().cloned(),
            ..AgentPosture::new(Posture::ActiveTurn, text::POSTURE_RUN)
        };
    }
    // Before the queue: only some input moves an agent that is over its budget or parked, past the
    // rest (contract 9.5, 16.4).
    if autonomy::is_over_budget(state) {
        return AgentPosture::new(Posture::Blocked, text::POSTURE_BUDGET);
    }
    if autonomy::is_parked(state) {
        return AgentPosture::new(Posture::Blocked, text::POSTURE_PARKED);
    }
    if state.queue.has_queued() {
        return AgentPosture::new(Posture::HasQueuedInput, text::POSTURE_QUEUED);
    }
    let queue = WorkQueue::new(state);
    let rows = [
        (
            queue.current_runnable().or_else(|| queue.queued_runnable().next()),
            Posture::HasRunnableWork,
        ),
        (queue.first_that(SchedulingState::WaitingTask), Posture::WaitingForTask),
        (queue.first_that(SchedulingState::WaitingExternal), Posture::WaitingForExternal),
        (queue.waiting_for_operator().next(), Posture::WaitingForOperator),
        (queue.blocked().next().or_else(|| queue.triggered_blocked().next()), Posture::Blocked),
    ];
    let first = rows.into_iter().find_map(|(candidate, posture)| Some((candidate?, posture)));
    match first {
        Some((candidate, posture)) => about(state, candidate, posture),
        None => AgentPosture::new(Posture::Idle, text::POSTURE_IDLE),
    }
}

fn about(state: &State, candidate: &Candidate<'_>, posture: Posture) -> AgentPosture {
    let id = candidate.id();
    let task = (posture == Posture::WaitingForTask).then(|| state.blocking_tasks(id));
    let intent = state.intents_for(id).next().filter(|_| posture == Posture::WaitingForExternal);
    // An item is `Blocked` without a blocker only if it is parked or over its budget.
    let is_held =
        candidate.state == SchedulingState::Blocked && candidate.record.blocked_by.is_none();
    let stands = match is_held {
        true if state.budgets.is_exhausted(id) => text::OVER_BUDGET.to_string(),
        true => "parked".to_string(),
        // The reference runtime prints Rust names here (`observed-decisions.md` 7).
        false => format!("{:?}", candidate.state),
    };
    AgentPosture {
        work_item_id: Some(id.clone()),
        task_id: task.and_then(|mut tasks| Some(tasks.next()?.record.id.clone())),
        waiting_intent_id: intent.map(|intent| intent.record.id.clone()),
        ..AgentPosture::new(posture, text::posture_of_item(candidate.is_current, id, &stands))
    }
}
