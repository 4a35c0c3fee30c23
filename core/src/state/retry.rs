//! Retries: what a failed turn owes (contract 5.6).

use alloc::{string::ToString, vec::Vec};

use crate::{
    id::Seq,
    record::{
        effect::UnknownCall,
        queue::{
            message::MessageRecord,
            note::{Subject, continues},
        },
        turn::{AbortReason, TurnRecord, TurnTerminalKind},
    },
    state::{State, turn::Retry},
};

/// Whether a settled turn is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owed {
    /// Not retried: it completed, or was ended on purpose.
    Nothing,
    /// Retried once more.
    Retry,
    /// No longer retried: the lineage has used up its retries.
    Exhausted,
}

/// Whether a driver retries after this terminal record.
pub(crate) fn owed(state: &State, turn: &TurnRecord) -> Owed {
    let wanted = turn
        .kind
        .is_some_and(|kind| kind.is_failure() && kind != TurnTerminalKind::BaselineOverBudget);
    let ended_on_purpose = turn.was_aborted_by(AbortReason::OperatorAborted)
        || turn.was_aborted_by(AbortReason::AgentStopped)
        // The same content would be refused again.
        || turn.was_aborted_by(AbortReason::ContentRefused);
    // An imported failure creates no obligation (contract, preface).
    if state.control.live_from.is_none() || !wanted || ended_on_purpose {
        Owed::Nothing
    } else if turn.attempt < state.control.policy.failed_turn_retries.get() {
        Owed::Retry
    } else {
        Owed::Exhausted
    }
}

/// The retry of a turn whose failure the entry at `seq` records. A follow-up of the host that waits
/// already takes its place.
pub(crate) fn next_retry(
    state: &State,
    turn: &TurnRecord,
    unknown_calls: Vec<UnknownCall>,
    seq: Seq,
) -> Retry {
    let policy = &state.control.policy;
    let failed = state.queue.message(&turn.message_id).map(|held| &held.record);
    // The item of the first turn, even if it was completed in an interrupted run: the replay then
    // has no item of its own.
    let first = state.queue.about(&turn.message_id).and_then(|first| first.work_item_id.clone());
    let is_followup = |message: &MessageRecord| {
        continues(message).is_some_and(|failed| failed == turn.message_id)
    };
    let followup = state.queue.waiting().find(|held| held.live && is_followup(&held.record));
    let from = turn.completed_at.unwrap_or(state.at);
    Retry {
        retry_of: turn.retry_of.clone().unwrap_or_else(|| turn.message_id.clone()),
        attempt: turn.attempt + 1,
        failed_run_id: turn.run_id.clone(),
        failed_message_id: turn.message_id.clone(),
        error: None,
        failure: turn
            .reason
            .clone()
            .or_else(|| turn.kind.map(|kind| kind.to_string()))
            .unwrap_or_default(),
        work_item_id: first
            .or_else(|| turn.work_item.as_ref().map(|binding| binding.work_item_id.clone())),
        subject: failed.map(Subject::from_message).unwrap_or_default(),
        from,
        due_at: from.plus_ms(policy.failed_turn_backoff_ms.nth_ms(turn.attempt)),
        seq,
        message_id: followup.map(|held| held.record.id.clone()),
        unknown_calls,
    }
}
