//! What the guests of a process share: wasmtime, set up so that what a guest uses is counted and can be cut short.

use std::{fs, path::Path, thread, time::Duration};

use wasmtime::{Config, Engine, PoolingAllocationConfig, component::Component};

use super::{
    guest::{Guest, GuestError},
    limits::Pool,
};

/// How often the clock of deadlines ticks, in milliseconds.
pub(super) const TICK_MS: u64 = 10;

/// Core modules that a component may consist of: the one that was written, and those that pass calls on.
const MODULES: u32 = 4;

/// wasmtime with a pool of memory. Guests of one runtime share the pool; one runtime in a process is enough.
#[derive(Clone)]
pub struct Runtime {
    engine: Engine,
    pool: Pool,
}

impl Runtime {
    /// Sets wasmtime up.
    ///
    /// # Errors
    /// Where this machine cannot, as where it has no address space for such a pool.
    pub fn new(pool: Pool) -> Result<Self, GuestError> {
        let mut allocation = PoolingAllocationConfig::new();
        let modules = pool.instances.saturating_mul(MODULES);
        allocation.total_component_instances(pool.instances).total_core_instances(modules).total_tables(modules);
        allocation.total_memories(pool.instances).max_memories_per_component(1).max_memory_size(pool.memory_bytes);
        let mut config = Config::new();
        config.consume_fuel(true).epoch_interruption(true).max_wasm_stack(pool.stack_bytes);
        config.memory_reservation(pool.memory_bytes as u64).allocation_strategy(allocation);
        let engine = Engine::new(&config).map_err(GuestError::of_setup)?;
        tick(&engine);
        Ok(Self { engine, pool })
    }

    /// Compiles the guest in a file.
    ///
    /// # Errors
    /// Where it cannot be read, is no component, or imports something foreign.
    pub fn load(&self, path: &Path) -> Result<Guest, GuestError> {
        let bytes = fs::read(path).map_err(|why| GuestError::Unreadable { path: path.to_owned(), why })?;
        self.compile(&bytes, &path.display().to_string())
    }

    /// Compiles the guest in `bytes`; `name` is for messages.
    ///
    /// # Errors
    /// Where it is no component, or imports something foreign.
    pub fn compile(&self, bytes: &[u8], name: &str) -> Result<Guest, GuestError> {
        let component = Component::new(&self.engine, bytes)
            .map_err(|why| GuestError::NotAComponent { name: name.to_owned(), why: format!("{why:#}") })?;
        Guest::checked(self.clone(), component)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn pool(&self) -> Pool {
        self.pool
    }
}

/// Lets the clock of deadlines tick for as long as there is the engine.
fn tick(engine: &Engine) {
    let engine = engine.weak();
    thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(Duration::from_millis(TICK_MS));
        }
    });
}
