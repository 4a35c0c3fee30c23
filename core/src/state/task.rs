//! The plane of tasks: the active ones, how the others ended, and which results were queued.

use serde::Serialize;

use crate::{
    id::{MessageId, Seq, TaskId, WorkItemId},
    record::{
        entry::Place,
        queue::message::MessageRecord,
        task::{TaskRecord, TaskStatus, TaskWaitPolicy, message},
    },
};
use wakeful_json::{Map, Readable};

/// An active task, and the entry of its latest record.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
pub struct Task {
    /// The entry of the latest record.
    pub seq: Seq,
    /// The latest record.
    pub record: TaskRecord,
    /// Whether its item waits for it, as the record says.
    pub wait_policy: TaskWaitPolicy,
    /// The work item that the task belongs to.
    pub work_item_id: Option<WorkItemId>,
}

impl Task {
    /// Whether the item of this task waits for it. An active task alone is not a wait (contract
    /// 5.12).
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.wait_policy == TaskWaitPolicy::Blocking
    }
}

/// The state of the plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Readable)]
pub struct Tasks {
    /// The tasks that are queued, running or being cancelled.
    pub active: Map<TaskId, Task>,
    /// How each other task ended, and the entry that says so.
    pub ended: Map<TaskId, (TaskStatus, Seq)>,
    /// The tasks whose result has a message, with the entry of that message. A task has one result
    /// (contract 5.11).
    pub told: Map<TaskId, Seq>,
    /// The tasks whose result is queued and that no turn was told yet, each with its message.
    #[serde(default)]
    pub untold: Map<TaskId, MessageId>,
    /// The number of records that a terminal status refused (contract 3.3).
    pub refused: u64,
}

impl Tasks {
    pub(crate) fn apply(&mut self, place: &Place, record: &TaskRecord) {
        if let Some((status, seq)) = self.ended.get_mut(&record.id) {
            // contract 3.3: the same status replaces the record, and another one is refused.
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
        // Phases are not compared here: that is a rule of transitions, and the fold takes the
        // latest record (contract 2.4).
        let record = record.clone().inheriting(before.as_ref().map(|task| &task.record));
        let task = Task {
            seq: place.seq,
            wait_policy: record.wait_policy(),
            work_item_id: record.effective_work_item_id(),
            record,
        };
        self.active.insert(task.record.id.clone(), task);
    }

    /// Folds that a result was queued as a message.
    pub(crate) fn result_queued(&mut self, task: &TaskId, message: &MessageId) {
        self.untold.insert(task.clone(), message.clone());
    }

    /// Folds that a turn learns of a result.
    pub(crate) fn result_delivered(&mut self, task: &TaskId) {
        self.untold.remove(task);
    }

    /// Folds that a message was dropped: no turn will be told of its result.
    pub(crate) fn message_dropped(&mut self, message: &MessageId) {
        self.untold.retain(|_, told_by| told_by != message);
    }

    pub(crate) fn apply_message(&mut self, place: &Place, message: &MessageRecord) {
        if let Some(task) = message::task_of(message) {
            // contract 5.11: a task has one result, so the first message counts.
            self.told.get_or_insert(task, place.seq);
        }
    }
}
