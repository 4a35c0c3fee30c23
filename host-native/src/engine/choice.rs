//! The choice of the engine that drives an agent.

use wakeful_core::{Clock, Ledger, Provider};

use super::{Engine, EngineError, Native};
#[cfg(feature = "sandbox")]
use crate::sandbox::{Guest, Limits, Sandbox};

/// The engine of a host. Each agent gets an engine of its own.
#[derive(Clone)]
pub enum Engines {
    /// The core, compiled into this program.
    Native,
    /// An instance of the guest for each agent, within these limits.
    #[cfg(feature = "sandbox")]
    Sandboxed(Guest, Limits),
}

impl Engines {
    /// Starts an engine over what the host provides.
    ///
    /// # Errors
    /// If the guest does not export what a scheduler must, or there is no room for another
    /// instance.
    pub fn start<L, C, P>(
        &self,
        ledger: L,
        clock: C,
        provider: P,
    ) -> Result<Box<dyn Engine>, EngineError>
    where
        L: Ledger + 'static,
        C: Clock + 'static,
        P: Provider + 'static,
    {
        Ok(match self {
            Self::Native => Box::new(Native::new(ledger, clock, provider)),
            #[cfg(feature = "sandbox")]
            Self::Sandboxed(guest, limits) => {
                Box::new(Sandbox::new(guest, ledger, clock, provider, *limits)?)
            }
        })
    }
}
