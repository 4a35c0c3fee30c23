//! `cargo xtask model`: searches the states that the real machine can come to, and says how many there are and whether all is well.

use std::{io::IsTerminal, path::PathBuf, process::ExitCode};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use wakeful_tests::{
    model::{self, Bounds, Report, adversary::Adversary, cast::Cast, openings, ways},
    paths,
};

/// Searches the states that the machine can come to, breadth first, and checks each batch, each ranking and each way to rest.
///
/// What is found to be broken is printed, and written to a file, as a scenario, the shortest there is: one that `tests/scenarios` could hold as it
/// is.
///
/// `model --shapes 50000 --adversary window` shows it.
#[derive(Parser)]
#[command(
    name = "model",
    after_help = "exit code: 0 nothing is broken, 1 something is or it could not be written, 2 the command line was not understood"
)]
struct Options {
    /// The search ends when so many shapes were found.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    shapes: usize,
    /// It goes so many moves far.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    depth: usize,
    /// Searches the small cast, whose space ends.
    #[arg(long)]
    small: bool,
    /// The folder into which what is broken is written; target/model of the tree without it.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Lets the checker find a seeded mistake.
    #[arg(long, value_name = "NAME")]
    adversary: Option<Adversary>,
    /// Prints one line of JSON.
    #[arg(long)]
    json: bool,
}

/// What is printed for programs.
#[derive(Serialize)]
struct Numbers<'a> {
    shapes: usize,
    transitions: usize,
    depth: usize,
    exhausted: bool,
    steps_to_rest: usize,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let bounds = Bounds {
        cast: if options.small { Cast::SMALL } else { Cast::FULL },
        openings: if options.small { openings::nothing() } else { openings::all() },
        shapes: options.shapes,
        depth: options.depth,
        threads: model::all_cores(),
        adversary: options.adversary,
    };
    let bar = if options.json || !std::io::stderr().is_terminal() { ProgressBar::hidden() } else { ProgressBar::new(bounds.shapes as u64) };
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} shapes, {elapsed} gone, {eta} left") {
        bar.set_style(style);
    }
    let report = model::search(&bounds, |shapes| bar.set_position(shapes as u64));
    bar.finish_and_clear();
    // Several threads are not in step: one alone finds the shortest way first.
    let is_long = report.finding.is_some() && bounds.threads > 1;
    let report = if is_long { model::search(&Bounds { threads: 1, ..bounds }, |_| {}) } else { report };
    let folder = options.write.unwrap_or_else(|| paths::tree("target/model"));
    let written = report.finding.as_ref().map(|finding| ways::write(finding, &folder)).transpose();
    if let Err(why) = &written {
        anstream::eprintln!("error: what is broken cannot be written into {}: {why}; --write names another folder", folder.display());
    }
    told(&report, written.ok().flatten(), options.json);
    ExitCode::from(u8::from(report.finding.is_some()))
}

fn told(report: &Report, written: Option<PathBuf>, as_json: bool) {
    let Report { shapes, transitions, depth, is_exhausted, steps_to_rest, took, finding } = report;
    let seconds = took.as_secs_f64();
    if as_json {
        let broken = finding.as_ref().map(|finding| finding.broken.to_string());
        let scenario = finding.as_ref().map(|finding| finding.scenario.as_str());
        let numbers = Numbers {
            shapes: *shapes,
            transitions: *transitions,
            depth: *depth,
            exhausted: *is_exhausted,
            steps_to_rest: *steps_to_rest,
            seconds,
            broken,
            scenario,
            written: written.map(|file| file.display().to_string()),
        };
        anstream::println!("{}", wakeful_core::json::write(&numbers));
        return;
    }
    let end = if *is_exhausted { "these are all" } else { "there are more" };
    let verdict = if finding.is_some() { "BROKEN" } else { "nothing is broken" };
    anstream::println!(
        "{shapes} shapes, {transitions} transitions, {depth} moves deep, {end}; at most {steps_to_rest} appends to rest; {seconds:.0} s; {verdict}"
    );
    if let Some(finding) = finding {
        anstream::println!("\n{} after {} moves\n\n{}", finding.broken, finding.moves, finding.scenario);
    }
    if let Some(file) = written {
        anstream::println!("written to {}", file.display());
    }
}
