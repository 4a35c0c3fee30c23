//! The plane of tasks, which run beside turns (contract 5.10 to 5.12).

pub mod result;

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    fact::outcome::{Outcome, Refusal},
    id::{MessageId, Seq, TaskId, WorkItemId},
    record::{
        Record,
        event::{EventKind, EventRecord},
        queue::{
            envelope::{MessageKind, TrustLevel},
            message::MessageRecord,
        },
        task::{TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy, recovery::TaskRecovery},
    },
    state::State,
    time::Timestamp,
};
use wakeful_json::{RawJson, Readable};

/// Facts `task_created`, `task_running`, `task_cancelling`, `task_completed`, `task_failed`,
/// `task_cancelled` and `task_interrupted`.
#[derive(Clone, Debug, PartialEq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskChanged {
    /// The id of the task.
    pub task_id: TaskId,
    /// The kind of the task; required for a new task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_kind: Option<TaskKind>,
    /// The work item that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What the task does, or how it ended, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the item waits for the task; absent means as before, at first that it does not
    /// (contract 5.11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_policy: Option<TaskWaitPolicy>,
    /// Free data, carried as given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<RawJson>,
    /// How to recover the task; absent means as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<TaskRecovery>,
}

/// The only way to change a task record (contract 5.10).
pub(crate) fn changed(
    state: &State,
    fact: TaskChanged,
    status: TaskStatus,
    at: Timestamp,
) -> Outcome {
    if let Some(first) = conflict(state, &fact, status) {
        return Outcome::ignored(Refusal::ConflictingDuplicate, first);
    }
    if let Some((_, seq)) = state.tasks.ended.get(&fact.task_id) {
        return Outcome::ignored(Refusal::AlreadyTerminal, *seq);
    }
    let known = state.tasks.active.get(&fact.task_id);
    // contract 5.10: a lower phase after a higher one is ignored.
    if let Some(task) = known
        && !status.may_follow(task.record.status)
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
        parent_message_id: before.map_or_else(
            || state.turns.run.as_ref().map(|run| run.message_id.clone()),
            |record| record.parent_message_id.clone(),
        ),
        work_item_id: fact.work_item_id.or_else(|| before?.work_item_id.clone()),
        summary: fact.summary.or_else(|| before?.summary.clone()),
        wait_policy: fact.wait_policy.or_else(|| before?.wait_policy),
        detail: fact.detail.or_else(|| before?.detail.clone()),
        // Not taken from `before`: the fold inherits it (contract 3.3).
        recovery: fact.recovery,
    };
    // The record of the task comes first, so its result is the second entry of the batch.
    let result = owes_result(state, &record)
        .then(|| result::queued(state, &record, state.head.seq.plus(2), at));
    Outcome::accepted(
        [Record::Task(record)].into_iter().chain(result.into_iter().flatten()).collect(),
    )
}

/// The entry that created this task for something else, if the fact creates it again (contract
/// 2.2). The other facts only change a task.
fn conflict(state: &State, fact: &TaskChanged, status: TaskStatus) -> Option<Seq> {
    let never = Timestamp::default();
    state.introduced.conflict(&Record::Task(TaskRecord {
        id: fact.task_id.clone(),
        agent_id: state.control.agent_id.clone(),
        // Without a kind, the fact does not create the task.
        kind: fact.task_kind.filter(|_| status == TaskStatus::Queued)?,
        status,
        created_at: never,
        updated_at: never,
        parent_message_id: None,
        work_item_id: fact.work_item_id.clone(),
        summary: fact.summary.clone(),
        wait_policy: fact.wait_policy,
        detail: fact.detail.clone(),
        recovery: fact.recovery.clone(),
    }))
}

/// Whether the batch of this record also queues the task's one result (contract 5.11). It does in a
/// driven ledger.
fn owes_result(state: &State, record: &TaskRecord) -> bool {
    record.status.is_terminal() && state.control.live_from.is_some()
}

/// The task records that a task message of the runtime implies, if it says more than the ledger
/// knows. So a result is never queued before its task has ended (I5). A result message is itself
/// the result; after a status message that ends the task, the result is queued too.
pub(crate) fn reported(state: &State, message: &MessageRecord, at: Timestamp) -> Vec<Record> {
    let Some(task) = news(state, message, at) else {
        return Vec::new();
    };
    let follows = message.kind == MessageKind::TaskStatus && owes_result(state, &task);
    let result = follows.then(|| result::queued(state, &task, state.head.seq.plus(2), at));
    [Record::Task(task)].into_iter().chain(result.into_iter().flatten()).collect()
}

fn news(state: &State, message: &MessageRecord, at: Timestamp) -> Option<TaskRecord> {
    let is_task_message = matches!(message.kind, MessageKind::TaskResult | MessageKind::TaskStatus);
    // contract 5.11: only the runtime's own word brings a record, and only for a driver.
    if !is_task_message
        || message.trust != TrustLevel::TrustedSystem
        || state.control.live_from.is_none()
    {
        return None;
    }
    // A message without a readable task is dropped when its turn comes (D15).
    let task = TaskRecord::of_message(message, at).ok()?;
    if state.tasks.ended.contains_key(&task.id) {
        return None;
    }
    let latest = state.tasks.active.get(&task.id).map(|task| &task.record);
    let news = latest
        .is_none_or(|latest| task.status != latest.status && task.status.may_follow(latest.status));
    // What the message leaves out stays as before, as with a fact: the item, and whether it waits.
    let told = TaskRecord {
        created_at: latest.map_or(at, |latest| latest.created_at),
        work_item_id: task.work_item_id.or_else(|| latest?.work_item_id.clone()),
        wait_policy: task.wait_policy.or_else(|| latest?.wait_policy),
        detail: task.detail.or_else(|| latest?.detail.clone()),
        ..task
    };
    news.then(|| told.inheriting(latest))
}

/// Facts `task_result_queued` and `task_result_delivered`: the progress of a task's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskResultMoved {
    /// The task that has ended.
    pub task_id: TaskId,
    /// The message with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

/// The transition of `task_result_queued` and `task_result_delivered`: evidence, but only for a
/// task that has ended (I5).
pub(crate) fn result_moved(
    state: &State,
    fact: &TaskResultMoved,
    kind: EventKind,
    at: Timestamp,
) -> Outcome {
    if state.tasks.ended.contains_key(&fact.task_id) {
        return Outcome::accepted([Record::Event(EventRecord::new(kind, at, fact))].into());
    }
    match state.tasks.active.get(&fact.task_id) {
        Some(task) => Outcome::ignored(Refusal::NotYetTerminal, task.seq),
        None => Outcome::ignored(Refusal::Unknown, state.head.seq),
    }
}
