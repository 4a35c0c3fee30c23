//! What is owed: the obligations of a state in the order of the ladder, and the instant of the next
//! wake (contract 9).

use alloc::{string::ToString, vec::Vec};

use crate::{
    derive::{
        arrival, hint,
        obligation::{Obligation, ObligationKind},
    },
    ladder::{View, view::KeyView},
    record::{decision::Boundary, text},
    state::{
        State, autonomy,
        index::List,
        progress,
        readiness::{self, SchedulingState},
    },
    time::Timestamp,
};
use wakeful_json::sort::sort_by_key;

impl State {
    /// The obligations: durable reasons not to rest, in the order of the ladder (contract 9.1).
    #[must_use]
    pub fn obligations(&self) -> Vec<Obligation> {
        all(self)
    }
}

/// All obligations of a state, in the order of the ladder.
#[must_use]
pub fn all(state: &State) -> Vec<Obligation> {
    use ObligationKind as Kind;
    // At the end of time, so that what an instant will enable is owed already.
    let view = View::new(state, Boundary::RunLoopIdle, Timestamp::MAX);
    // contract 16.4: what a budget holds back is owed, and comes when the budget allows.
    let by_budget = |is_held: bool| is_held.then(|| text::HELD_BY_BUDGET.to_string());
    let takeable = state.queue.waiting().filter(|held| autonomy::passes_parking(state, held));
    let mut all: Vec<_> = takeable
        .map(|held| Obligation {
            held_by: by_budget(autonomy::is_held_by_budget(state, held)),
            ..Obligation::new(Kind::Message, &held.record.id, held.seq)
        })
        .collect();
    let (is_parked, is_over) = (autonomy::is_parked(state), autonomy::is_over_budget(state));
    // The open run of an import names no message, so nothing of it can replay.
    let interrupted =
        state.turns.interrupted.iter().filter(|run| !run.message_id.as_str().is_empty());
    all.extend(interrupted.map(|run| {
        let message = state.queue.message(&run.message_id);
        Obligation {
            held_by: by_budget(
                message.is_some_and(|held| autonomy::is_held_by_budget(state, held)),
            ),
            ..Obligation::new(Kind::InterruptedRun, &run.run_id, run.seq)
        }
    }));
    let held = |row: &str| {
        by_budget(is_over)
            .or_else(|| state.control.edition.wait_above(row, &view).map(ToString::to_string))
    };
    let mut owe = |kind, row, key: &KeyView, seq| {
        // contract 9.5: of these obligations, only a hint moves a parked agent.
        if key.spent_by.is_none() && (!is_parked || kind == Kind::WakeHint) {
            all.push(Obligation {
                held_by: held(row),
                enabled_at: key.enabled_at,
                ..Obligation::new(kind, &key.key, seq)
            });
        }
    };
    if let Some(hint) = &view.hint {
        // A hint that arrives by itself is held by nothing.
        let row = if hint::arrives(state) { "1." } else { "4." };
        owe(Kind::WakeHint, row, &hint.key, hint.seq);
    }
    if let Some((item, _)) =
        view.current.as_ref().filter(|(item, _)| item.state == SchedulingState::Runnable)
    {
        owe(Kind::RunnableItem, "5.", &item.key, item.seq);
    }
    view.queued.iter().for_each(|item| owe(Kind::RunnableItem, "6.", &item.key, item.seq));
    view.system_waits.iter().for_each(|wait| owe(Kind::SystemWait, "7.", &wait.key, wait.seq));
    let mut arrivals = arrival::due(state, Timestamp::MAX);
    sort_by_key(&mut arrivals, |arrival| (arrival.kind(), arrival.id()));
    all.extend(arrivals.into_iter().map(|arrival| Obligation {
        enabled_at: Some(arrival.at()),
        ..Obligation::new(arrival.kind(), arrival.id(), arrival.seq())
    }));
    all.extend(state.budgets.renews_at.into_iter().map(|at| {
        let seq = state.budgets.exhausted().map(|(.., seq)| seq).min();
        Obligation {
            enabled_at: Some(at),
            ..Obligation::new(Kind::BudgetDay, "budget_day", seq.unwrap_or(state.head.seq))
        }
    }));
    all
}

/// The earliest instant after `now` at which something becomes enabled; `None` while stopped or
/// closing (contract 9.3).
#[must_use]
pub fn next_wake(state: &State, now: Timestamp) -> Option<Timestamp> {
    let control = &state.control;
    if control.stopped.is_some() || control.closing.is_some() {
        return None;
    }
    // While a run is open, offers become enabled by its end and not by an instant. Otherwise the
    // host would be woken repeatedly for nothing.
    let is_free = state.turns.run.is_none() && !autonomy::is_held(state);
    let enabled = is_free.then(|| enabled_at(state)).flatten();
    // Something may be due already, and then the host should look at once.
    earliest([enabled, arrival::next(state), arrival::stalls_at(state)]).map(|at| at.max(now))
}

/// The earliest instant that enables an offer or the tick of a system wait, unless an active wait
/// holds it back.
fn enabled_at(state: &State) -> Option<Timestamp> {
    // At the end of time everything is enabled that ever will be.
    let view = View::to_decide(state, Boundary::RunLoopIdle, Timestamp::MAX);
    let is_owed = |row| state.control.edition.wait_above(row, &view).is_none();
    let enabled = |key: &KeyView| key.enabled_at.filter(|_| key.spent_by.is_none());
    let current = view.current.as_ref().filter(|(item, _)| item.state == SchedulingState::Runnable);
    // Both lists are sorted by instant, so the first item of each is enough.
    let first_of = |list| {
        progress::next_offer(
            state,
            state.control.edition,
            state.items_in(list, Timestamp::MAX).next()?,
        )
    };
    earliest([
        current.and_then(|(item, _)| enabled(&item.key)).filter(|_| is_owed("5.")),
        earliest([first_of(List::Due), first_of(List::Resting), None]).filter(|_| is_owed("6.")),
        first_tick(state).filter(|_| is_owed("7.")),
    ])
}

/// The instant of the next tick about a system wait.
fn first_tick(state: &State) -> Option<Timestamp> {
    let at = |wait| readiness::tick_at(state, wait);
    // What is due is due now, whichever was first. Those of an import have no instant.
    let due = state.system_waits(List::Ticks, Timestamp::MAX).find_map(at);
    due.or_else(|| state.system_waits(List::LaterTicks, Timestamp::MAX).find_map(at))
}

fn earliest(instants: [Option<Timestamp>; 3]) -> Option<Timestamp> {
    instants.into_iter().flatten().min()
}
