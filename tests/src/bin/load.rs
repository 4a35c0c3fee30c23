//! `cargo xtask load`: many agents behind one server, under load and under kills.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use wakeful_tests::load::{self, Size};

/// Put load on a server, and print what it costs and whether anything is lost.
///
/// The server is `wakeful serve` in a process of its own. Most of its agents rest. The active ones
/// are delivered to at a steady rate, hosts run their turns, and streams follow them. Then the
/// server is killed again and again while clients repeat what was not acknowledged. In the end
/// every active ledger is verified.
#[derive(Parser)]
#[command(
    name = "load",
    after_help = "exit code: 0 nothing was lost or doubled and each figure is within its limit, \
                  1 otherwise, 2 the command line is wrong"
)]
struct Options {
    /// Agents in the server.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    agents: usize,
    /// Agents that are delivered to.
    #[arg(long, value_name = "N", default_value_t = 100)]
    active: usize,
    /// Deliveries in a second.
    #[arg(long, value_name = "N", default_value_t = 200)]
    rate: usize,
    /// The time of the load, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    seconds: u64,
    /// Open streams.
    #[arg(long, value_name = "N", default_value_t = 500)]
    streams: usize,
    /// Kills under load.
    #[arg(long, value_name = "N", default_value_t = 200)]
    kills: usize,
    /// Judge only counts, and not what takes time or memory.
    #[arg(long)]
    counts: bool,
    /// The program to serve with.
    #[arg(long, value_name = "FILE")]
    program: PathBuf,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let size = Size {
        agents: options.agents.max(options.active).max(1),
        active: options.active.max(1),
        rate: options.rate.max(1),
        time: Duration::from_secs(options.seconds),
        streams: options.streams,
        kills: options.kills,
        only_counts: options.counts,
    };
    let found = tempfile::tempdir()
        .map_err(Into::into)
        .and_then(|folder| load::run(&options.program, folder.path(), size));
    load::judged(found)
}
