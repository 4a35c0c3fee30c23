//! Progress: an item whose turns leave its epoch unchanged rests. It is offered again after growing
//! intervals, and parked in the end (contract 9.4).

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

/// The effect of a settled turn on its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The item moved, or the turn will be retried.
    Moved,
    /// The item rests.
    Rests,
    /// The item is parked.
    Parks(ParkCause),
}

/// The effect of this terminal record on the item of its run, in the state before its batch.
pub(crate) fn of_turn(state: &State, turn: &TurnRecord) -> Option<(WorkItemId, Step)> {
    let binding = turn.work_item.as_ref().filter(|_| state.control.live_from.is_some())?;
    let item = state.work.items.get(&binding.work_item_id)?;
    // contract 8.2: the fold moves the epoch of an item whose turn a stop aborted, but only after
    // this.
    let is_unchanged =
        item.epoch() == binding.epoch && !turn.was_aborted_by(AbortReason::AgentStopped);
    // contract 9.4: an abort that the operator asked for parks the item even if it has moved.
    let step = if turn.was_aborted_by(AbortReason::OperatorAborted) {
        Step::Parks(ParkCause::OperatorAborted)
    } else if !is_unchanged || retry::owed(state, turn) == Owed::Retry {
        Step::Moved
    // Not only if equal: a new policy may have fewer offers than the item has had.
    } else if state.control.edition.has_offers()
        && item.progress.offer >= state.control.policy.offer_backoff_ms.count()
    {
        Step::Parks(ParkCause::NoProgress)
    } else {
        Step::Rests
    };
    Some((binding.work_item_id.clone(), step))
}

/// When a resting item is offered next. `None` if it does not rest, or is never offered again
/// (contract 9.4).
pub(crate) fn next_offer(state: &State, edition: Edition, item: &Item) -> Option<Timestamp> {
    let Progress { offer, rest, parked } = &item.progress;
    let is_offered = edition.has_offers() && parked.is_none();
    // If the policy now has fewer offers than were made, there is one more: a rest ends with an
    // offer or by parking.
    rest.filter(|_| is_offered)
        .map(|rest| rest.since.plus_ms(state.control.policy.offer_backoff_ms.nth_ms(*offer)))
}
