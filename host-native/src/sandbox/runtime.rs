//! What the guests of a process share: wasmtime, configured to count what a guest uses and to
//! interrupt it.

use std::{fs, iter, path::Path, thread, time::Duration};

use wasmtime::{
    Cache, CacheConfig, Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    Strategy, component::Component,
};

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

/// The address space that a pool leaves for the rest of the program, if it cannot have all that it
/// asks for.
const ROOM: usize = 1 << 30;

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

    /// As [`Runtime::new`], and keeps compiled guests in this folder: a guest that was compiled
    /// before is read from there. wasmtime's cache finds it by a hash of the guest, of wasmtime's
    /// version and of its settings, so a file of another version is never used. The folder may be
    /// deleted at any time.
    ///
    /// What is in the folder is run as machine code. So only this user may write to it: if it is
    /// missing it is made so, and otherwise it is checked.
    ///
    /// # Errors
    /// As [`Runtime::with`], and if the folder cannot be used.
    pub fn cached(pool: Pool, folder: &Path) -> Result<Self, GuestError> {
        let unusable = |why: String| GuestError::Cache { path: folder.to_owned(), why };
        own_folder(folder).map_err(unusable)?;
        // wasmtime takes only absolute paths.
        let real = folder.canonicalize().map_err(|why| unusable(why.to_string()))?;
        let mut config = CacheConfig::new();
        config.with_directory(real);
        let cache = Cache::new(config).map_err(|why| unusable(format!("{why:#}")))?;
        Self::made(Compiler::default(), pool, Some(&cache))
    }

    /// Sets up wasmtime. If this process lacks the address space for the pool, the pool has fewer
    /// instances ([`Runtime::pool`]). If it lacks that for any pool, each instance takes its memory
    /// when it starts.
    ///
    /// # Errors
    /// If the compiler does not support the machine's processor.
    pub fn with(compiler: Compiler, pool: Pool) -> Result<Self, GuestError> {
        Self::made(compiler, pool, None)
    }

    fn made(compiler: Compiler, pool: Pool, cache: Option<&Cache>) -> Result<Self, GuestError> {
        let (engine, pool) = Self::set_up(compiler, pool, cache).map_err(GuestError::from_setup)?;
        tick(&engine);
        Ok(Self { engine, compiler, pool })
    }

    fn set_up(
        compiler: Compiler,
        pool: Pool,
        cache: Option<&Cache>,
    ) -> wasmtime::Result<(Engine, Pool)> {
        let configured = |compiler, pool, reserved| configured(compiler, pool, reserved, cache);
        let whole = WHOLE_MEMORY.max(pool.memory_bytes as u64);
        if let Ok(engine) = configured(compiler, pool, Some(whole)) {
            return Ok((engine, pool));
        }
        let room = Pool { instances: 1, memory_bytes: ROOM, ..pool };
        let fewer = |instances: &u32| Some(instances / 2).filter(|instances| *instances > 0);
        for instances in iter::successors(Some(pool.instances), fewer) {
            let smaller = Pool { instances, ..pool };
            // A guest whose accesses are checked is slower but does the same.
            let engine = configured(compiler, smaller, Some(pool.memory_bytes as u64));
            let Ok(engine) = engine else { continue };
            // A pool that takes the last addresses would leave none to compile the guest with.
            if configured(compiler, room, Some(ROOM as u64)).is_ok() {
                return Ok((engine, smaller));
            }
        }
        Ok((configured(compiler, pool, None)?, pool))
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

    /// The pool. It has fewer instances than was asked for if there was no room for more.
    #[must_use]
    pub fn pool(&self) -> Pool {
        self.pool
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn compiler(&self) -> Compiler {
        self.compiler
    }
}

/// wasmtime with `reserved` bytes of address space for each instance of the pool; `None` if each
/// instance takes its memory when it starts.
fn configured(
    compiler: Compiler,
    pool: Pool,
    reserved: Option<u64>,
    cache: Option<&Cache>,
) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config.cache(cache.cloned());
    config.consume_fuel(pool.counts_fuel).epoch_interruption(true).max_wasm_stack(pool.stack_bytes);
    if let Some(reserved) = reserved {
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
        config.memory_reservation(reserved).allocation_strategy(allocation);
    } else {
        // The memory moves when it grows, so nothing is reserved around it.
        config
            .allocation_strategy(InstanceAllocationStrategy::OnDemand)
            .memory_reservation(0)
            .memory_reservation_for_growth(0)
            .memory_guard_size(0);
    }
    compiler.configure(&mut config)?;
    Engine::new(&config)
}

/// Makes a folder that only this user may write to, or checks that this one is so.
#[cfg(unix)]
fn own_folder(folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|why| why.to_string())?;
    let found = fs::metadata(folder).map_err(|why| why.to_string())?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    match (is_own, found.mode() & 0o022) {
        (true, 0) => Ok(()),
        (true, _) => Err("others may write to it: take the right away (chmod go-w)".to_owned()),
        (false, _) => Err("it belongs to another user: name a folder of your own".to_owned()),
    }
}

/// Makes a folder. Windows keeps the folders of a user for that user.
#[cfg(not(unix))]
fn own_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|why| why.to_string())
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
