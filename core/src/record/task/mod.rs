//! Tasks, and whether their work items wait for them (class `tasks`).

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
    /// The status of a task. Phases only rise: queued, running, cancelling, terminal.
    pub enum TaskStatus {
        /// Not started yet.
        Queued,
        /// Running.
        Running,
        /// Asked to stop, but not ended yet.
        Cancelling,
        /// Ended successfully.
        Completed,
        /// Ended with an error.
        Failed,
        /// Stopped on request.
        Cancelled,
        /// Lost in a stop or a restart.
        Interrupted,
    }

    /// The kind of a task.
    pub enum TaskKind {
        /// A command.
        CommandTask,
        /// A supervised child agent.
        ChildAgentTask,
        /// A timed rest in the form of a task; read, never written.
        SleepJob,
        /// Legacy spelling of a child agent that inherits the workspace.
        SubagentTask,
        /// Legacy spelling of a child agent with a worktree.
        WorktreeSubagentTask,
    }

    /// Whether the work item of a task waits for it.
    pub enum TaskWaitPolicy {
        /// It waits.
        Blocking,
        /// It does not wait.
        Background,
    }
}

impl TaskStatus {
    /// Whether this status is final: no later record has another (contract 3.3).
    #[must_use]
    pub fn is_terminal(self) -> bool {
        self.phase() == 3
    }

    /// Whether a record with this status is accepted after one with status `latest`. Phases never
    /// fall, and the first terminal status stays (contract 3.3, 5.10).
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
    /// Whether the task is a supervised child agent, in any spelling.
    #[must_use]
    pub fn is_child(self) -> bool {
        matches!(self, Self::ChildAgentTask | Self::SubagentTask | Self::WorktreeSubagentTask)
    }
}

/// A task as the ledger keeps it (class `tasks`).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskRecord {
    /// Unique within the agent.
    pub id: TaskId,
    /// The agent that owns the ledger.
    #[serde(alias = "session_id")]
    pub agent_id: AgentId,
    /// The kind of the task.
    pub kind: TaskKind,
    /// The status of the task.
    pub status: TaskStatus,
    /// When the task was created.
    pub created_at: Timestamp,
    /// When this record was made.
    pub updated_at: Timestamp,
    /// The message that created the task.
    #[serde(default)]
    pub parent_message_id: Option<MessageId>,
    /// The work item that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What the task does, in one line.
    #[serde(default)]
    pub summary: Option<String>,
    /// Whether its item waits for it. Older records and other runtimes say it in the detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_policy: Option<TaskWaitPolicy>,
    /// Free data. `wait_policy` and `work_item_id` are read from it if the fields above are absent.
    #[serde(default)]
    pub detail: Option<RawJson>,
    /// How to recover the task. A newer record without it inherits it.
    #[serde(default)]
    pub recovery: Option<TaskRecovery>,
}

impl TaskRecord {
    /// The value of `key` in the detail, if it has type `T`; another shape counts as absent.
    fn noted<T: Readable>(&self, key: &str) -> Option<T> {
        self.detail.as_ref()?.field(key)?.read().ok()
    }

    /// This record with what it inherits from the latest one (contract 3.3).
    #[must_use]
    pub fn inheriting(self, latest: Option<&Self>) -> Self {
        Self { recovery: self.recovery.or_else(|| latest?.recovery.clone()), ..self }
    }

    /// Whether the item waits for this task (`observed-decisions.md` 2.5.1). A supervised child
    /// never blocks.
    #[must_use]
    pub fn wait_policy(&self) -> TaskWaitPolicy {
        let is_child =
            self.kind.is_child() || self.recovery.as_ref().is_some_and(TaskRecovery::is_child);
        // Read as text, because any other text means background (`observed-decisions.md` 2.5.1).
        let noted = || self.noted::<String>("wait_policy").is_some_and(|said| said == "blocking");
        let blocks = match self.wait_policy {
            Some(policy) => policy == TaskWaitPolicy::Blocking,
            None => noted(),
        };
        if blocks && !is_child { TaskWaitPolicy::Blocking } else { TaskWaitPolicy::Background }
    }

    /// Whether the creator wants the model to run when the task ends. It counts if the policy does
    /// not let every result re-enter (contract 5.11).
    #[must_use]
    pub fn terminal_reentry(&self) -> bool {
        let said = self.noted("terminal_reentry").or_else(|| self.noted("continue_on_result"));
        said.unwrap_or_else(|| self.recovery.as_ref().is_some_and(TaskRecovery::terminal_reentry))
    }

    /// The child that this task supervises, if it says so in the detail.
    #[must_use]
    pub fn child_agent_id(&self) -> Option<AgentId> {
        self.noted("child_agent_id")
    }

    /// The work item of this task: its own field, else the one in the detail (contract 5.10).
    #[must_use]
    pub fn effective_work_item_id(&self) -> Option<WorkItemId> {
        self.work_item_id.clone().or_else(|| self.noted("work_item_id"))
    }
}
