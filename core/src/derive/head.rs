//! Which message a boundary is about, and whether it still has a subject (contract 5.1, 5.2, 5.9).

use crate::{
    derive::readiness::{self, SchedulingState},
    id::MessageId,
    plane::{
        queue::{Held, MessageKind, MessageOrigin, SystemWaitNote, TickReason, WorkQueueNote},
        task::{TaskPayloadError, TaskRecord},
        waiting::TimerStatus,
    },
    state::State,
};

/// The message that goes next: while a run is open only an interjection can, otherwise the queue says.
#[must_use]
pub fn of(state: &State) -> Option<&Held> {
    match &state.turns.run {
        Some(_) => state.queue.interjection(),
        None => state.queue.head(state.control.policy.lane_burst),
    }
}

/// Whether the core made this message, as opposed to a host or another runtime.
#[must_use]
pub fn is_core_made(held: &Held) -> bool {
    held.live && held.record.id == MessageId::made_at(&held.record.agent_id, held.seq)
}

/// Whether this is a message of the core whose subject is gone, so that it would tell the model what is no longer true (contract 5.2):
/// an item that is not as it was offered, a wait that ended, a timer that was cancelled.
#[must_use]
pub fn is_stale(state: &State, held: &Held) -> bool {
    if !is_core_made(held) {
        return false;
    }
    let message = &held.record;
    if let Some(note) = message.noted("work_queue").and_then(|raw| raw.read::<WorkQueueNote>().ok()) {
        let Some(item) = state.work.items.get(&note.work_item_id) else { return true };
        let is_current = state.work.current().is_some_and(|current| current.record.id == note.work_item_id);
        let is_runnable = readiness::of(state, item).state == SchedulingState::Runnable;
        return !is_runnable || is_current != (note.reason == TickReason::ContinueActive);
    }
    if let Some(note) = message.noted("system_wait").and_then(|raw| raw.read::<SystemWaitNote>().ok()) {
        return !state.waiting.conditions.contains_key(&note.wait_condition_id);
    }
    match &message.origin {
        MessageOrigin::Timer { timer_id } => {
            matches!(state.waiting.ended_timers.get(timer_id), Some((TimerStatus::Cancelled, _)))
        }
        _ => false,
    }
}

/// Why this message cannot be classified, if it cannot (contract 5.2, D15): a task message that carries no task and is about none that is
/// known.
#[must_use]
pub fn malformed(state: &State, held: &Held) -> Option<TaskPayloadError> {
    let message = &held.record;
    if !matches!(message.kind, MessageKind::TaskResult | MessageKind::TaskStatus) {
        return None;
    }
    let tasks = &state.tasks;
    let is_known = message.task_id.as_ref().is_some_and(|id| tasks.active.contains_key(id) || tasks.ended.contains_key(id));
    TaskRecord::of_message(message, message.created_at).err().filter(|why| *why != TaskPayloadError::NoTaskId || !is_known)
}
