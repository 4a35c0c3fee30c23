//! The provider of a process that executes no turns.

use wakeful_core::{Effect, Provider, ProviderError};

/// A provider that accepts every call and does nothing. Another process reads the ledger, executes
/// the turns, and proposes the facts about them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elsewhere;

impl Provider for Elsewhere {
    fn carry_out(&mut self, _: &Effect) -> Result<(), ProviderError> {
        Ok(())
    }
}
