//! `cargo xtask bench`: runs the benchmarks and prints a table.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

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
    /// Also write the figures of a whole run into FILE, as docs/performance.md has them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "groups", "against"])]
    page: Option<PathBuf>,
    /// Measure COMMIT too, in turns with this tree, and compare. It is checked out and built below
    /// target/against.
    #[arg(long, value_name = "COMMIT", conflicts_with = "json")]
    against: Option<String>,
    /// Measure only these groups; by default all.
    #[arg(
        value_name = "GROUP",
        value_parser = PossibleValuesParser::new(GROUPS.iter().map(|group| group.name)),
    )]
    groups: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            anstream::eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<bool> {
    let depth = if options.quick { Depth::Quick } else { Depth::Whole };
    let is_meant = |group: &&bench::Group| {
        options.groups.is_empty() || options.groups.iter().any(|name| name == group.name)
    };
    let groups: Vec<_> = GROUPS.iter().filter(is_meant).collect();
    if let Some(commit) = &options.against {
        let compared = bench::against::compare(commit, &groups, depth)?;
        anstream::print!("\n{}", bench::against::table(&compared));
        return Ok(compared.iter().all(|compared| compared.now.holds() != Some(false)));
    }
    let mut figures = Vec::new();
    for group in groups {
        anstream::eprintln!("{}: {}", group.name, group.about);
        figures.extend(group.measure(depth));
    }
    anstream::print!("\n{}", bench::table(&figures));
    let missed = figures.iter().filter(|figure| figure.holds() == Some(false)).count();
    let goals = figures.iter().filter(|figure| figure.goal.is_some()).count();
    anstream::println!("\n{} figures, {goals} goals, {missed} missed", figures.len());
    let cannot_write = |file: &Path, why: io::Error| {
        io::Error::other(format!("cannot write `{}`: {why}", file.display()))
    };
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(&figures).expect("figures are JSON");
        fs::write(file, text + "\n").map_err(|why| cannot_write(file, why))?;
    }
    if let Some(file) = &options.page {
        bench::page::write(file, &figures).map_err(|why| cannot_write(file, why))?;
    }
    Ok(missed == 0)
}
