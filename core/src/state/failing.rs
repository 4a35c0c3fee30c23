//! Turns that fail in a row for one cause, so that the operator hears of it (I26).

use crate::{
    record::turn::{AbortReason, TurnRecord, TurnTerminalKind},
    state::{
        State,
        retry::{self, Owed},
        turn::Failing,
    },
};

/// The number of turns of one owner that may fail in a row for one cause before that is reported.
pub const MOST: u64 = 3;

/// The cause of a failed turn; `None` if it did not fail, or was ended on purpose.
#[must_use]
pub fn cause(turn: &TurnRecord) -> Option<TurnTerminalKind> {
    let on_purpose = [
        AbortReason::OperatorAborted,
        AbortReason::AgentStopped,
        // It has a diagnostic of its own.
        AbortReason::ContentRefused,
    ];
    turn.kind
        .filter(|kind| kind.is_failure())
        .filter(|_| !on_purpose.iter().any(|reason| turn.was_aborted_by(*reason)))
}

/// The number of turns of the owner that have failed in a row with this one, since the operator was
/// last told.
fn count_with(state: &State, turn: &TurnRecord, cause: TurnTerminalKind) -> u64 {
    let owner = turn.work_item.as_ref().map(|binding| &binding.work_item_id);
    let before = state
        .turns
        .failing
        .iter()
        .find(|failing| failing.work_item_id.as_ref() == owner && failing.cause == cause);
    before.map_or(0, |failing| failing.count) + 1
}

/// Whether the batch of this terminal must name the cause.
pub(crate) fn is_reported(state: &State, turn: &TurnRecord) -> bool {
    // Exhausted retries are reported in the same batch, with the cause.
    cause(turn).is_some_and(|cause| count_with(state, turn, cause) >= MOST)
        && retry::owed(state, turn) != Owed::Exhausted
}

/// Folds the terminal of a run that a driver opened.
pub(crate) fn fold(state: &mut State, turn: &TurnRecord) {
    let owner = turn.work_item.as_ref().map(|binding| binding.work_item_id.clone());
    let now = cause(turn);
    let count = now.map(|cause| {
        let count = count_with(state, turn, cause);
        let told = count >= MOST || retry::owed(state, turn) == Owed::Exhausted;
        if told { 0 } else { count }
    });
    // A turn that was ended on purpose says nothing about the cause of the others.
    if now.is_some() || turn.kind == Some(TurnTerminalKind::Completed) {
        state.turns.failing.retain(|failing| failing.work_item_id != owner);
    }
    if let (Some(cause), Some(count)) = (now, count.filter(|count| *count > 0)) {
        state.turns.failing.push(Failing { work_item_id: owner, cause, count });
    }
}
