//! The head: which message a boundary is about, and whether it still has a subject (contract 5.1,
//! 5.2, 5.9).

use crate::{
    id::{TimerId, WorkItemId},
    record::{
        key::TickReason,
        queue::{
            envelope::{MessageKind, MessageOrigin},
            message::MessageRecord,
            note::{DeadlineNote, RecheckNote, RetryNote, Subject, SystemWaitNote, WorkQueueNote},
        },
        task::{TaskRecord, message::TaskPayloadError},
        waiting::TimerStatus,
    },
    state::{
        State, autonomy,
        queue::lanes::Held,
        readiness::{self, SchedulingState},
        recheck,
    },
};

/// The message that goes next. While a run is open it can only be an interjection.
#[must_use]
pub fn next(state: &State) -> Option<&Held> {
    match &state.turns.run {
        Some(_) => state.queue.interjection(),
        // contract 9.5: outside input passes the rest of the queue of a parked agent.
        None if autonomy::is_parked(state) => {
            state.queue.waiting().find(|held| autonomy::may_be_taken(state, held))
        }
        // contract 16.4: what no budget holds passes the rest of the queue.
        None => {
            let head = state.queue.head(state.control.policy.lane_burst);
            head.filter(|held| autonomy::may_be_taken(state, held))
                .or_else(|| state.queue.waiting().find(|held| autonomy::may_be_taken(state, held)))
        }
    }
}

/// Whether this is a message of the core whose subject is gone (contract 5.2). The subject is gone
/// if an item changed since it was offered, a wait ended, or a timer was cancelled. The message
/// would tell the model something that is no longer true.
#[must_use]
pub fn is_stale(state: &State, held: &Held) -> bool {
    // contract 5.2: only messages of the core can be stale.
    if !held.is_core_made() {
        return false;
    }
    let message = &held.record;
    if let Some(note) = message.note::<WorkQueueNote>() {
        return !is_offered(state, &note.work_item_id, note.reason);
    }
    if let Some(note) = message.note::<RetryNote>() {
        return is_stale_retry(state, message, &note.subject);
    }
    // The turn that was told of a wait also ended it, so its replay must not count as stale
    // (contract 6.3).
    if state.queue.resolution(&message.id).is_some() {
        return false;
    }
    if let Some(note) = message.note::<SystemWaitNote>() {
        return !state.waiting.conditions.contains_key(&note.wait_condition_id);
    }
    if let Some(note) = message.note::<DeadlineNote>() {
        return !state.waiting.conditions.contains_key(&note.wait_condition_id);
    }
    if let Some(note) = message.note::<RecheckNote>() {
        let item = state.work.items.get(&note.work_item_id);
        return item.and_then(recheck::pending_at) != Some(note.recheck_at);
    }
    match &message.origin {
        MessageOrigin::Timer { timer_id } => is_cancelled(state, timer_id),
        _ => false,
    }
}

fn is_offered(state: &State, id: &WorkItemId, reason: TickReason) -> bool {
    let Some(item) = state.work.items.get(id) else { return false };
    let is_current = state.work.current().is_some_and(|current| current.record.id == *id);
    readiness::state_of(state, item) == SchedulingState::Runnable
        && is_current == (reason == TickReason::ContinueActive)
}

/// A retry has the subject of the turn it repeats. One about an item is also stale once the item is
/// completed.
fn is_stale_retry(state: &State, message: &MessageRecord, subject: &Subject) -> bool {
    let item = message.work_item_id.as_ref();
    item.is_some_and(|item| {
        state.work.ended.contains_key(item)
            || subject.offered_as.is_some_and(|reason| !is_offered(state, item, reason))
    }) || subject.timer_id.as_ref().is_some_and(|timer| is_cancelled(state, timer))
}

fn is_cancelled(state: &State, timer: &TimerId) -> bool {
    // A timer that fired for the last time is completed, and that tick still counts.
    matches!(state.waiting.ended_timers.get(timer), Some((TimerStatus::Cancelled, _)))
}

/// Why this message cannot be classified, if so (contract 5.2, D15). Such a task message has no
/// task in its metadata and is about no known task.
#[must_use]
pub fn malformed(state: &State, held: &Held) -> Option<TaskPayloadError> {
    let message = &held.record;
    if !matches!(message.kind, MessageKind::TaskResult | MessageKind::TaskStatus) {
        return None;
    }
    let tasks = &state.tasks;
    let is_known = message
        .task_id
        .as_ref()
        .is_some_and(|id| tasks.active.contains_key(id) || tasks.ended.contains_key(id));
    TaskRecord::of_message(message, message.created_at)
        .err()
        .filter(|why| *why != TaskPayloadError::NoTaskId || !is_known)
}
