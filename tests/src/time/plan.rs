//! A seeded plan: what becomes due, and what happens to host and clock meanwhile.

use crate::dice::Dice;

/// A day in milliseconds.
pub const DAY_MS: u64 = 24 * HOUR_MS;

const HOUR_MS: u64 = 60 * MINUTE_MS;
const MINUTE_MS: u64 = 60_000;

/// The number of days of a plan.
const DAYS: u64 = 30;

/// A kind of thing that becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A timer that fires once.
    Once,
    /// A timer that fires at an interval, in milliseconds.
    Every(u64),
    /// A timed rest: a one-shot timer that a turn sets as its last act (contract 5.20).
    Rest,
    /// The recheck of a blocked item. Its turn sets the next recheck after this number of
    /// milliseconds, or completes the item if there is none.
    Recheck(Option<u64>),
    /// The wait of an item for an event that does not come, with `expires_at`.
    Deadline,
    /// The wait of an item for an instant.
    Instant,
    /// The wait of an item for a timer that it names.
    Named,
    /// A wait of the agent itself with `expires_at`; the next one supersedes it.
    Agent,
}

/// A thing that becomes due some time after it was set.
#[derive(Clone, Debug)]
pub struct Due {
    /// Its id, and that of its item, timer or condition.
    pub id: String,
    /// What becomes due.
    pub kind: Kind,
    /// The delay after it was set, in milliseconds; 0 is at once.
    pub after_ms: u64,
}

/// An event of the agent, its host or its clock.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The thing with this number is set; a timed rest is set by the next turn that ends.
    Set(usize),
    /// The thing with this number is withdrawn, in whatever state it is.
    Withdraw(usize),
    /// The process ends and another one opens the ledger.
    Restart {
        /// The number of appends until then, so that the process may die in the middle of
        /// something.
        after: u32,
        /// Whether the process was asked to shut down.
        graceful: bool,
        /// How long no process runs, in milliseconds. If it is not 0, the restart is at once and
        /// `after` does not count.
        down_ms: u64,
    },
    /// The host's clock jumps by this number of milliseconds.
    Jump(i64),
    /// The next turn that starts takes until `EndLong`.
    Long,
    /// A long turn ends.
    EndLong,
    /// The operator stops the agent.
    Stop,
    /// The operator starts it again.
    Start,
}

/// A plan of thirty days.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What becomes due, by number.
    pub dues: Vec<Due>,
    /// What happens, in order: milliseconds after the beginning, by a clock that does not jump.
    pub events: Vec<(u64, Event)>,
}

impl Plan {
    /// The plan of a seed: equal seeds give equal plans.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut dice = Dice::of_seed(seed);
        let mut plan = Self { dues: Vec::new(), events: Vec::new() };
        for (count, name) in [
            (300, "once"),
            (80, "every"),
            (100, "rest"),
            (180, "recheck"),
            (150, "deadline"),
            (100, "instant"),
            (60, "named"),
            (30, "agent"),
        ] {
            for n in 0..count {
                let due = Due {
                    id: format!("{name}-{n}"),
                    kind: kind(name, &mut dice),
                    after_ms: delay(&mut dice),
                };
                plan.set(due, &mut dice);
            }
        }
        plan.befalls(&mut dice);
        plan.events.sort_by_key(|(at, _)| *at);
        plan
    }

    fn set(&mut self, due: Due, dice: &mut Dice) {
        let number = self.dues.len();
        // Half of them are set on the full hour, so that many are set and due together.
        let span = (DAYS - 2) * DAY_MS;
        let at =
            if dice.one_in(2) { dice.below(span / HOUR_MS) * HOUR_MS } else { dice.below(span) };
        let withdrawn =
            if dice.one_in(8) { Some(dice.below(2 * due.after_ms.max(MINUTE_MS))) } else { None };
        self.events.push((at, Event::Set(number)));
        self.events.extend(withdrawn.map(|after| (at + after, Event::Withdraw(number))));
        self.dues.push(due);
    }

    /// Adds a hundred restarts, clock jumps in both directions, long turns, and stops.
    fn befalls(&mut self, dice: &mut Dice) {
        let span = DAYS * DAY_MS;
        for n in 0..100 {
            let down_ms = if n % 10 == 0 { 1 + dice.below(DAY_MS / 2) } else { 0 };
            let restart = Event::Restart {
                after: u32::try_from(dice.below(9)).unwrap_or(0),
                graceful: dice.one_in(3),
                down_ms,
            };
            self.events.push((dice.below(span), restart));
        }
        for _ in 0..20 {
            let ms =
                [30_000, 61_000, 10 * MINUTE_MS, HOUR_MS, 12 * HOUR_MS, 2 * DAY_MS][dice.index(6)];
            let ms = i64::try_from(ms + dice.below(1_000)).unwrap_or(0);
            self.events.push((dice.below(span), Event::Jump(ms)));
            self.events.push((dice.below(span), Event::Jump(-ms)));
        }
        for _ in 0..30 {
            let at = dice.below(span);
            self.events.push((at, Event::Long));
            self.events.push((at + dice.below(DAY_MS), Event::EndLong));
        }
        for _ in 0..8 {
            let at = dice.below(span);
            self.events.push((at, Event::Stop));
            self.events.push((at + dice.below(DAY_MS / 4), Event::Start));
        }
        self.events.push((span + 2 * DAY_MS, Event::EndLong));
        self.events.push((span + 2 * DAY_MS, Event::Start));
    }
}

fn kind(name: &str, dice: &mut Dice) -> Kind {
    match name {
        "once" => Kind::Once,
        "every" => Kind::Every(
            [6 * HOUR_MS, 8 * HOUR_MS, DAY_MS, DAY_MS, 2 * DAY_MS, 7 * DAY_MS, 19_023_001]
                [dice.index(7)],
        ),
        "rest" => Kind::Rest,
        "recheck" => Kind::Recheck(if dice.one_in(3) { Some(1 + delay(dice)) } else { None }),
        "deadline" => Kind::Deadline,
        "instant" => Kind::Instant,
        "named" => Kind::Named,
        _ => Kind::Agent,
    }
}

/// A delay in milliseconds: at once, or within minutes, hours or days.
fn delay(dice: &mut Dice) -> u64 {
    match dice.below(20) {
        0 => 0,
        1..=5 => dice.below(60) * MINUTE_MS,
        6..=12 => dice.below(48) * HOUR_MS / 2,
        _ => dice.below(5 * DAY_MS),
    }
}
