//! What the contract demands of time, as a plain list: it knows what was set and what the clock
//! said, and nothing of the core.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::time::Timestamp;

/// Something that became a message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fire {
    /// The time of the ledger at which it did.
    pub at: Timestamp,
    /// What.
    pub what: String,
    /// The instant that it was due for.
    pub due: Timestamp,
}

/// What is set.
#[derive(Clone, Debug)]
struct Armed {
    due: Timestamp,
    every_ms: Option<u64>,
}

/// The model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The latest that the clock has said: for the ledger no clock runs backwards (contract 1.3).
    now: Timestamp,
    /// While stopped or closing nothing fires (contract 4.2, 4.3, 5.20).
    held: bool,
    armed: BTreeMap<String, Armed>,
    /// What fired and has not started a turn yet.
    waiting: BTreeSet<String>,
    /// The messages that have started turns: one that starts another replays.
    started: BTreeSet<String>,
    in_turn: Option<String>,
    told_behind: bool,
    /// What fired, in order.
    pub fires: Vec<Fire>,
    /// What a turn was told of that completed, in order.
    pub told: Vec<String>,
    /// How often the operator was told that the clock is behind.
    pub behind: usize,
}

impl Model {
    /// The time of the ledger.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The clock says something.
    pub fn reads(&mut self, said: Timestamp) {
        if said > self.now {
            (self.now, self.told_behind) = (said, false);
        }
    }

    /// The agent may act, or may not.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Something is set; what had its name before is gone.
    pub fn set(&mut self, what: &str, due: Timestamp, every_ms: Option<u64>) {
        self.withdraw(what);
        self.armed.insert(what.to_owned(), Armed { due, every_ms });
    }

    /// It is withdrawn: it fires no more, and what waits of it starts no turn (contract 5.20).
    pub fn withdraw(&mut self, what: &str) {
        self.armed.remove(what);
        self.waiting.remove(what);
    }

    /// The agent looks what there is to do, while its clock says `said`.
    pub fn looks(&mut self, said: Timestamp) {
        self.reads(said);
        // contract 1.3: more than a minute behind is told once.
        if said.plus_ms(60_000) < self.now && !self.told_behind {
            (self.behind, self.told_behind) = (self.behind + 1, true);
        }
        self.fire();
    }

    /// A message starts a turn; what it told of waits no longer.
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

    /// The turn is broken off by a stop and owes nothing more, or interrupted by a restart and
    /// replays.
    pub fn breaks_off(&mut self) {
        self.in_turn = None;
    }

    /// When the agent is to be woken.
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

    /// What fired and started no turn, though nothing withdrew it.
    #[must_use]
    pub fn waiting(&self) -> Vec<&str> {
        self.waiting.iter().map(String::as_str).collect()
    }

    /// Whatever is due fires, once, unless its last fire still waits (contract 5.17, 5.20).
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
                // The first slot of its grid after now: what was missed is missed.
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
