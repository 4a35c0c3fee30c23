//! Retries: what a failed turn owes (contract 5.6).

use alloc::string::ToString;

use crate::{
    id::Seq,
    record::{
        queue::{
            message::MessageRecord,
            note::{Subject, continues},
        },
        turn::{AbortReason, TurnRecord, TurnTerminalKind},
    },
    state::{State, turn::Retry},
};

/// What is owed for a turn that ended so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owed {
    /// Nothing: it completed, or nobody wants it tried again.
    Nothing,
    /// One more try.
    Retry,
    /// Nothing any more: the lineage was tried as often as the policy says.
    Exhausted,
}

/// What a driver owes for this terminal record.
pub(crate) fn owed(state: &State, turn: &TurnRecord) -> Owed {
    let wanted = turn
        .kind
        .is_some_and(|kind| kind.is_failure() && kind != TurnTerminalKind::BaselineOverBudget);
    let ended_on_purpose = turn.was_aborted_by(AbortReason::OperatorAborted)
        || turn.was_aborted_by(AbortReason::AgentStopped);
    if state.control.live_from.is_none() || !wanted || ended_on_purpose {
        Owed::Nothing
    } else if turn.attempt < state.control.policy.failed_turn_retries.get() {
        Owed::Retry
    } else {
        Owed::Exhausted
    }
}

/// The retry that a failed turn owes, which the entry at `seq` says failed. A follow-up of the host
/// that waits already takes its place.
pub(crate) fn next_retry(state: &State, turn: &TurnRecord, seq: Seq) -> Retry {
    let policy = &state.control.policy;
    let failed = state.queue.message(&turn.message_id).map(|held| &held.record);
    // Also where the item was completed in a run that was interrupted, and the replay is about
    // nothing any more.
    let first = state.queue.about(&turn.message_id).and_then(|first| first.work_item_id.clone());
    let is_followup = |message: &MessageRecord| {
        continues(message).is_some_and(|failed| failed == turn.message_id)
    };
    let followup = state.queue.waiting().find(|held| held.live && is_followup(&held.record));
    Retry {
        retry_of: turn.retry_of.clone().unwrap_or_else(|| turn.message_id.clone()),
        attempt: turn.attempt + 1,
        failed_run_id: turn.run_id.clone(),
        failed_message_id: turn.message_id.clone(),
        failure: turn
            .reason
            .clone()
            .or_else(|| turn.kind.map(|kind| kind.to_string()))
            .unwrap_or_default(),
        work_item_id: first
            .or_else(|| turn.work_item.as_ref().map(|binding| binding.work_item_id.clone())),
        subject: failed.map(Subject::from_message).unwrap_or_default(),
        due_at: turn
            .completed_at
            .unwrap_or(state.at)
            .plus_ms(policy.failed_turn_backoff_ms.nth_ms(turn.attempt)),
        seq,
        message_id: followup.map(|held| held.record.id.clone()),
    }
}
