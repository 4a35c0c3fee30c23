//! What is due when: a heap of the instants at which agents next have something to do. Agents that
//! rest for ever are not in it.

use std::{
    collections::BTreeSet,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use wakeful_core::{host::Clock, time::Timestamp};
use wakeful_host::ledger::StoreTime;

/// An agent by its number in this process.
pub(crate) type Number = usize;

/// The longest sleep of a worker. The clock of the machine may be set meanwhile.
const LONGEST: Duration = Duration::from_secs(1);

pub(crate) struct Agenda {
    clock: StoreTime,
    due: Mutex<Due>,
    rang: Condvar,
}

#[derive(Default)]
struct Due {
    by_time: BTreeSet<(Timestamp, Number)>,
    /// When each agent is due, by number.
    of: Vec<Option<Timestamp>>,
    has_ended: bool,
}

impl Agenda {
    pub(crate) fn new(clock: StoreTime) -> Self {
        Self { clock, due: Mutex::default(), rang: Condvar::new() }
    }

    fn time(&self) -> Timestamp {
        self.clock.clone().now()
    }

    /// Says that an agent is due at this instant, or at no instant. What was said before is
    /// forgotten, unless it is earlier and `only_earlier` is set.
    fn put(&self, number: Number, at: Option<Timestamp>, only_earlier: bool) {
        let mut due = self.due();
        if due.of.len() <= number {
            due.of.resize(number + 1, None);
        }
        let before = due.of[number];
        if only_earlier && before.is_some_and(|before| at.is_none_or(|at| before <= at)) {
            return;
        }
        if let Some(before) = before {
            due.by_time.remove(&(before, number));
        }
        due.of[number] = at;
        if let Some(at) = at {
            let is_first = due.by_time.first().is_none_or(|first| (at, number) < *first);
            due.by_time.insert((at, number));
            drop(due);
            // A worker looks again after the longest sleep, and sees what is due later in time.
            let is_soon = at.duration_since(self.time()) <= LONGEST;
            if is_first && is_soon {
                self.rang.notify_one();
            }
        }
    }

    /// The agent is due at this instant and not before.
    pub(crate) fn set(&self, number: Number, at: Option<Timestamp>) {
        self.put(number, at, false);
    }

    /// The agent is due at this instant, if it is not due before.
    pub(crate) fn at_latest(&self, number: Number, at: Timestamp) {
        self.put(number, Some(at), true);
    }

    /// The agent is due now.
    pub(crate) fn now(&self, number: Number) {
        self.at_latest(number, Timestamp::from_nanos(i64::MIN));
    }

    /// Waits for the next agent that is due, and takes it out; `None` after the end.
    pub(crate) fn next(&self) -> Option<Number> {
        let mut due = self.due();
        loop {
            if due.has_ended {
                return None;
            }
            let now = self.time();
            let first = due.by_time.first().copied();
            let Some((at, number)) = first.filter(|(at, _)| *at <= now) else {
                let left = first.map_or(LONGEST, |(at, _)| at.duration_since(now).min(LONGEST));
                let waited = self.rang.wait_timeout(due, left);
                due = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            };
            due.by_time.remove(&(at, number));
            due.of[number] = None;
            // One is woken per new first, so the next worker must learn of what is due behind it.
            if due.by_time.first().is_some_and(|(at, _)| *at <= now) {
                self.rang.notify_one();
            }
            return Some(number);
        }
    }

    /// Ends all waits.
    pub(crate) fn end(&self) {
        self.due().has_ended = true;
        self.rang.notify_all();
    }

    /// The number of agents whose time has come.
    pub(crate) fn late(&self) -> usize {
        let now = self.time();
        self.due().by_time.iter().take_while(|(at, _)| *at <= now).count()
    }

    fn due(&self) -> MutexGuard<'_, Due> {
        // Each change is one statement or leaves both lists in step.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use wakeful_host::clock::SystemClock;

    use super::*;

    #[test]
    fn agents_come_when_they_are_due_the_earliest_first_and_once() {
        let agenda = Agenda::new(StoreTime::System(SystemClock));
        let now = agenda.time();
        agenda.set(2, Some(now));
        agenda.now(0);
        agenda.set(1, Some(now.plus_ms(20)));
        agenda.at_latest(1, now.plus_ms(60_000));
        agenda.set(3, Some(now.plus_ms(60_000)));
        agenda.now(0);
        assert_eq!([agenda.next(), agenda.next(), agenda.next()], [Some(0), Some(2), Some(1)]);
        assert!(agenda.time() >= now.plus_ms(20));
        agenda.set(3, None);
        assert_eq!(agenda.late(), 0);
        agenda.end();
        assert_eq!(agenda.next(), None);
    }
}
