//! The compiled guest. Its imports are checked before any of it runs.

use std::path::{Path, PathBuf};

use wasmtime::{Engine, PoolConcurrencyLimitError, Trap, component::Component};

use super::{
    limits::{Breach, Limit, Limits, Pool},
    runtime::{Compiler, Runtime},
    world::{IMPORTS, WORLD_VERSION, version_in},
};

/// Why a guest cannot be used, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The file cannot be read.
    #[error("cannot read guest `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// The bytes are not a component.
    #[error("`{name}` is not a WebAssembly component: {why}")]
    NotAComponent {
        /// The file, or what else the bytes came from.
        name: String,
        /// wasmtime's message.
        why: String,
    },
    /// The component was built for another version of the world.
    #[error(
        "guest speaks version {found} of `wakeful:scheduler`, this program speaks version \
         {WORLD_VERSION}: take both from one release"
    )]
    OtherVersion {
        /// The guest's version.
        found: String,
    },
    /// The component imports more than a scheduler needs.
    #[error(
        "guest imports `{import}`, but a scheduler gets only its ledger, clock and provider \
         (version {WORLD_VERSION})"
    )]
    ForeignImport {
        /// The name of the import.
        import: String,
    },
    /// The component does not export what a scheduler must.
    #[error("guest does not export what `{world}` does: {why}")]
    WrongWorld {
        /// The world that was expected.
        world: &'static str,
        /// wasmtime's message.
        why: String,
    },
    /// The instance reached a limit.
    #[error(
        "guest reached {0}; its instance is gone, the ledger is consistent: open the agent in \
         another instance"
    )]
    Breach(#[from] Breach),
    /// The text for the guest is too long. The instance is unchanged.
    #[error("the guest was not called, because the text would reach {0}")]
    TooLong(Breach),
    /// The guest trapped.
    #[error("guest trapped; its instance is gone, the ledger is consistent: {why}")]
    Trapped {
        /// wasmtime's message.
        why: String,
    },
    /// The instance broke down in an earlier call.
    #[error("this instance broke down in an earlier call: open the agent in another instance")]
    Gone,
    /// There is no room for another instance.
    #[error(
        "all {instances} instances of the pool are in use (`instances`): drop one, or compile the \
         guest with a larger pool: {why}"
    )]
    Full {
        /// The size of the pool.
        instances: u32,
        /// wasmtime's message.
        why: String,
    },
    /// An instance does not get the memory that it starts with.
    #[error(
        "there is no room for an instance of the guest ({why}): raise the limit on the addresses \
         or the memory of this process (`ulimit -v`, or that of its container), or use the native \
         engine"
    )]
    NoRoom {
        /// wasmtime's message.
        why: String,
    },
    /// The folder for compiled guests cannot be used.
    #[error("compiled guests cannot be kept in `{}`: {why}", path.display())]
    Cache {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// wasmtime could not be set up on this machine.
    #[error("wasmtime cannot be set up: {why}")]
    Setup {
        /// wasmtime's message.
        why: String,
    },
}

impl GuestError {
    /// Wraps a failure of wasmtime itself.
    pub(crate) fn from_setup(why: wasmtime::Error) -> Self {
        Self::Setup { why: format!("{why:#}") }
    }

    /// Classifies a failed call. The instance cannot be entered again.
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

    /// Classifies a failed start of an instance whose exports are right.
    pub(crate) fn from_start(why: &wasmtime::Error, guest: &Guest, limits: Limits) -> Self {
        if why.is::<Breach>() || why.is::<Trap>() {
            return Self::from_call(why, guest, limits);
        }
        let why_text = format!("{why:#}");
        if why.is::<PoolConcurrencyLimitError>() {
            return Self::Full { instances: guest.runtime.pool().instances, why: why_text };
        }
        Self::NoRoom { why: why_text }
    }

    /// Classifies a failed instantiation.
    pub(crate) fn from_instantiation(
        why: &wasmtime::Error,
        guest: &Guest,
        world: &'static str,
    ) -> Self {
        // An instance can reach its limit on memory before its first call.
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

/// A compiled guest, which can be instantiated any number of times.
#[derive(Clone)]
pub struct Guest {
    runtime: Runtime,
    component: Component,
}

impl Guest {
    /// Compiles the guest in a file, in a runtime of its own.
    ///
    /// # Errors
    /// If the file cannot be read, is not a component, or imports anything foreign.
    pub fn load(path: &Path) -> Result<Self, GuestError> {
        Runtime::new(Pool::default())?.load(path)
    }

    /// Checks a component that `runtime` compiled.
    ///
    /// # Errors
    /// If it imports anything foreign.
    pub(super) fn checked(runtime: Runtime, component: Component) -> Result<Self, GuestError> {
        let mut imports = imports(&component, runtime.engine()).into_iter();
        match imports.find(|import| !IMPORTS.contains(&import.as_str())) {
            // The version first: the imports of another version would look like foreign ones.
            Some(import) => Err(match version_in(&import) {
                Some(found) if found != WORLD_VERSION => {
                    GuestError::OtherVersion { found: found.to_owned() }
                }
                _ => GuestError::ForeignImport { import },
            }),
            None => Ok(Self { runtime, component }),
        }
    }

    /// The compiler that compiled the guest.
    #[must_use]
    pub fn compiler(&self) -> Compiler {
        self.runtime.compiler()
    }

    /// The engine that the guest was compiled for.
    pub(crate) fn engine(&self) -> &Engine {
        self.runtime.engine()
    }

    /// The compiled component.
    pub(crate) fn component(&self) -> &Component {
        &self.component
    }

    /// The names of the guest's imports, sorted.
    #[must_use]
    pub fn imports(&self) -> Vec<String> {
        imports(&self.component, self.engine())
    }
}

fn imports(component: &Component, engine: &Engine) -> Vec<String> {
    let kind = component.component_type();
    let mut names: Vec<String> = kind.imports(engine).map(|(name, _)| name.to_owned()).collect();
    names.sort();
    names
}
