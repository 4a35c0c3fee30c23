//! Editions: named orders of the same rules (contract 7.3).

use crate::{
    ladder::{
        atom::{Atom, NO_RUNNABLE_WORK},
        rule::{self, Rule, RuleOutcome},
        view::View,
    },
    record::edition::Edition,
};

impl Edition {
    /// The rules of this edition, in order. The guard of the last one always holds.
    #[must_use]
    pub fn rules(self) -> &'static [Rule] {
        match self {
            Self::Pages20260527 => &PAGES_2026_05_27,
            Self::Rfc20260508 => &RFC_2026_05_08,
        }
    }

    /// Whether work comes before waits that only rest; follows from the order of the rules.
    #[must_use]
    pub fn work_before_waits(self) -> bool {
        let row = |id| self.rules().iter().position(|rule| rule.id == id);
        // Every edition has both rules, so this compares two places.
        row(rule::CONTINUE_ACTIVE.id) < row(rule::AGENT_EXTERNAL_WAIT.id)
    }

    /// The conditions of a rule that can fail in this edition. If waits come before work, it does
    /// not matter to a wait whether there is work.
    pub fn conditions_of(self, rule: &Rule) -> impl Iterator<Item = &'static Atom> {
        let ignores_work = !self.work_before_waits();
        rule.guard.iter().filter(move |atom| !ignores_work || atom.name != NO_RUNNABLE_WORK.name)
    }

    /// The active wait above this row, if there is one. What the row would do is then held, not
    /// enabled (contract 7.3).
    #[must_use]
    pub fn wait_above(self, row: &str, view: &View) -> Option<&'static str> {
        let above = self.rules().iter().take_while(|rule| !rule.id.starts_with(row));
        let mut waits = above
            // Rules that only wait have the number 8 (contract 7.2).
            .filter(|rule| rule.id.starts_with("8.") && rule.evaluate(view) == RuleOutcome::Fired);
        waits.next().map(|rule| rule.id)
    }
}

static PAGES_2026_05_27: [Rule; 21] = [
    rule::STOPPED,
    rule::CLOSING,
    rule::INTERJECTION,
    rule::RUN_OPEN,
    rule::STALE_TICK,
    rule::REPLAY_BUDGET,
    rule::HEAD_STARTS_TURN,
    rule::HEAD_REDUCED,
    rule::WAKE_HINT,
    rule::CONTINUE_ACTIVE,
    rule::QUEUED_AVAILABLE,
    rule::SYSTEM_WAIT,
    rule::AGENT_EXTERNAL_WAIT,
    rule::TIMER_WAIT,
    rule::OPERATOR_WAIT,
    rule::TASK_WAIT,
    rule::EXTERNAL_WAIT,
    rule::ITEM_TIMER_WAIT,
    rule::QUEUE_NOT_EMPTY,
    rule::REST_STAY_IDLE,
    rule::REST_SLEEP,
];

static RFC_2026_05_08: [Rule; 21] = [
    rule::STOPPED,
    rule::CLOSING,
    rule::INTERJECTION,
    rule::RUN_OPEN,
    rule::STALE_TICK,
    rule::REPLAY_BUDGET,
    rule::HEAD_STARTS_TURN,
    rule::HEAD_REDUCED,
    // contract 7.3: here active waits come before hints and work.
    rule::AGENT_EXTERNAL_WAIT,
    rule::TIMER_WAIT,
    rule::WAKE_HINT,
    rule::CONTINUE_ACTIVE,
    rule::QUEUED_AVAILABLE,
    rule::SYSTEM_WAIT,
    rule::OPERATOR_WAIT,
    rule::TASK_WAIT,
    rule::EXTERNAL_WAIT,
    rule::ITEM_TIMER_WAIT,
    rule::QUEUE_NOT_EMPTY,
    rule::REST_STAY_IDLE,
    rule::REST_SLEEP,
];
