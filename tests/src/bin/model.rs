//! `cargo xtask model`: searches the states that the real machine can reach, and prints their
//! number and whether a property is violated.

use std::{io::IsTerminal, path::PathBuf, process::ExitCode};

use clap::{Parser, builder::PossibleValuesParser};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use wakeful_tests::{
    model::{self, Bounds, Report, adversary::Adversary, cast::Cast, openings, ways},
    paths,
};

/// Search the states that the machine can reach, breadth first, and check each batch, each ranking
/// and each way to rest.
///
/// A violation is printed and written to a file as the shortest scenario that shows it, ready for
/// `tests/scenarios`.
///
/// `model --shapes 50000 --adversary window` shows how a seeded mistake is found.
#[derive(Parser)]
#[command(
    name = "model",
    after_help = "exit code: 0 nothing is broken, 1 something is or it could not be written, \
                  2 the command line is wrong"
)]
struct Options {
    /// Stop after N shapes.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    shapes: usize,
    /// Stop after N moves.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    depth: usize,
    /// Start from nothing, with a small cast.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(Cast::SMALL.map(|(name, _)| name)),
    )]
    small: Option<String>,
    /// Write scenarios into this folder; by default target/model of the source tree.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    /// Let the checker find a seeded mistake.
    #[arg(long, value_name = "NAME")]
    adversary: Option<Adversary>,
    /// Print one line of JSON.
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
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
        "{bar:40} {pos}/{len} shapes, {msg}, {elapsed} elapsed, {eta} left",
    ) {
        bar.set_style(style);
    }
    let report = model::search(&bounds, |far| {
        bar.set_position(far.shapes as u64);
        bar.set_message(format!("{} walked to rest", far.rested));
    });
    bar.finish_and_clear();
    // Several threads are not in step, so their first finding may be a long way. One thread alone
    // finds a shortest one.
    let is_long = report.finding.is_some() && bounds.threads > 1;
    let report =
        if is_long { model::search(&Bounds { threads: 1, ..bounds }, |_| {}) } else { report };
    let folder = options.write.unwrap_or_else(|| paths::tree("target/model"));
    let written = report.finding.as_ref().map(|finding| ways::write(finding, &folder)).transpose();
    if let Err(why) = &written {
        anstream::eprintln!(
            "error: cannot write the scenario into `{}`: {why}; name another folder with --write",
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
        format!("{edge} of them at the edge: there are more")
    };
    let verdict = if finding.is_some() { "BROKEN" } else { "nothing is broken" };
    anstream::println!(
        "{openings} openings, {shapes} shapes, {transitions} transitions, {depth} moves deep, \
         {end}"
    );
    anstream::println!(
        "from {rested} shapes, every kind of answer leads to rest in at most {steps_to_rest} \
         appends, from {rested_at_edge} more as far as no answer is needed; {seconds:.0} s; \
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
