//! Retries: what a failed turn owes (contract 5.6).

use alloc::{string::ToString, vec::Vec};

use crate::{
    id::{MessageId, Seq},
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

impl State {
    /// The retry that this message makes.
    #[must_use]
    pub fn retry_by(&self, message: &MessageId) -> Option<&Retry> {
        self.retry_of(message, true)
    }

    /// The retry that follows the failure of this message.
    #[must_use]
    pub fn retry_after(&self, failed: &MessageId) -> Option<&Retry> {
        self.retry_of(failed, false)
    }

    /// The calls that may have run in earlier runs of a message's lineage, oldest first (contract
    /// 5.23): those of the failed turns that it retries, and of its interrupted runs.
    #[must_use]
    pub fn unknown_calls_for(&self, message: &MessageId) -> Vec<UnknownCall> {
        let mut interrupted = self.turns.interrupted.iter().rev();
        // An interrupted run had those of the retry before it already.
        interrupted
            .find(|run| run.message_id == *message)
            .map(|run| &run.unknown_calls)
            .or_else(|| self.retry_by(message).map(|retry| &retry.unknown_calls))
            .cloned()
            .unwrap_or_default()
    }

    /// Folds the settlement of a message: its interrupted runs are no longer owed, and its retry is
    /// done.
    pub(super) fn fold_settled(&mut self, message: &MessageId) {
        self.turns.message_settled(message);
        // In a settlement the terminal came before: a retry that it owes anew has another message,
        // or none yet.
        if let Some(lineage) = self.retry_by(message).map(|retry| retry.retry_of.clone()) {
            self.set_retried(&lineage);
        }
    }

    /// Folds a queued message. If it continues after a failed one, it takes the place of the retry.
    pub(super) fn fold_followup(&mut self, message: &MessageRecord) {
        let Some(failed) = continues(message) else { return };
        // contract 5.6: the first follow-up takes the place, and a second one is a duplicate.
        let owed = self.retry_after(&failed).filter(|retry| retry.message_id.is_none());
        let lineage = owed.map(|retry| retry.retry_of.clone());
        if let Some(retry) = lineage.and_then(|lineage| self.turns.retries.remove(&lineage)) {
            self.set_owed(Retry { message_id: Some(message.id.clone()), ..retry });
        }
    }

    /// Sets the retry that its lineage owes.
    pub(super) fn set_owed(&mut self, retry: Retry) {
        let lineage = retry.retry_of.clone();
        self.turns.retries.insert(lineage.clone(), retry);
        self.list_retry(&lineage);
    }

    /// Folds that a lineage owes no retry any more.
    pub(super) fn set_retried(&mut self, lineage: &MessageId) {
        if self.turns.retries.remove(lineage).is_some() {
            self.list_retry(lineage);
        }
    }
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
