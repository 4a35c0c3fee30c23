//! The guest, compiled: checked for what it imports before any of it runs.

use std::path::{Path, PathBuf};

use wasmtime::{Engine, PoolConcurrencyLimitError, Trap, component::Component};

use super::{
    limits::{Breach, Limit, Limits, Pool},
    runtime::{Compiler, Runtime},
};

/// The version of the world that this host speaks: the folder of `wasm/wit` that it is made from.
pub const WORLD_VERSION: &str = "0.1.0";

/// All that the guest may import.
pub const IMPORTS: [&str; 3] = [
    "wakeful:scheduler/clock@0.1.0",
    "wakeful:scheduler/ledger@0.1.0",
    "wakeful:scheduler/provider@0.1.0",
];

/// Why a guest cannot be used, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The file cannot be read.
    #[error("cannot read guest `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The bytes are no component.
    #[error("`{name}` is not a WebAssembly component: {why}")]
    NotAComponent {
        /// What was to be loaded.
        name: String,
        /// Why.
        why: String,
    },
    /// The component was made for another version of the world.
    #[error(
        "guest speaks version {found} of `wakeful:scheduler`, this program version \
         {WORLD_VERSION}: take both from one release"
    )]
    OtherVersion {
        /// Its version.
        found: String,
    },
    /// The component asks for more than a scheduler needs.
    #[error(
        "guest imports `{import}`, but a scheduler gets nothing besides its ledger, clock and \
         provider (version 0.1.0)"
    )]
    ForeignImport {
        /// What it asks for.
        import: String,
    },
    /// The component does not offer what a scheduler offers.
    #[error("guest does not export what `{world}` does: {why}")]
    WrongWorld {
        /// What it should be.
        world: &'static str,
        /// Why.
        why: String,
    },
    /// The instance reached a limit.
    #[error(
        "guest reached {0}; its instance is gone, the ledger is consistent: open the agent in \
         another one"
    )]
    Breach(#[from] Breach),
    /// What was said to the guest is too long; the instance is as it was.
    #[error("nothing was said to the guest, since it would reach {0}")]
    TooLong(Breach),
    /// The guest trapped.
    #[error("guest trapped; its instance is gone, the ledger is consistent: {why}")]
    Trapped {
        /// How.
        why: String,
    },
    /// The instance broke down in an earlier call.
    #[error("this instance broke down in an earlier call; open the agent in another one")]
    Gone,
    /// There is no room for another instance.
    #[error(
        "there are {instances} instances already (`instances` of the pool); drop one, or compile \
         the guest for more: {why}"
    )]
    Full {
        /// How many there may be.
        instances: u32,
        /// Why.
        why: String,
    },
    /// wasmtime could not be set up on this machine.
    #[error("wasmtime cannot be set up: {why}")]
    Setup {
        /// Why.
        why: String,
    },
}

impl GuestError {
    /// wasmtime did not do what it always does.
    pub(crate) fn from_setup(why: wasmtime::Error) -> Self {
        Self::Setup { why: format!("{why:#}") }
    }

    /// What a failed call means; the instance cannot be entered again.
    pub(crate) fn from_call(why: &wasmtime::Error, guest: &Guest, limits: Limits) -> Self {
        let breach = |limit, most| Self::Breach(Breach { limit, most });
        match why.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => breach(Limit::Fuel, limits.fuel_per_call),
            Some(Trap::Interrupt) => breach(Limit::Time, limits.call_ms),
            Some(Trap::StackOverflow) => {
                breach(Limit::Stack, guest.runtime.pool().stack_bytes as u64)
            }
            _ => why.downcast_ref::<Breach>().map_or_else(
                || Self::Trapped { why: format!("{why:#}") },
                |breach| Self::Breach(*breach),
            ),
        }
    }

    /// What a failed instantiation means.
    pub(crate) fn from_instantiation(
        why: &wasmtime::Error,
        guest: &Guest,
        world: &'static str,
    ) -> Self {
        if let Some(breach) = why.downcast_ref::<Breach>() {
            return Self::Breach(*breach);
        }
        let why_text = format!("{why:#}");
        if why.is::<PoolConcurrencyLimitError>() {
            return Self::Full { instances: guest.runtime.pool().instances, why: why_text };
        }
        Self::WrongWorld { world, why: why_text }
    }
}

/// A compiled guest, ready to be instantiated any number of times.
#[derive(Clone)]
pub struct Guest {
    runtime: Runtime,
    component: Component,
}

impl Guest {
    /// Compiles the guest in a file, in a runtime of its own.
    ///
    /// # Errors
    /// Where it cannot be read, is no component, or imports something foreign.
    pub fn load(path: &Path) -> Result<Self, GuestError> {
        Runtime::new(Pool::default())?.load(path)
    }

    /// What `runtime` made of a component.
    ///
    /// # Errors
    /// Where it imports something foreign.
    pub(super) fn checked(runtime: Runtime, component: Component) -> Result<Self, GuestError> {
        let guest = Self { runtime, component };
        match guest.imports().into_iter().find(|import| !IMPORTS.contains(&import.as_str())) {
            Some(import) => Err(
                match import
                    .strip_prefix("wakeful:scheduler/")
                    .and_then(|name| name.split_once('@'))
                {
                    Some((_, found)) if found != WORLD_VERSION => {
                        GuestError::OtherVersion { found: found.to_owned() }
                    }
                    _ => GuestError::ForeignImport { import },
                },
            ),
            None => Ok(guest),
        }
    }

    /// What compiled it.
    #[must_use]
    pub fn compiler(&self) -> Compiler {
        self.runtime.compiler()
    }

    /// The engine that it was compiled for.
    pub(crate) fn engine(&self) -> &Engine {
        self.runtime.engine()
    }

    /// What was compiled.
    pub(crate) fn component(&self) -> &Component {
        &self.component
    }

    /// The names of what the guest imports, sorted.
    #[must_use]
    pub fn imports(&self) -> Vec<String> {
        let kind = self.component.component_type();
        let mut names: Vec<String> =
            kind.imports(self.engine()).map(|(name, _)| name.to_owned()).collect();
        names.sort();
        names
    }
}
