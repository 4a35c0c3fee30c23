//! The summary of an agent, and its line in a list: assembled when somebody asks, kept nowhere
//! (contract 6.4).

use alloc::vec::Vec;

use serde::Serialize;

use crate::{
    derive::{
        closure::{self, Closure},
        posture::{self, AgentPosture},
        projection, status,
    },
    id::{AgentId, RunId, Seq, WaitConditionId, WaitingIntentId, WorkItemId},
    record::{
        continuation::WaitingReason,
        control::AgentStatus,
        turn::TurnTerminalKind,
        waiting::{
            ExternalTriggerScope, WaitConditionKind, WakeSource, recoverability::Recoverability,
        },
    },
    state::{State, readiness},
    time::Timestamp,
};
use wakeful_json::sort::sort_by;

/// What people and programs ask about an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentSummary {
    /// The agent.
    pub agent_id: AgentId,
    /// Where it stands in its life.
    pub status: AgentStatus,
    /// The same as one word with its reason.
    pub scheduling_posture: AgentPosture,
    /// What it can be asked to do.
    pub lifecycle: Lifecycle,
    /// What the facts add up to.
    pub closure: Closure,
    /// The item that has the focus, if it is open.
    pub current_work_item_id: Option<WorkItemId>,
    /// The run that is open.
    pub current_run_id: Option<RunId>,
    /// The number of the newest turn.
    pub turn_index: u64,
    /// How the newest turn ended, if it did.
    pub last_turn_terminal: Option<TurnTerminalKind>,
    /// How many messages wait.
    pub pending: usize,
    /// How many tasks are active.
    pub active_task_count: usize,
    /// The active intents, newest first.
    pub active_waiting_intents: Vec<IntentSummary>,
    /// The active conditions that count, by id.
    pub active_wait_conditions: Vec<ConditionSummary>,
    /// The entry of the newest checkpoint, while it describes the work as it is (contract 5.22).
    pub checkpoint: Option<Seq>,
    /// What of the ledger does not count (contract 3.3, 3.6).
    pub set_aside: SetAside,
    /// What stays of what is over (contract 3.3).
    pub tombstones: Tombstones,
}

/// What an agent can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Lifecycle {
    /// Whether it must be started before it does anything.
    pub resume_required: bool,
    /// Whether messages from outside are of use before that.
    pub accepts_external_messages: bool,
    /// Whether a wake hint is refused until then.
    pub wake_requires_resume: bool,
}

/// An active intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct IntentSummary {
    /// The intent.
    pub id: WaitingIntentId,
    /// Whose wait it is.
    pub scope: ExternalTriggerScope,
    /// The item that it names.
    pub work_item_id: Option<WorkItemId>,
    /// What is waited for, in words.
    pub description: alloc::string::String,
    /// When it was made.
    pub created_at: Timestamp,
    /// How often its trigger came.
    pub trigger_count: u64,
}

/// An active condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConditionSummary {
    /// The condition.
    pub id: WaitConditionId,
    /// The item that waits; none where it is the agent.
    pub work_item_id: Option<WorkItemId>,
    /// What it waits for.
    pub kind: WaitConditionKind,
    /// The same in words.
    pub waiting_for: alloc::string::String,
    /// What can end it.
    pub wake_sources: Vec<WakeSource>,
    /// Whether an external wait ends when its event is lost.
    pub external_recoverability: Option<Recoverability>,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Records that were counted and do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SetAside {
    /// Of other agents.
    pub foreign_records: u64,
    /// Carried, because no rule reads them.
    pub carried_records: u64,
    /// Refused by a terminal status.
    pub refused_records: u64,
    /// Queue entries without message.
    pub queue_entries_without_message: usize,
}

/// How many ids stay after what they named is over, so that a terminal status absorbs (contract
/// 3.3). An id costs about as many bytes as it has, and a few words; no decision reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Tombstones {
    /// Of messages that are settled.
    pub messages: usize,
    /// Of tasks that have ended.
    pub tasks: usize,
    /// Of work items that are completed.
    pub work_items: usize,
    /// Of intents that were cancelled.
    pub waiting_intents: usize,
    /// Of conditions that have ended.
    pub wait_conditions: usize,
    /// Of timers that have ended.
    pub timers: usize,
}

