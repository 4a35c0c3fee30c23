//! Obligations: durable reasons not to rest. Derived, never kept (contract 9.1).

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use super::arrival;
use crate::{
    id::Seq,
    ladder::{Boundary, View},
    state::State,
    tagged::names,
    time::Timestamp,
};

names! {
    /// What kind of reason it is.
    pub enum ObligationKind {
        /// A message waits.
        Message,
        /// A timer is due, or will be.
        Timer,
        /// A wake hint is pending.
        WakeHint,
        /// A runnable item was not yet offered.
        RunnableItem,
        /// A run was interrupted and its message has not started another.
        InterruptedRun,
    }
}

/// A durable reason not to rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Obligation {
    /// What kind of reason it is.
    pub kind: ObligationKind,
    /// What it is about: a message, timer, key or run.
    pub id: String,
    /// The entry that made it.
    pub seq: Seq,
    /// When it becomes enabled; already is where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_at: Option<Timestamp>,
}

impl Obligation {
    fn new(kind: ObligationKind, id: impl ToString, seq: Seq) -> Self {
        Self { kind, id: id.to_string(), seq, enabled_at: None }
    }
}

/// All obligations of a state, in the order of the ladder.
#[must_use]
pub fn all(state: &State) -> Vec<Obligation> {
    use ObligationKind as Kind;
    let view = View::of(state, Boundary::RunLoopIdle);
    let mut all: Vec<_> = state.queue.waiting().map(|held| Obligation::new(Kind::Message, &held.record.id, held.seq)).collect();
    let interrupted = state.turns.interrupted.iter();
    all.extend(interrupted.map(|(run, seq)| Obligation::new(Kind::InterruptedRun, run, *seq)));
    let hint = view.hint.filter(|hint| hint.key.spent_by.is_none());
    all.extend(hint.map(|hint| Obligation::new(Kind::WakeHint, hint.key.key, hint.seq)));
    let current = view.current.into_iter().map(|(item, _)| item);
    let offered =
        current.chain(view.queued).filter(|item| item.state == super::readiness::SchedulingState::Runnable && item.key.spent_by.is_none());
    all.extend(offered.map(|item| Obligation::new(Kind::RunnableItem, item.key.key, item.seq)));
    all.extend(
        state.waiting.timers.values().map(|timer| Obligation {
            enabled_at: Some(timer.record.due_at()),
            ..Obligation::new(Kind::Timer, &timer.record.id, timer.seq)
        }),
    );
    all
}

/// The earliest instant after `now` at which something becomes enabled; none while stopped or closing (contract 9.3).
#[must_use]
pub fn next_wake(state: &State, now: Timestamp) -> Option<Timestamp> {
    let control = &state.control;
    if control.stopped.is_some() || control.closing.is_some() {
        return None;
    }
    arrival::next(state).map(|at| at.max(now))
}
