//! Which engine drives an agent.

use wakeful_core::{Clock, Ledger, Provider};

use super::{Engine, EngineError, Native};
#[cfg(feature = "sandbox")]
use crate::sandbox::{Guest, Limits, Sandbox};

/// What the agents of a host are driven by. Each agent gets an engine of its own.
#[derive(Clone)]
pub enum Engines {
    /// The core of this program.
    Native,
    /// An instance of the guest, each within these limits.
    #[cfg(feature = "sandbox")]
    Sandboxed(Guest, Limits),
}

impl Engines {
    /// Starts an engine over what the host lends to it.
    ///
    /// # Errors
    /// Where the guest does not offer what a scheduler offers, or there is no room for another
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
