//! What the contract requires of time, as a simple model. It knows what was set and what the clock
//! said, and uses nothing of the core.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::time::Timestamp;

/// Something that fired, which means that it became a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fire {
    /// The time of the ledger when it fired.
    pub at: Timestamp,
    /// The id of the timer, item or condition.
    pub what: String,
    /// The instant at which it was due.
    pub due: Timestamp,
}

/// Something that will fire.
#[derive(Clone, Debug)]
struct Armed {
    due: Timestamp,
    every_ms: Option<u64>,
}

/// The model: a clock, what is armed, and what fired.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The latest reading of the clock: the time of a ledger never runs backwards (contract 1.3).
    now: Timestamp,
    /// While stopped or closing nothing fires (contract 4.2, 4.3, 5.20).
    held: bool,
    armed: BTreeMap<String, Armed>,
    /// What has fired but has not started a turn yet.
    waiting: BTreeSet<String>,
    /// The messages that have started turns: a message that starts a second turn is a replay.
    started: BTreeSet<String>,
    in_turn: Option<String>,
    told_behind: bool,
    /// What fired, in order.
    pub fires: Vec<Fire>,
    /// The subjects of the turns that completed, in order.
    pub told: Vec<String>,
    /// The number of reports to the operator that the clock is behind.
    pub behind: usize,
}

impl Model {
    /// The time of the ledger.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The host reads its clock.
    pub fn reads(&mut self, said: Timestamp) {
        if said > self.now {
            (self.now, self.told_behind) = (said, false);
        }
    }

    /// Sets whether the agent may not act, because it is stopped or closing.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Arms something. What had this name before is withdrawn.
    pub fn set(&mut self, what: &str, due: Timestamp, every_ms: Option<u64>) {
        self.withdraw(what);
        self.armed.insert(what.to_owned(), Armed { due, every_ms });
    }

    /// Withdraws something: it fires no more, and its waiting message starts no turn (contract
    /// 5.20).
    pub fn withdraw(&mut self, what: &str) {
        self.armed.remove(what);
        self.waiting.remove(what);
    }

    /// The agent wakes while its clock says `said`.
    pub fn looks(&mut self, said: Timestamp) {
        self.reads(said);
        // contract 1.3: a clock that is more than a minute behind is reported once.
        if said.plus_ms(60_000) < self.now && !self.told_behind {
            (self.behind, self.told_behind) = (self.behind + 1, true);
        }
        self.fire();
    }

    /// A message starts a turn, so its subject no longer waits.
    pub fn starts(&mut self, message: &str, what: Option<&str>) {
        // Arrivals come first, before every decision (contract 7.2).
        self.fire();
        self.in_turn = what.map(ToOwned::to_owned);
        if let (true, Some(what)) = (self.started.insert(message.to_owned()), what) {
            self.waiting.remove(what);
        }
        self.fire();
    }

    /// The turn completes.
    pub fn completes(&mut self) {
        self.told.extend(self.in_turn.take());
        self.fire();
    }

    /// The turn ends early: a stop aborts it and it owes nothing more, or a restart interrupts it
    /// and it replays.
    pub fn breaks_off(&mut self) {
        self.in_turn = None;
    }

    /// The next wake of the agent.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let next = self
            .armed
            .iter()
            .filter(|(what, _)| !self.waiting.contains(*what))
            .map(|(_, armed)| armed.due)
            .min();
        next.filter(|_| !self.held)
    }

    /// What fired and has started no turn, although nothing withdrew it.
    #[must_use]
    pub fn waiting(&self) -> Vec<&str> {
        self.waiting.iter().map(String::as_str).collect()
    }

    /// Everything that is due fires once, unless its last fire still waits (contract 5.17, 5.20).
    fn fire(&mut self) {
        if self.held {
            return;
        }
        let due = self
            .armed
            .iter()
            .filter(|(what, armed)| armed.due <= self.now && !self.waiting.contains(*what));
        let due: Vec<_> = due.map(|(what, armed)| (what.clone(), armed.clone())).collect();
        for (what, armed) in due {
            self.fires.push(Fire { at: self.now, what: what.clone(), due: armed.due });
            self.armed.remove(&what);
            if let Some(step) = armed.every_ms {
                // The next slot of its grid is after now: missed slots are not made up for.
                let mut next = armed.due;
                while next <= self.now {
                    next = next.plus_ms(step);
                }
                self.armed.insert(what.clone(), Armed { due: next, ..armed });
            }
            self.waiting.insert(what);
        }
    }
}
