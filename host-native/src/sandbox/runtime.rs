//! What the guests of a process share: wasmtime, configured to count what a guest uses and to
//! interrupt it.

use std::{fs, path::Path, thread, time::Duration};

use wasmtime::{Config, Engine, PoolingAllocationConfig, Strategy, component::Component};

use super::{
    guest::{Guest, GuestError},
    limits::Pool,
};

/// The period of the deadline clock, in milliseconds.
pub(super) const TICK_MS: u64 = 10;

/// Core modules per component: the one that was written, and adapters that forward calls.
const MODULES: u32 = 4;

/// The guest's whole address space, in bytes. If that much is reserved for each instance, memory
/// accesses need no bounds checks. If the machine has too little address space,
/// [`Pool::memory_bytes`] is reserved and each access is checked.
const WHOLE_MEMORY: u64 = 1 << 32;

/// How wasmtime translates a guest before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compiler {
    /// Machine code by Cranelift, the optimising compiler.
    #[default]
    Cranelift,
    /// Machine code by Winch, the single-pass compiler.
    Winch,
    /// Portable code for the Pulley interpreter, which runs wherever wasmtime does.
    Pulley,
}

impl Compiler {
    /// Whether the same calls use the same fuel as with Cranelift. With Winch they use less: a
    /// memory copy or fill costs one unit there, and one unit per byte elsewhere. (Seen in wasmtime
    /// 48; with a zero price per byte the two are equal.)
    pub(super) fn counts_as_cranelift(self) -> bool {
        self != Self::Winch
    }

    fn configure(self, config: &mut Config) -> wasmtime::Result<()> {
        match self {
            Self::Cranelift => config.strategy(Strategy::Cranelift),
            Self::Winch => config.strategy(Strategy::Winch),
            // Pulley's code is as wide as the machine's pointers.
            Self::Pulley => config.target(if cfg!(target_pointer_width = "64") {
                "pulley64"
            } else {
                "pulley32"
            })?,
        };
        Ok(())
    }
}

/// wasmtime with a pool of memory. Guests of one runtime share the pool, so one runtime per process
/// is enough.
#[derive(Clone)]
pub struct Runtime {
    engine: Engine,
    compiler: Compiler,
    pool: Pool,
}

impl Runtime {
    /// Sets up wasmtime with Cranelift.
    ///
    /// # Errors
    /// As [`Runtime::with`].
    pub fn new(pool: Pool) -> Result<Self, GuestError> {
        Self::with(Compiler::default(), pool)
    }

    /// Sets up wasmtime.
    ///
    /// # Errors
    /// If the machine lacks the address space for the pool, or the compiler does not support its
    /// processor.
    pub fn with(compiler: Compiler, pool: Pool) -> Result<Self, GuestError> {
        let with = |reserved| Self::engine_with(compiler, pool, reserved);
        let engine = with(WHOLE_MEMORY.max(pool.memory_bytes as u64))
            // Some machines lack the address space; there a guest is slower but does the same.
            .or_else(|_| with(pool.memory_bytes as u64))
            .map_err(GuestError::from_setup)?;
        tick(&engine);
        Ok(Self { engine, compiler, pool })
    }

    /// wasmtime with `reserved` bytes of address space for each instance.
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
    /// If the file cannot be read, is not a component, or imports anything foreign.
    pub fn load(&self, path: &Path) -> Result<Guest, GuestError> {
        let bytes =
            fs::read(path).map_err(|why| GuestError::Unreadable { path: path.to_owned(), why })?;
        self.compile(&bytes, &path.display().to_string())
    }

    /// Compiles the guest in `bytes`; `name` is for error messages.
    ///
    /// # Errors
    /// If the bytes are not a component, or the component imports anything foreign.
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

/// Runs the deadline clock for as long as the engine exists.
fn tick(engine: &Engine) {
    // Weak, so that the thread ends when the last user of the engine is gone.
    let engine = engine.weak();
    thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            // Not held during the sleep, so that the engine can be dropped.
            drop(engine);
            thread::sleep(Duration::from_millis(TICK_MS));
        }
    });
}
