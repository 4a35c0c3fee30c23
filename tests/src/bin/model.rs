//! `cargo xtask model`: searches the states that the real machine can come to, and says how many
//! there are and whether all is well.

use std::{io::IsTerminal, path::PathBuf, process::ExitCode};

use clap::{Parser, builder::PossibleValuesParser};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use wakeful_tests::{
    model::{self, Bounds, Report, adversary::Adversary, cast::Cast, openings, ways},
    paths,
};

/// Searches the states that the machine can come to, breadth first, and checks each batch, each
/// ranking and each way to rest.
///
/// What is found to be broken is printed, and written to a file, as a scenario, the shortest there
/// is: one that `tests/scenarios` could hold as it is.
///
/// `model --shapes 50000 --adversary window` shows it.
#[derive(Parser)]
#[command(
    name = "model",
    after_help = "exit code: 0 nothing is broken, 1 something is or it could not be written, 2 \
                  the command line was not understood"
)]
struct Options {
    /// The search ends when so many shapes were found.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    shapes: usize,
    /// It goes so many moves far.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    depth: usize,
    /// Searches from nothing, with this small cast.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Cast::SMALL.map(|(name, _)| name)))]
    small: Option<String>,
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
    openings: usize,
    shapes: usize,
    transitions: usize,
    depth: usize,
    exhausted: bool,
    edge: usize,
    rested: usize,
    rested_at_edge: usize,
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
    let small =
        options.small.and_then(|asked| Cast::SMALL.into_iter().find(|(name, _)| *name == asked));
    let bounds = Bounds {
        cast: small.map_or(Cast::FULL, |(_, cast)| cast),
        openings: if small.is_some() { vec![openings::NOTHING] } else { openings::ALL.to_vec() },
        shapes: options.shapes,
        depth: options.depth,
        threads: model::all_cores(),
        adversary: options.adversary,
    };
    let bar = if options.json || !std::io::stderr().is_terminal() {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(bounds.shapes as u64)
    };
    if let Ok(style) = ProgressStyle::with_template(
        "{bar:40} {pos}/{len} shapes, {msg}, {elapsed} gone, {eta} left",
    ) {
        bar.set_style(style);
    }
    let report = model::search(&bounds, |far| {
        bar.set_position(far.shapes as u64);
        bar.set_message(format!("{} walked to rest", far.rested));
    });
    bar.finish_and_clear();
    // Several threads are not in step: one alone finds the shortest way first.
    let is_long = report.finding.is_some() && bounds.threads > 1;
    let report =
        if is_long { model::search(&Bounds { threads: 1, ..bounds }, |_| {}) } else { report };
    let folder = options.write.unwrap_or_else(|| paths::tree("target/model"));
    let written = report.finding.as_ref().map(|finding| ways::write(finding, &folder)).transpose();
    if let Err(why) = &written {
        anstream::eprintln!(
            "error: what is broken cannot be written into {}: {why}; --write names another folder",
            folder.display()
        );
    }
    told(&report, written.ok().flatten(), options.json);
    ExitCode::from(u8::from(report.finding.is_some()))
}

fn told(report: &Report, written: Option<PathBuf>, as_json: bool) {
    let Report {
        openings,
        shapes,
        transitions,
        depth,
        edge,
        rested,
        rested_at_edge,
        steps_to_rest,
        took,
        finding,
    } = report;
    let seconds = took.as_secs_f64();
    if as_json {
        let broken = finding.as_ref().map(|finding| finding.broken.to_string());
        let scenario = finding.as_ref().map(|finding| finding.scenario.as_str());
        let numbers = Numbers {
            openings: *openings,
            shapes: *shapes,
            transitions: *transitions,
            depth: *depth,
            exhausted: report.is_exhausted(),
            edge: *edge,
            rested: *rested,
            rested_at_edge: *rested_at_edge,
            steps_to_rest: *steps_to_rest,
            seconds,
            broken,
            scenario,
            written: written.map(|file| file.display().to_string()),
        };
        anstream::println!("{}", wakeful_core::json::write(&numbers));
        return;
    }
    let end = if report.is_exhausted() {
        "these are all".to_owned()
    } else {
        format!("{edge} of them at the edge, there are more")
    };
    let verdict = if finding.is_some() { "BROKEN" } else { "nothing is broken" };
    anstream::println!(
        "{openings} openings, {shapes} shapes, {transitions} transitions, {depth} moves deep, \
         {end}"
    );
    anstream::println!(
        "from {rested} shapes, whatever kind of answer comes, at most {steps_to_rest} appends \
         lead to rest, from {rested_at_edge} more as far as none is needed; {seconds:.0} s; \
         {verdict}"
    );
    if let Some(finding) = finding {
        anstream::println!(
            "\n{} after {} moves\n\n{}",
            finding.broken,
            finding.moves,
            finding.scenario
        );
    }
    if let Some(file) = written {
        anstream::println!("written to {}", file.display());
    }
}
