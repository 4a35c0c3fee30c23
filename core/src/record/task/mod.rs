//! The record of a task, and what it says about the item that it belongs to.

pub mod message;
pub mod recovery;

use alloc::string::String;

use serde::Serialize;

use crate::{
    id::{AgentId, MessageId, TaskId, WorkItemId},
    record::task::recovery::TaskRecovery,
    tagged::names,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

names! {
    /// Where a task stands. Phases only rise: queued, running, cancelling, terminal.
    pub enum TaskStatus {
        /// Not started.
        Queued,
        /// Running.
        Running,
        /// Asked to stop.
        Cancelling,
        /// Ended well.
        Completed,
        /// Ended with an error.
        Failed,
        /// Stopped on request.
        Cancelled,
        /// Lost to a stop or a restart.
        Interrupted,
    }

    /// What a task is.
    pub enum TaskKind {
        /// A command.
        CommandTask,
        /// A supervised child agent.
        ChildAgentTask,
        /// A timed rest in task form; read, never made.
        SleepJob,
        /// Legacy spelling of a child agent that inherits the workspace.
        SubagentTask,
        /// Legacy spelling of a child agent with a worktree.
        WorktreeSubagentTask,
    }

    /// Whether the item that a task belongs to waits for it.
    pub enum TaskWaitPolicy {
        /// It waits.
        Blocking,
        /// It goes on.
        Background,
    }
}

impl TaskStatus {
    /// Whether this status absorbs (contract 3.3).
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self.phase() == 3
    }

    /// Whether a record with this status is taken where the latest has status `latest` (contract
    /// 3.3, 5.10): phases never fall, and the first terminal status stays.
    #[must_use]
    pub fn may_follow(self, latest: Self) -> bool {
        if latest.is_terminal() { self == latest } else { self.phase() >= latest.phase() }
    }

    fn phase(self) -> u8 {
        match self {
            Self::Queued => 0,
            Self::Running => 1,
            Self::Cancelling => 2,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted => 3,
        }
    }
}

impl TaskKind {
    /// Whether it is a supervised child agent, in any spelling.
    #[must_use]
    pub fn is_child(self) -> bool {
        matches!(self, Self::ChildAgentTask | Self::SubagentTask | Self::WorktreeSubagentTask)
    }
}

/// A task as the ledger keeps it (class `tasks`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskRecord {
    /// Its id.
    pub id: TaskId,
    /// The agent.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// What it is.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When this record was made.
    pub updated_at: Timestamp,
    /// The message that produced it.
    #[serde(default)]
    pub parent_message_id: Option<MessageId>,
    /// The work item that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What it does, in a line.
    #[serde(default)]
    pub summary: Option<String>,
    /// Free data; `wait_policy` and `work_item_id` in it are fallbacks on read.
    #[serde(default)]
    pub detail: Option<RawJson>,
    /// How to recover it; inherited where a newer record has none.
    #[serde(default)]
    pub recovery: Option<TaskRecovery>,
}

impl TaskRecord {
    /// What the detail says under `key`, where it is of that type; a detail of another shape says
    /// nothing.
    fn noted<T: Readable>(&self, key: &str) -> Option<T> {
        self.detail.as_ref()?.field(key)?.read().ok()
    }

    /// This record with what a newer one inherits from the latest (contract 3.3).
    #[must_use]
    pub fn inheriting(self, latest: Option<&Self>) -> Self {
        Self { recovery: self.recovery.or_else(|| latest?.recovery.clone()), ..self }
    }

    /// Whether the item waits for this task (`observed-decisions.md` 2.5.1): supervised children
    /// never block.
    #[must_use]
    pub fn wait_policy(&self) -> TaskWaitPolicy {
        let is_child =
            self.kind.is_child() || self.recovery.as_ref().is_some_and(TaskRecovery::is_child);
        match self.noted::<String>("wait_policy") {
            Some(policy) if policy == "blocking" && !is_child => TaskWaitPolicy::Blocking,
            _ => TaskWaitPolicy::Background,
        }
    }

    /// Whether its creator asked for the model at its end. Informational: every terminal result
    /// re-enters (contract 6.3).
    #[must_use]
    pub fn terminal_reentry(&self) -> bool {
        let said = self.noted("terminal_reentry").or_else(|| self.noted("continue_on_result"));
        said.unwrap_or_else(|| self.recovery.as_ref().is_some_and(TaskRecovery::terminal_reentry))
    }

    /// The item that this task belongs to: first-class, else from the detail (contract 5.10).
    #[must_use]
    pub fn effective_work_item_id(&self) -> Option<WorkItemId> {
        self.work_item_id.clone().or_else(|| self.noted("work_item_id"))
    }
}
