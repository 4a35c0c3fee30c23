//! `counts`: counts instructions and allocations of the hot paths of the native core.

mod callgrind;

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use wakeful_counts::{
    agent::{Ticking, Turns},
    kept::Kept,
    paths::{self, Counted, Meter, Work},
    record,
};
use wakeful_host::engine::Native;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Count what the hot paths of the native core cost, and compare with what is recorded.
#[derive(Parser)]
#[command(
    name = "counts",
    after_help = "exit code: 0 every count is within two per cent, 1 one is not, 2 nothing was \
                  counted"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Count every path, and compare with FILE
    Check {
        /// The recorded counts
        file: PathBuf,
        /// Record the new counts in FILE instead
        #[arg(long)]
        bless: bool,
    },
    /// Play each path on the ledgers in FOLDER, under Callgrind
    #[command(hide = true)]
    Play {
        /// A folder that `check` filled
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Check { file, bless } => check(&file, bless),
        Command::Play { folder } => {
            paths::count(&mut Allocations, &mut |name| {
                Kept::read(&ledger(&folder, name)).expect("`counts check` wrote it")
            });
            Ok(true)
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn check(file: &Path, bless: bool) -> io::Result<bool> {
    let folder = tempfile::tempdir()?;
    // Prepared apart, because all of it would be many times slower under Callgrind.
    paths::ledgers().try_for_each(|(name, kept)| kept.write(&ledger(folder.path(), &name)))?;
    let counts = callgrind::count(folder.path())?;
    record::check(file, &counts, bless)
}

fn ledger(folder: &Path, name: &str) -> PathBuf {
    folder.join(name.replace(' ', "-"))
}

/// Prints the path and its allocations, while Callgrind counts the instructions.
struct Allocations;

impl Meter for Allocations {
    type Engine = Native<Kept, Ticking, Turns>;

    fn over(&self, ledger: Kept, turns: Turns) -> Self::Engine {
        Native::new(ledger, Ticking::default(), turns)
    }

    fn count(&mut self, path: &str, agent: &mut Counted<Self>, work: Work<'_, Self>) {
        let mut made = 0;
        callgrind::during(&mut || {
            let region = Region::new(ALLOCATOR);
            work(agent);
            let change = region.change();
            made = change.allocations + change.reallocations;
        });
        println!("{path}: {made}");
    }
}
