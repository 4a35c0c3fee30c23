//! The task that a `task_status` or `task_result` message carries in its metadata
//! (`observed-decisions.md` 6.1.2).

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
    },
    time::Timestamp,
};

/// Why the metadata of a task message says no task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskPayloadError {
    /// It does not name the task.
    #[error("task message missing metadata.task_id")]
    NoTaskId,
    /// It does not say what the task is.
    #[error("task message missing metadata.task_kind")]
    NoTaskKind,
    /// It names a kind that does not exist.
    #[error("unknown task kind {0:?}")]
    UnknownKind(String),
    /// It has a recovery that cannot be read.
    #[error("malformed metadata.task_recovery: {0}")]
    Recovery(JsonError),
}

impl TaskRecord {
    /// The task that a message carries; its times are those of the reading.
    ///
    /// # Errors
    /// Where the metadata does not name the task or its kind, or has a recovery that cannot be
    /// read.
    pub fn of_message(message: &MessageRecord, at: Timestamp) -> Result<Self, TaskPayloadError> {
        let text = |key: &str| message.noted(key)?.read::<String>().ok();
        let said = |key: &str| message.noted(key).filter(|raw| raw.as_str() != "null");
        let id = message
            .noted("task_id")
            .and_then(|raw| raw.read().ok())
            .ok_or(TaskPayloadError::NoTaskId)?;
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
            detail: said("task_detail"),
            recovery,
        })
    }
}

/// The noted status. An unknown word counts as queued, none as what the kind of the message says.
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
    /// How many.
    pub count: usize,
    /// Which, by id.
    pub items: Vec<InterruptedTask>,
}

impl Note for InterruptedTasksNote {
    const KEY: NoteKey = NoteKey::InterruptedTasks;
}

/// A task that was interrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct InterruptedTask {
    /// The task.
    pub task_id: TaskId,
    /// What it is.
    pub kind: TaskKind,
    /// Where it stood.
    pub status_before_restart: TaskStatus,
    /// What it did, in a line.
    pub summary: Option<String>,
    /// Whether its item waited for it.
    pub wait_policy: TaskWaitPolicy,
}

/// The task whose end this message tells, if it tells one: the one that it carries (as
/// [`TaskRecord::of_message`] reads it), else the one that it is addressed by.
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
