//! The task in the metadata of a `task_status` or `task_result` message (`observed-decisions.md`
//! 6.1.2).

use alloc::{string::String, vec::Vec};

use serde::Serialize;
use wakeful_json::{JsonError, Readable};

use crate::{
    id::TaskId,
    record::{
        queue::{
            envelope::{MessageKind, MessageOrigin},
            message::MessageRecord,
            note::{Note, NoteKey},
        },
        task::{TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy},
        text,
    },
    time::Timestamp,
};

/// Why the metadata of a task message does not describe a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskPayloadError {
    /// The task's id is missing.
    #[error("{}", text::NO_TASK_ID)]
    NoTaskId,
    /// The task's kind is missing.
    #[error("{}", text::NO_TASK_KIND)]
    NoTaskKind,
    /// The task's kind is unknown.
    #[error("{}", text::unknown_task_kind(.0))]
    UnknownKind(String),
    /// The task's recovery cannot be read.
    #[error("malformed metadata.task_recovery: {0}")]
    Recovery(JsonError),
}

impl TaskRecord {
    /// The task in a message's metadata. Its times are `at`.
    ///
    /// # Errors
    /// If the metadata has no task id or kind, or its recovery cannot be read.
    pub fn of_message(message: &MessageRecord, at: Timestamp) -> Result<Self, TaskPayloadError> {
        let text = |key: &str| message.noted(key)?.read::<String>().ok();
        // Free JSON keeps a `null` as a value, but in these two it means that nothing is given.
        let said = |key: &str| message.noted(key).filter(|raw| raw.as_str() != "null");
        let id = message
            .noted("task_id")
            .and_then(|raw| raw.read().ok())
            .ok_or(TaskPayloadError::NoTaskId)?;
        // Read as text first, so that an unknown kind can be named in the error.
        let kind = text("task_kind").ok_or(TaskPayloadError::NoTaskKind)?;
        let known = message.noted("task_kind").and_then(|raw| raw.read::<TaskKind>().ok());
        let kind = known.ok_or(TaskPayloadError::UnknownKind(kind))?;
        let recovery = said("task_recovery")
            .map(|raw| raw.read())
            .transpose()
            .map_err(TaskPayloadError::Recovery)?;
        Ok(Self {
            id,
            agent_id: message.agent_id.clone(),
            kind,
            status: status(message),
            created_at: at,
            updated_at: at,
            parent_message_id: Some(message.id.clone()),
            work_item_id: message
                .noted("work_item_id")
                .and_then(|raw| raw.read().ok())
                .or_else(|| message.work_item_id.clone()),
            summary: Some(text("task_summary").unwrap_or_else(|| message.body.as_text().into())),
            wait_policy: message.noted("task_wait_policy").and_then(|raw| raw.read().ok()),
            detail: said("task_detail"),
            recovery,
        })
    }
}

/// The status in the metadata. An unknown one reads as queued. If there is none, the kind of the
/// message decides.
fn status(message: &MessageRecord) -> TaskStatus {
    let noted = message.noted("task_status").filter(|raw| raw.read::<String>().is_ok());
    match noted {
        Some(raw) => raw.read().unwrap_or(TaskStatus::Queued),
        None if message.kind == MessageKind::TaskStatus => TaskStatus::Running,
        None => TaskStatus::Completed,
    }
}

/// The metadata of a `task_restart` tick: the tasks that were interrupted (`observed-decisions.md`
/// 4.9.6).
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct InterruptedTasksNote {
    /// The number of tasks.
    pub count: usize,
    /// The tasks, in the order of their ids.
    pub items: Vec<InterruptedTask>,
}

impl Note for InterruptedTasksNote {
    const KEY: NoteKey = NoteKey::InterruptedTasks;
}

/// A task that a stop or restart interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct InterruptedTask {
    /// The id of the task.
    pub task_id: TaskId,
    /// The kind of the task.
    pub kind: TaskKind,
    /// The status before the interruption.
    pub status_before_restart: TaskStatus,
    /// What the task did, in one line.
    pub summary: Option<String>,
    /// Whether its item waited for it.
    pub wait_policy: TaskWaitPolicy,
}

/// The task whose end this message reports, if it reports one. The metadata comes first, as in
/// [`TaskRecord::of_message`], then the binding and the origin of the message.
pub(crate) fn task_of(message: &MessageRecord) -> Option<TaskId> {
    if message.kind != MessageKind::TaskResult {
        return None;
    }
    let by_origin = match &message.origin {
        MessageOrigin::Task { task_id } => Some(task_id.clone()),
        _ => None,
    };
    let noted = || message.noted("task_id").and_then(|raw| raw.read().ok());
    noted().or_else(|| message.task_id.clone()).or(by_origin)
}
