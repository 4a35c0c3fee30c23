//! The guest, compiled: checked for what it imports before any of it runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wasmtime::{Config, Engine, Trap, component::Component};

use super::limits::Limits;

/// All that the guest may import.
pub const IMPORTS: [&str; 3] = ["wakeful:scheduler/clock@0.1.0", "wakeful:scheduler/ledger@0.1.0", "wakeful:scheduler/provider@0.1.0"];

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
    /// The component asks for more than a scheduler needs.
    #[error("guest imports `{import}`, but a scheduler gets nothing besides its ledger, clock and provider (version 0.1.0)")]
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
    /// The call used up its fuel.
    #[error("guest used up its fuel of {limit} units in one call (limit `fuel_per_call`); the instance is gone, the ledger is consistent")]
    OutOfFuel {
        /// The limit.
        limit: u64,
    },
    /// The guest trapped.
    #[error("guest trapped; the instance is gone, the ledger is consistent: {why}")]
    Trapped {
        /// How.
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
    /// What a failed call means; the instance cannot be entered again.
    pub(crate) fn of_call(why: &wasmtime::Error, limits: Limits) -> Self {
        match why.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Self::OutOfFuel { limit: limits.fuel_per_call },
            _ => Self::Trapped { why: format!("{why:#}") },
        }
    }
}

/// A compiled guest, ready to be instantiated any number of times.
#[derive(Clone)]
pub struct Guest {
    engine: Engine,
    component: Component,
}

impl Guest {
    /// Compiles the guest in a file.
    ///
    /// # Errors
    /// Where it cannot be read, is no component, or imports something foreign.
    pub fn load(path: &Path) -> Result<Self, GuestError> {
        let bytes = fs::read(path).map_err(|why| GuestError::Unreadable { path: path.to_owned(), why })?;
        Self::compile(&bytes, &path.display().to_string())
    }

    /// Compiles the guest in `bytes`; `name` is for messages.
    ///
    /// # Errors
    /// Where it is no component, or imports something foreign.
    pub fn compile(bytes: &[u8], name: &str) -> Result<Self, GuestError> {
        let mut config = Config::new();
        config.consume_fuel(true);
        let engine = Engine::new(&config).map_err(|why| GuestError::Setup { why: format!("{why:#}") })?;
        let component =
            Component::new(&engine, bytes).map_err(|why| GuestError::NotAComponent { name: name.to_owned(), why: format!("{why:#}") })?;
        let guest = Self { engine, component };
        match guest.imports().into_iter().find(|import| !IMPORTS.contains(&import.as_str())) {
            Some(import) => Err(GuestError::ForeignImport { import }),
            None => Ok(guest),
        }
    }

    /// The engine that it was compiled for.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What was compiled.
    pub(crate) fn component(&self) -> &Component {
        &self.component
    }

    /// The names of what the guest imports, sorted.
    #[must_use]
    pub fn imports(&self) -> Vec<String> {
        let kind = self.component.component_type();
        let mut names: Vec<String> = kind.imports(&self.engine).map(|(name, _)| name.to_owned()).collect();
        names.sort();
        names
    }
}
