//! `cargo xtask bench`: what things cost, each beside something that is measured in the same run.

use std::process::ExitCode;

use clap::Parser;
use wakeful_tests::bench::{self, Depth, GROUPS};

/// Measures what steps, decisions, histories and engines cost.
#[derive(Parser)]
#[command(name = "bench")]
struct Options {
    /// Under three minutes: a tenth of the history, fewer turns.
    #[arg(long)]
    quick: bool,
    /// Only these groups; all where none is named.
    groups: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let depth = if options.quick { Depth::Quick } else { Depth::Whole };
    let mut figures = Vec::new();
    for group in GROUPS.iter().filter(|group| options.groups.is_empty() || options.groups.iter().any(|name| name == group.name)) {
        anstream::eprintln!("{}: {}", group.name, group.about);
        figures.extend(group.measure(depth));
    }
    anstream::print!("{}", bench::table(&figures));
    ExitCode::SUCCESS
}
