//! The `wakeful` command.

use std::process::ExitCode;

/// Gives memory back to the system. With that of glibc, a server whose agents rest would keep the
/// memory of all states that it ever had at once (docs/performance.md).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // A confined command starts as this program, which restricts itself and then becomes the
    // command.
    #[cfg(target_os = "linux")]
    if let Some(could_not) = wakeful_agent::confine::launched() {
        return could_not;
    }
    wakeful::commands::main()
}
