//! The messages that report the end of tasks: one per task, or one for all that a stop or restart
//! interrupts (contract 5.11).

use alloc::{string::ToString, vec::Vec};

use serde::Serialize;
use wakeful_json::RawJson;

use crate::{
    fact::task::TaskResultMoved,
    id::{Seq, TaskId, WorkItemId},
    record::{
        Record,
        event::{EventKind, EventRecord},
        queue::{
            admission,
            envelope::{
                DeliverySurface, MessageBody, MessageKind, MessageOrigin, Priority, TrustLevel,
            },
            message::MessageRecord,
            note::{self, NoteKey},
        },
        task::{
            TaskKind, TaskRecord, TaskStatus, TaskWaitPolicy,
            message::{self, InterruptedTask, InterruptedTasksNote},
        },
        text,
    },
    state::State,
    time::Timestamp,
};

/// The metadata of a result message (`observed-tasks-waits-storage.md` 1.9).
#[derive(Serialize)]
struct ResultNote<'a> {
    task_id: &'a TaskId,
    task_kind: TaskKind,
    task_status: TaskStatus,
    task_summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_wait_policy: Option<TaskWaitPolicy>,
    task_detail: Option<&'a RawJson>,
    work_item_id: Option<&'a WorkItemId>,
}

/// The records that queue the result of an ended task. The entry at `seq` records the message.
pub(super) fn queued(state: &State, task: &TaskRecord, seq: Seq, at: Timestamp) -> Vec<Record> {
    let work_item_id = task.effective_work_item_id();
    let note = ResultNote {
        task_id: &task.id,
        task_kind: task.kind,
        task_status: task.status,
        task_summary: task.summary.as_deref(),
        task_wait_policy: task.wait_policy,
        task_detail: task.detail.as_ref(),
        work_item_id: work_item_id.as_ref(),
    };
    let metadata = RawJson::from_value(&note);
    let text = task.summary.clone().unwrap_or_else(|| text::task_ended(&task.id, task.status));
    let message = MessageRecord {
        origin: MessageOrigin::Task { task_id: task.id.clone() },
        delivery_surface: Some(DeliverySurface::TaskRejoin),
        metadata: Some(metadata),
        work_item_id,
        ..admission::core_message(
            &state.control.agent_id,
            seq,
            MessageKind::TaskResult,
            Priority::Next,
            MessageBody::text(text),
            at,
        )
    };
    admitted(message, |_| true, at)
}

/// The records that queue a message, and those that say which results it has (contract 5.11).
/// `has_ended` says whether a task has ended when the message is queued.
pub(crate) fn admitted(
    message: MessageRecord,
    has_ended: impl Fn(&TaskId) -> bool,
    at: Timestamp,
) -> Vec<Record> {
    let queued = results_in(&message)
        .into_iter()
        // A host may report a result of a task that nobody knows (I5).
        .filter(has_ended)
        .map(|task_id| moved(EventKind::TaskResultQueued, task_id, &message, at))
        .collect::<Vec<_>>();
    admission::records(message, at).into_iter().chain(queued).collect()
}

/// The records that say which results the model is told by these messages, once for each (contract
/// 5.11).
pub(crate) fn delivered<'a>(
    state: &State,
    messages: impl Iterator<Item = &'a MessageRecord>,
    at: Timestamp,
) -> Vec<Record> {
    let of_message = |message: &MessageRecord| {
        let results = results_in(message).into_iter();
        let untold = results.filter(|task| state.tasks.untold.get(task) == Some(&message.id));
        untold
            .map(|task_id| moved(EventKind::TaskResultDelivered, task_id, message, at))
            .collect::<Vec<_>>()
    };
    messages.flat_map(of_message).collect()
}

fn moved(kind: EventKind, task_id: TaskId, message: &MessageRecord, at: Timestamp) -> Record {
    let moved = TaskResultMoved { task_id, message_id: Some(message.id.clone()) };
    Record::Event(EventRecord::new(kind, at, &moved))
}

/// The tasks whose end this message of the runtime reports.
fn results_in(message: &MessageRecord) -> Vec<TaskId> {
    if message.trust != TrustLevel::TrustedSystem {
        return Vec::new();
    }
    let interrupted = message.note::<InterruptedTasksNote>();
    let interrupted = interrupted.into_iter().flat_map(|note| note.items);
    message::task_of(message).into_iter().chain(interrupted.map(|task| task.task_id)).collect()
}

/// The records that interrupt all active tasks except those in `alive`, and queue one tick that
/// names them. The entry at `first` is the first record. `who` is the cause, in words.
pub(crate) fn interrupt(
    state: &State,
    alive: &[TaskId],
    who: &str,
    first: Seq,
    at: Timestamp,
) -> Vec<Record> {
    let lost: Vec<_> =
        state.tasks.active.values().filter(|task| !alive.contains(&task.record.id)).collect();
    if lost.is_empty() {
        return Vec::new();
    }
    let ended = lost.iter().map(|task| TaskRecord {
        status: TaskStatus::Interrupted,
        updated_at: at,
        ..task.record.clone()
    });
    let items = lost.iter().map(|task| InterruptedTask {
        task_id: task.record.id.clone(),
        kind: task.record.kind,
        status_before_restart: task.record.status,
        summary: task.record.summary.clone(),
        wait_policy: task.wait_policy,
    });
    let text = text::tasks_interrupted(who, lost.len());
    // The message follows the records of the tasks, and its id comes from that place.
    let seq = first.plus(lost.len());
    let note = InterruptedTasksNote { count: lost.len(), items: items.collect() };
    let tick = MessageRecord {
        origin: MessageOrigin::System { subsystem: "task_restart".to_string() },
        metadata: Some(note::metadata(NoteKey::InterruptedTasks, &note)),
        ..admission::core_message(
            &state.control.agent_id,
            seq,
            MessageKind::SystemTick,
            Priority::Next,
            MessageBody::text(text),
            at,
        )
    };
    ended.map(Record::Task).chain(admitted(tick, |_| true, at)).collect()
}
