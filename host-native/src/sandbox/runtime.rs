//! What the guests of a process share: wasmtime, set up so that what a guest uses is counted and
//! can be cut short.

use std::{fs, path::Path, thread, time::Duration};

use wasmtime::{Config, Engine, PoolingAllocationConfig, Strategy, component::Component};

use super::{
    guest::{Guest, GuestError},
    limits::Pool,
};

/// How often the clock of deadlines ticks, in milliseconds.
pub(super) const TICK_MS: u64 = 10;

/// Core modules that a component may consist of: the one that was written, and those that pass
/// calls on.
const MODULES: u32 = 4;

/// What a guest can address, in bytes. Where so much address space is reserved for each, no access
/// needs a check of its own; where the machine has not got it, [`Pool::memory_bytes`] is reserved,
/// and each access is checked.
const WHOLE_MEMORY: u64 = 1 << 32;

/// What wasmtime makes of a guest before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compiler {
    /// Machine code by Cranelift, the optimising compiler.
    #[default]
    Cranelift,
    /// Machine code by Winch, the compiler in one pass.
    Winch,
    /// Portable code for the interpreter Pulley, which runs wherever wasmtime does.
    Pulley,
}

impl Compiler {
    /// Whether the same calls use the same fuel as with Cranelift. With Winch they use less: a copy
    /// or a fill of memory costs one unit there, and one for each byte elsewhere (seen in wasmtime
    /// 48; without the price of bytes the two are equal).
    pub(super) fn counts_as_cranelift(self) -> bool {
        self != Self::Winch
    }

    fn configure(self, config: &mut Config) -> wasmtime::Result<()> {
        match self {
            Self::Cranelift => config.strategy(Strategy::Cranelift),
            Self::Winch => config.strategy(Strategy::Winch),
            // The interpreter's code is as wide as the machine's pointers.
            Self::Pulley => config.target(if cfg!(target_pointer_width = "64") {
                "pulley64"
            } else {
                "pulley32"
            })?,
        };
        Ok(())
    }
}

/// wasmtime with a pool of memory. Guests of one runtime share the pool; one runtime in a process
/// is enough.
#[derive(Clone)]
pub struct Runtime {
    engine: Engine,
    compiler: Compiler,
    pool: Pool,
}

impl Runtime {
    /// Sets wasmtime up, with Cranelift.
    ///
    /// # Errors
    /// As [`Runtime::with`].
    pub fn new(pool: Pool) -> Result<Self, GuestError> {
        Self::with(Compiler::default(), pool)
    }

    /// Sets wasmtime up.
    ///
    /// # Errors
    /// Where this machine cannot, as where it has no address space for such a pool, or where the
    /// compiler does not know its processor.
    pub fn with(compiler: Compiler, pool: Pool) -> Result<Self, GuestError> {
        let with = |reserved| Self::engine_with(compiler, pool, reserved);
        let engine = with(WHOLE_MEMORY.max(pool.memory_bytes as u64))
            .or_else(|_| with(pool.memory_bytes as u64))
            .map_err(GuestError::from_setup)?;
        tick(&engine);
        Ok(Self { engine, compiler, pool })
    }

    /// wasmtime with so many bytes of address space for each instance.
    fn engine_with(compiler: Compiler, pool: Pool, reserved: u64) -> wasmtime::Result<Engine> {
        let mut allocation = PoolingAllocationConfig::new();
        let modules = pool.instances.saturating_mul(MODULES);
        allocation
            .total_component_instances(pool.instances)
            .total_core_instances(modules)
            .total_tables(modules);
        allocation
            .total_memories(pool.instances)
            .max_memories_per_component(1)
            .max_memory_size(pool.memory_bytes);
        let mut config = Config::new();
        config
            .consume_fuel(pool.counts_fuel)
            .epoch_interruption(true)
            .max_wasm_stack(pool.stack_bytes);
        config.memory_reservation(reserved).allocation_strategy(allocation);
        compiler.configure(&mut config)?;
        Engine::new(&config)
    }

    /// Compiles the guest in a file.
    ///
    /// # Errors
    /// Where it cannot be read, is no component, or imports something foreign.
    pub fn load(&self, path: &Path) -> Result<Guest, GuestError> {
        let bytes =
            fs::read(path).map_err(|why| GuestError::Unreadable { path: path.to_owned(), why })?;
        self.compile(&bytes, &path.display().to_string())
    }

    /// Compiles the guest in `bytes`; `name` is for messages.
    ///
    /// # Errors
    /// Where it is no component, or imports something foreign.
    pub fn compile(&self, bytes: &[u8], name: &str) -> Result<Guest, GuestError> {
        let component = Component::new(&self.engine, bytes).map_err(|why| {
            GuestError::NotAComponent { name: name.to_owned(), why: format!("{why:#}") }
        })?;
        Guest::checked(self.clone(), component)
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn compiler(&self) -> Compiler {
        self.compiler
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
