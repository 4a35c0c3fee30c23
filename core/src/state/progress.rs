//! Progress: an item whose turns leave its epoch unchanged rests, is offered again after growing
//! intervals, and is parked in the end (contract 9.4).

use crate::{
    id::WorkItemId,
    record::{
        control::ParkCause,
        edition::Edition,
        turn::{AbortReason, TurnRecord},
    },
    state::{
        State,
        retry::{self, Owed},
        work::{Item, Progress},
    },
    time::Timestamp,
};

/// What a settled turn means for its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It moved, or the turn is tried again.
    Moved,
    /// It rests.
    Rests,
    /// It is parked.
    Parks(ParkCause),
}

/// What this terminal record of the open run means for its item, in the state before its batch.
pub(crate) fn of_turn(state: &State, turn: &TurnRecord) -> Option<(WorkItemId, Step)> {
    let binding = turn.work_item.as_ref().filter(|_| state.control.live_from.is_some())?;
    let item = state.work.items.get(&binding.work_item_id)?;
    let is_unchanged =
        item.epoch() == binding.epoch && !turn.was_aborted_by(AbortReason::AgentStopped);
    let step = if turn.was_aborted_by(AbortReason::OperatorAborted) {
        Step::Parks(ParkCause::OperatorAborted)
    } else if !is_unchanged || retry::owed(state, turn) == Owed::Retry {
        Step::Moved
    } else if state.control.edition.has_offers()
        && item.progress.offer >= state.control.policy.offer_backoff_ms.count()
    {
        Step::Parks(ParkCause::NoProgress)
    } else {
        Step::Rests
    };
    Some((binding.work_item_id.clone(), step))
}

/// When a resting item is offered again; none where it does not rest, or never is (contract 9.4).
pub(crate) fn next_offer(state: &State, edition: Edition, item: &Item) -> Option<Timestamp> {
    let Progress { offer, rest, parked } = &item.progress;
    let is_offered = edition.has_offers() && parked.is_none();
    // Where the policy has fewer offers than there were already, there is one more: a rest ends
    // with an offer, or parked.
    rest.filter(|_| is_offered)
        .map(|rest| rest.since.plus_ms(state.control.policy.offer_backoff_ms.nth_ms(*offer)))
}
