//! Editions: named orders of the same rules (contract 7.3).

use serde::{Deserialize, Serialize};

use super::rule::{self, Rule};

/// An order of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Edition {
    /// The order of the pages of that date; the default.
    #[default]
    #[serde(rename = "2026-05-27")]
    Pages20260527,
}

impl Edition {
    /// Its rules, in order. The guard of the last one always holds.
    #[must_use]
    pub fn rules(self) -> &'static [Rule] {
        match self {
            Self::Pages20260527 => &PAGES_2026_05_27,
        }
    }
}

static PAGES_2026_05_27: [Rule; 19] = [
    rule::STOPPED,
    rule::CLOSING,
    rule::INTERJECTION,
    rule::RUN_OPEN,
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