/// An agent's line in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AgentListEntry {
    /// The agent.
    pub agent_id: AgentId,
    /// Where it stands in its life.
    pub status: AgentStatus,
    /// The same as one word with its reason.
    pub scheduling_posture: AgentPosture,
    /// What it can be asked to do.
    pub lifecycle: Lifecycle,
    /// How many messages wait.
    pub pending: usize,
    /// The run that is open.
    pub current_run_id: Option<RunId>,
    /// What is waited for; said only of an agent that rests on a task.
    pub waiting_reason: Option<WaitingReason>,
}

impl Lifecycle {
    fn from_status(status: AgentStatus) -> Self {
        let stopped = status == AgentStatus::Stopped;
        Self {
            resume_required: stopped,
            accepts_external_messages: !stopped,
            wake_requires_resume: stopped,
        }
    }
}

impl AgentSummary {
    /// The summary of a state.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let status = status::status(state);
        let mut intents: Vec<_> = state.waiting.intents.values().map(|wait| &wait.record).collect();
        sort_by(&mut intents, |a, b| (b.created_at, &a.id).cmp(&(a.created_at, &b.id)));
        let refused =
            state.queue.refused + state.tasks.refused + state.work.refused + state.waiting.refused;
        Self {
            agent_id: state.control.agent_id.clone(),
            status,
            scheduling_posture: posture::posture(state),
            lifecycle: Lifecycle::from_status(status),
            closure: closure::decide(&closure::Facts::from_state(state)),
            current_work_item_id: state.work.current().map(|item| item.record.id.clone()),
            current_run_id: state.turns.run.as_ref().map(|run| run.run_id.clone()),
            turn_index: state.turns.turn_index,
            last_turn_terminal: state.turns.terminal_of_newest(),
            pending: state.queue.len(),
            active_task_count: projection::active_tasks(state).len(),
            active_waiting_intents: intents
                .into_iter()
                .map(|intent| IntentSummary {
                    id: intent.id.clone(),
                    scope: intent.scope,
                    work_item_id: intent.work_item_id.clone(),
                    description: intent.description.clone(),
                    created_at: intent.created_at,
                    trigger_count: intent.trigger_count,
                })
                .collect(),
            active_wait_conditions: readiness::conditions(state)
                .map(|wait| ConditionSummary {
                    id: wait.record.id.clone(),
                    work_item_id: wait.record.work_item_id.clone(),
                    kind: wait.record.kind,
                    waiting_for: wait.record.waiting_for.clone(),
                    wake_sources: wait.record.wake_sources.clone(),
                    external_recoverability: wait.record.recoverability(),
                    created_at: wait.record.created_at,
                })
                .collect(),
            checkpoint: state.context.valid_checkpoint(),
            set_aside: SetAside {
                foreign_records: state.foreign_records,
                carried_records: state.carried_records,
                refused_records: refused,
                queue_entries_without_message: state.queue.orphans(),
            },
            tombstones: Tombstones {
                messages: state.queue.tombstones(),
                tasks: state.tasks.ended.len(),
                work_items: state.work.ended.len(),
                waiting_intents: state.waiting.ended_intents.len(),
                wait_conditions: state.waiting.ended_conditions.len(),
                timers: state.waiting.ended_timers.len(),
            },
        }
    }
}

impl AgentListEntry {
    /// The line of a state.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let status = status::status(state);
        Self {
            agent_id: state.control.agent_id.clone(),
            status,
            scheduling_posture: posture::posture(state),
            lifecycle: Lifecycle::from_status(status),
            pending: state.queue.len(),
            current_run_id: state.turns.run.as_ref().map(|run| run.run_id.clone()),
            waiting_reason: (status == AgentStatus::AwaitingTask)
                .then_some(WaitingReason::AwaitingTaskResult),
        }
    }
}
