//! Posture: the agent in one word, for people and programs that look at it; never an input
//! (contract 6.4).

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
    record::control::AgentStatus,
    state::{State, autonomy, readiness::SchedulingState},
    tagged::names,
};
use wakeful_json::Readable;

names! {
    /// The agent in one word.
    pub enum Posture {
        /// It is stopped.
        Archived,
        /// A run is open.
        ActiveTurn,
        /// Messages wait.
        HasQueuedInput,
        /// Work can go on.
        HasRunnableWork,
        /// An item waits for a task.
        WaitingForTask,
        /// An item waits for something external.
        WaitingForExternal,
        /// An item waits for the operator.
        WaitingForOperator,
        /// An item is blocked.
        Blocked,
        /// None of these.
        Idle,
    }
}

/// A posture, why, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentPosture {
    /// The posture.
    pub posture: Posture,
    /// Why, in a sentence.
    pub reason: String,
    /// The item that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The intent that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_intent_id: Option<WaitingIntentId>,
    /// The task that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The run that is open.
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

/// The posture of a state: the first row of `observed-decisions.md` section 7 that matches.
#[must_use]
pub fn posture(state: &State) -> AgentPosture {
    if status::status(state) == AgentStatus::Stopped {
        return AgentPosture::new(Posture::Archived, "agent lifecycle is stopped");
    }
    if let Some(run) = &state.turns.run {
        return AgentPosture {
            run_id: Some(run.run_id.clone()),
            work_item_id: state.turns.item_of_run().cloned(),
            ..AgentPosture::new(Posture::ActiveTurn, "agent has an active turn")
        };
    }
    if autonomy::is_parked(state) {
        return AgentPosture::new(Posture::Blocked, "agent is parked until input from outside");
    }
    if state.queue.has_queued() {
        return AgentPosture::new(Posture::HasQueuedInput, "agent has queued input");
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
        None => AgentPosture::new(
            Posture::Idle,
            "no queued input, active turn, runnable work, or active waits",
        ),
    }
}

fn about(state: &State, candidate: &Candidate<'_>, posture: Posture) -> AgentPosture {
    let id = candidate.id();
    let which = if candidate.is_current { "current" } else { "queued" };
    let task = (posture == Posture::WaitingForTask).then(|| state.blocking_tasks(id));
    let intent =
        state.intents_for(id).first().copied().filter(|_| posture == Posture::WaitingForExternal);
    let is_parked =
        candidate.state == SchedulingState::Blocked && candidate.record.blocked_by.is_none();
    let stands = if is_parked { "parked".to_string() } else { format!("{:?}", candidate.state) };
    AgentPosture {
        work_item_id: Some(id.clone()),
        task_id: task.and_then(|tasks| Some(tasks.first()?.record.id.clone())),
        waiting_intent_id: intent.map(|intent| intent.record.id.clone()),
        ..AgentPosture::new(posture, format!("{which} WorkItem {id} is {stands}"))
    }
}
