//! Editions: named orders of the rules (contract 7.3).

use crate::tagged::names;

names! {
    /// A named order of the rules.
    #[derive(Default)]
    pub enum Edition {
        /// The default: the order of the pages of that date.
        #[default]
        Pages20260527 = "2026-05-27",
        /// The order of the RFC of that date: active waits come before hints and work.
        Rfc20260508 = "2026-05-08",
    }
}

impl Edition {
    /// Whether active waits come before hints, and so hold them back (contract 7.3).
    #[must_use]
    pub fn waits_before_hints(self) -> bool {
        self == Self::Rfc20260508
    }

    /// Whether an item without progress is offered again after an interval (contract 9.4).
    #[must_use]
    pub fn has_offers(self) -> bool {
        self != Self::Rfc20260508
    }
}
