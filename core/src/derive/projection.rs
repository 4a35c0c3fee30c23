//! The projection: the scalars that a replay compares (`observed-decisions.md` 11.4).

use alloc::vec::Vec;
use core::cmp::Reverse;

use serde::Serialize;

use crate::{
    id::{MessageId, WorkItemId},
    record::turn::TurnTerminalKind,
    state::{State, readiness, task::Task},
};
use wakeful_json::sort::sort_by_key;

/// The scalars of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Projection {
    /// The open item with the focus.
    pub current_work_item_id: Option<WorkItemId>,
    /// The revision of that item.
    pub current_work_item_revision: Option<u64>,
    /// The number of other runnable items.
    pub queued_work_items: u64,
    /// The number of active tasks.
    pub active_tasks: u64,
    /// Whether one of these tasks blocks its item.
    pub has_blocking_active_tasks: bool,
    /// Whether a wake hint is pending.
    pub pending_wake_hint: bool,
    /// The number of active intents.
    pub active_waiting_intents: u64,
    /// The number of active intents of item scope.
    pub active_work_item_waiting_intents: u64,
    /// The number of active intents of agent scope.
    pub active_agent_waiting_intents: u64,
    /// The number of active timers.
    pub active_timers: u64,
    /// Whether a runtime error is in force.
    pub runtime_error: bool,
    /// The terminal of the last settled turn.
    pub turn_terminal_kind: Option<TurnTerminalKind>,
    /// The messages that would replay after a restart, in order.
    pub replay_message_ids: Vec<MessageId>,
    /// The number of tool calls that were executed.
    pub tool_executions: u64,
}

/// The active tasks, the most recently updated first. Of two updated at one instant, the one
/// recorded later comes first.
#[must_use]
pub fn active_tasks(state: &State) -> Vec<&Task> {
    let mut tasks: Vec<_> = state.tasks.active.values().collect();
    sort_by_key(&mut tasks, |task| Reverse((task.record.updated_at, task.seq)));
    tasks
}

impl Projection {
    /// The projection of a state.
    #[must_use]
    pub fn new(state: &State) -> Self {
        let current = state.work.current().map(|item| &item.record);
        let (intents, of_agent) = (state.waiting.intents.len(), state.agent_intents_len());
        Self {
            current_work_item_id: current.map(|item| item.id.clone()),
            current_work_item_revision: current.map(|item| item.revision),
            queued_work_items: readiness::queued_runnable(state).count() as u64,
            active_tasks: state.tasks.active.len() as u64,
            has_blocking_active_tasks: state.blocking_tasks_len() > 0,
            pending_wake_hint: state.control.hint.is_some(),
            active_waiting_intents: intents as u64,
            active_work_item_waiting_intents: (intents - of_agent) as u64,
            active_agent_waiting_intents: of_agent as u64,
            active_timers: state.waiting.timers.len() as u64,
            runtime_error: state.context.runtime_error().is_some(),
            turn_terminal_kind: state.turns.last_terminal.map(|last| last.kind),
            replay_message_ids: state.queue.replayable().into_iter().cloned().collect(),
            tool_executions: state.context.tool_executions,
        }
    }
}
