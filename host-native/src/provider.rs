//! The provider of a process that executes no turns.

use wakeful_core::{Effect, Provider, ProviderError};

/// Turns are executed elsewhere, by whoever reads the ledger: every call is taken, and nothing is
/// done. What becomes of a turn comes in as facts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elsewhere;

impl Provider for Elsewhere {
    fn carry_out(&mut self, _: &Effect) -> Result<(), ProviderError> {
        Ok(())
    }
}
