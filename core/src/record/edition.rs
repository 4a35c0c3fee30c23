//! Editions: named orders of the rules (contract 7.3).

use crate::tagged::names;

names! {
    /// An order of the rules.
    #[derive(Default)]
    pub enum Edition {
        /// The order of the pages of that date; the default.
        #[default]
        Pages20260527 = "2026-05-27",
        /// The order of the RFC of that date: active waits stand above hints and work.
        Rfc20260508 = "2026-05-08",
    }
}

impl Edition {
    /// Whether an item without progress is offered again after a while (contract 9.4).
    #[must_use]
    pub fn has_offers(self) -> bool {
        self != Self::Rfc20260508
    }
}
