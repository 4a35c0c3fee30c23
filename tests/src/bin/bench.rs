//! `cargo xtask bench`: runs the benchmarks and prints a table.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Parser, builder::PossibleValuesParser};
use wakeful_tests::bench::{self, Depth, GROUPS};

/// Measure what steps, decisions, openings and engines cost.
///
/// Costs are CPU time, or wall time if a disk is involved: the minimum of several turns. Machines
/// differ and are noisy, so every figure is a ratio to something that is measured beside it in the
/// same run.
#[derive(Parser)]
#[command(
    name = "bench",
    after_help = "exit code: 0 every goal is met, 1 one is missed or FILE cannot be written, \
                  2 the command line is wrong"
)]
struct Options {
    /// Measure a tenth of the history in fewer turns: under four minutes.
    #[arg(long)]
    quick: bool,
    /// Also write the figures to FILE as JSON; times are in nanoseconds.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure only these groups; by default all.
    #[arg(
        value_name = "GROUP",
        value_parser = PossibleValuesParser::new(GROUPS.iter().map(|group| group.name)),
    )]
    groups: Vec<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let depth = if options.quick { Depth::Quick } else { Depth::Whole };
    let mut figures = Vec::new();
    for group in GROUPS.iter().filter(|group| {
        options.groups.is_empty() || options.groups.iter().any(|name| name == group.name)
    }) {
        anstream::eprintln!("{}: {}", group.name, group.about);
        figures.extend(group.measure(depth));
    }
    anstream::print!("\n{}", bench::table(&figures));
    let missed = figures.iter().filter(|figure| figure.holds() == Some(false)).count();
    let goals = figures.iter().filter(|figure| figure.goal.is_some()).count();
    anstream::println!("\n{} figures, {goals} goals, {missed} missed", figures.len());
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(&figures).expect("figures are JSON");
        if let Err(why) = fs::write(file, text + "\n") {
            anstream::eprintln!("error: cannot write `{}`: {why}", file.display());
            return ExitCode::FAILURE;
        }
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
