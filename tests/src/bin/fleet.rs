//! `cargo xtask fleet`: agents on three servers of one store in PostgreSQL, under faults.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use wakeful_tests::{
    fleet::{self, Programs, Size},
    load,
};

/// Run agents on three servers of one store, while servers and the primary fail.
///
/// The store is a PostgreSQL with two synchronous standbys, and each server is `wakeful serve` in a
/// process of its own. Servers are killed, cut off from the store, or paused, for longer than their
/// lease; the primary is killed, and a standby takes its place. Meanwhile clients deliver to any
/// server, and hosts and a model run the turns. In the end every ledger is verified.
#[derive(Parser)]
#[command(
    name = "fleet",
    after_help = "exit code: 0 nothing was lost, doubled or run in vain, 1 otherwise, 2 the command \
                  line is wrong"
)]
struct Options {
    /// Agents of the store.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    agents: usize,
    /// Deliveries in a second. Two cores bear about 60. Beyond that, times say how long the queue
    /// is.
    #[arg(long, value_name = "N", default_value_t = 40)]
    rate: usize,
    /// The time before the first fault, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    quiet: u64,
    /// The time with faults, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    seconds: u64,
    /// The time between two faults of servers, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20)]
    faults_each: u64,
    /// The time between two kills of the primary, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    primary_each: u64,
    /// Have this Patroni elect the primary, whose node is killed and stopped in turn.
    #[arg(long, value_name = "FILE")]
    patroni: Option<PathBuf>,
    /// Give each server a namespace of the network, in which it is cut off from the store. It needs
    /// root.
    #[arg(long)]
    namespaces: bool,
    /// An older program, with which all servers begin. They are replaced one by one.
    #[arg(long, value_name = "FILE")]
    older: Option<PathBuf>,
    /// The program to serve with.
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let size = Size {
        agents: options.agents.max(2),
        rate: options.rate.max(1),
        quiet: Duration::from_secs(options.quiet),
        time: Duration::from_secs(options.seconds),
        faults_each: Duration::from_secs(options.faults_each.max(1)),
        primary_each: Duration::from_secs(options.primary_each.max(1)),
        in_namespaces: options.namespaces,
    };
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(why) => return load::judged(Err(why.into())),
    };
    let programs = Programs {
        server: &options.program,
        older: options.older.as_deref(),
        patroni: options.patroni.as_deref(),
    };
    let found = fleet::run(programs, folder.path(), size);
    if found.as_ref().map_or(true, |found| !found.beyond.is_empty()) {
        anstream::eprintln!("the logs of the servers are in {}", folder.keep().display());
    }
    load::judged(found)
}
