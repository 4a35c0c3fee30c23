//! The task plane: what runs in the background, and how it ended (contract 5.10 to 5.12).

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    entry::{Place, Record},
    fact::{Outcome, Refusal},
    id::{AgentId, MessageId, Seq, TaskId, WorkItemId},
    json::RawJson,
    state::State,
    tagged::names,
    time::Timestamp,
};

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
    fn is_child(self) -> bool {
        matches!(self, Self::ChildAgentTask | Self::SubagentTask | Self::WorktreeSubagentTask)
    }
}

/// A task as the ledger keeps it (class `tasks`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub recovery: Option<RawJson>,
}

#[derive(Deserialize)]
struct DetailNotes {
    wait_policy: Option<String>,
    work_item_id: Option<WorkItemId>,
}

#[derive(Deserialize)]
struct RecoveryNote {
    kind: Option<String>,
}

impl TaskRecord {
    fn detail_notes(&self) -> Option<DetailNotes> {
        self.detail.as_ref()?.read().ok()
    }

    /// Whether the item waits for this task (`observed-decisions.md` 2.5.1): supervised children never block.
    #[must_use]
    pub fn wait_policy(&self) -> TaskWaitPolicy {
        let recovers_child = self
            .recovery
            .as_ref()
            .and_then(|raw| raw.read::<RecoveryNote>().ok())
            .and_then(|note| note.kind)
            .is_some_and(|kind| kind != "command_task");
        let blocking = !self.kind.is_child()
            && !recovers_child
            && self.detail_notes().and_then(|notes| notes.wait_policy).is_some_and(|policy| policy == "blocking");
        if blocking { TaskWaitPolicy::Blocking } else { TaskWaitPolicy::Background }
    }

    /// The item that this task belongs to: first-class, else from the detail (contract 5.10).
    #[must_use]
    pub fn effective_work_item_id(&self) -> Option<WorkItemId> {
        self.work_item_id.clone().or_else(|| self.detail_notes().and_then(|notes| notes.work_item_id))
    }
}

/// Facts `task_created`, `task_running`, `task_cancelling`, `task_completed`, `task_failed`, `task_cancelled`, `task_interrupted`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskChanged {
    /// The task.
    pub task_id: TaskId,
    /// What it is; needed where the task is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_kind: Option<TaskKind>,
    /// The work item that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What it does, or how it ended, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Free data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<RawJson>,
}

/// The one way in which a task record changes (contract 5.10).
pub(crate) fn changed(state: &State, fact: TaskChanged, status: TaskStatus, at: Timestamp) -> Outcome {
    if let Some((_, seq)) = state.tasks.ended.get(&fact.task_id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    let known = state.tasks.active.get(&fact.task_id);
    if let Some(task) = known
        && task.record.status.phase() > status.phase()
    {
        return Outcome::ignored(Refusal::Stale, task.seq);
    }
    let before = known.map(|task| &task.record);
    let Some(kind) = fact.task_kind.or(before.map(|record| record.kind)) else {
        return Outcome::ignored(Refusal::Unknown, state.head.seq);
    };
    let record = TaskRecord {
        id: fact.task_id,
        agent_id: state.control.agent_id.clone(),
        kind,
        status,
        created_at: before.map_or(at, |record| record.created_at),
        updated_at: at,
        parent_message_id: before
            .map_or_else(|| state.turns.run.as_ref().map(|run| run.message_id.clone()), |record| record.parent_message_id.clone()),
        work_item_id: fact.work_item_id.or_else(|| before?.work_item_id.clone()),
        summary: fact.summary.or_else(|| before?.summary.clone()),
        detail: fact.detail.or_else(|| before?.detail.clone()),
        recovery: None,
    };
    Outcome::accepted([Record::Task(record)].into())
}

/// An active task and the entry of its latest record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Task {
    /// The entry of the latest record.
    pub seq: Seq,
    /// The latest record.
    pub record: TaskRecord,
    /// Its wait policy.
    pub wait_policy: TaskWaitPolicy,
    /// The item that it belongs to.
    pub work_item_id: Option<WorkItemId>,
}

impl Task {
    /// Whether the item that it belongs to waits for it.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.wait_policy == TaskWaitPolicy::Blocking
    }
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tasks {
    /// What is queued, running or being cancelled.
    pub active: BTreeMap<TaskId, Task>,
    /// How the others ended, and the entry that says so.
    pub ended: BTreeMap<TaskId, (TaskStatus, Seq)>,
    /// Records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Tasks {
    pub(crate) fn apply(&mut self, place: &Place, record: &TaskRecord) {
        if let Some((status, seq)) = self.ended.get_mut(&record.id) {
            if *status == record.status {
                *seq = place.seq;
            } else {
                self.refused += 1;
            }
            return;
        }
        let before = self.active.remove(&record.id);
        if record.status.is_terminal() {
            self.ended.insert(record.id.clone(), (record.status, place.seq));
            return;
        }
        let mut record = record.clone();
        if record.recovery.is_none() {
            record.recovery = before.and_then(|task| task.record.recovery);
        }
        let task = Task { seq: place.seq, wait_policy: record.wait_policy(), work_item_id: record.effective_work_item_id(), record };
        self.active.insert(task.record.id.clone(), task);
    }

    /// The active blocking tasks of `item`, most recently updated first.
    #[must_use]
    pub fn blocking(&self, item: &WorkItemId) -> Vec<&Task> {
        let mut tasks: Vec<_> =
            self.active.values().filter(|task| task.is_blocking() && task.work_item_id.as_ref() == Some(item)).collect();
        tasks.sort_by_key(|task| core::cmp::Reverse((task.record.updated_at, task.seq)));
        tasks
    }
}
