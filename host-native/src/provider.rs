//! The provider of a process that executes no turns.

use wakeful_core::{
    host::{Provider, ProviderError},
    id::{MessageId, RunId},
    record::{effect::TurnRequest, turn::AbortReason},
};

/// Turns are executed elsewhere, by whoever reads the ledger: every call is taken, and nothing is done. What becomes of a turn comes in as
/// facts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Elsewhere;

impl Provider for Elsewhere {
    fn start_turn(&mut self, _: &TurnRequest) -> Result<(), ProviderError> {
        Ok(())
    }

    fn interject(&mut self, _: &RunId, _: &MessageId) -> Result<(), ProviderError> {
        Ok(())
    }

    fn yield_turn(&mut self, _: &RunId) -> Result<(), ProviderError> {
        Ok(())
    }

    fn abort_turn(&mut self, _: &RunId, _: AbortReason) -> Result<(), ProviderError> {
        Ok(())
    }

    fn release(&mut self) -> Result<(), ProviderError> {
        Ok(())
    }
}
