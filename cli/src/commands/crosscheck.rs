//! `wakeful crosscheck`: plays each case in each engine, and reports the first difference.

#[cfg_attr(not(feature = "random"), path = "crosscheck/no_random.rs")]
#[macro_use]
mod random;

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use serde::Serialize;

use self::random::{Random, RandomArgs};
use super::{
    CliError, Verdict,
    engines::{Asked, EngineName, GuestArg},
    style::{self, BAD, FAINT, GOOD, STRONG, painted},
    visible::visible,
};
use crate::{
    case::CaseKind,
    compare::Difference,
    crosscheck::{self, LeftOut, Panel, Piece, Pieces, Row},
    source,
};

/// What is played if no case is named, below the root of the source tree.
const BUNDLED: [&str; 2] = ["tests/fixtures", "tests/scenarios"];

/// The most differences that are printed.
const EXPLAINED: usize = 12;

const HELP: &str = concat!(
    "Exit codes:\n\
     \x20 0  all traces are equal\n\
     \x20 1  a trace differs\n\
     \x20 2  the input cannot be used, or the first engine failed\n\
     \x20 3  a named engine cannot run here, or fewer than two engines can\n\n",
    random_help!(),
    "Examples:\n\
     \x20 wakeful crosscheck tests/fixtures --engines native,wasmtime,node\n\
     \x20 wakeful crosscheck tests/fixtures --engines all"
);

#[derive(Args)]
#[command(after_help = HELP)]
pub(super) struct Crosscheck {
    /// Fixture folders, stories (`.toml`, `.json`), scenarios (`.txt`), or folders of these
    #[cfg_attr(
        feature = "random",
        doc = "[default: the cases of the source tree; none with --random]"
    )]
    #[cfg_attr(not(feature = "random"), doc = "[default: the cases of the source tree]")]
    #[arg(value_name = "CASE")]
    cases: Vec<PathBuf>,
    /// The engines, each of which is compared with the first. `all` means those of native,
    /// wasmtime, pulley, winch, node, chromium and python that can run here
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', default_value = "native,wasmtime")]
    engines: Vec<Asked>,
    #[command(flatten)]
    guest: GuestArg,
    #[command(flatten)]
    random: RandomArgs,
    /// List every case, also those without a difference
    #[arg(long, short)]
    verbose: bool,
    /// Print one JSON document: {cases, steps, engines: [name], cannot_run: [{engine, reason}],
    /// left_out: [{case, needs}], differences: [{case, engine, step, path, left, right} or {case,
    /// engine, broke}], random: {seed, stories, steps, written}}
    #[arg(long, conflicts_with = "verbose")]
    json: bool,
}

/// What was played, and the result.
#[derive(Serialize)]
struct Report {
    cases: usize,
    steps: usize,
    /// The engines that ran; the first is the reference.
    engines: Vec<&'static str>,
    cannot_run: Vec<CannotRun>,
    left_out: Vec<LeftOut>,
    differences: Vec<Found>,
    random: Option<Random>,
}

/// A requested engine that cannot run.
#[derive(Serialize)]
struct CannotRun {
    engine: &'static str,
    reason: String,
}

/// A difference of an engine from the reference.
#[derive(Serialize)]
struct Found {
    case: String,
    engine: &'static str,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(untagged)]
enum What {
    Differs(Difference),
    Broke { broke: String },
}

impl Crosscheck {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let Pieces { played: cases, left_out } = self.pieces()?;
        let (mut panel, cannot_run) = self.panel();
        let names = panel.names();
        let progress = style::progress(cases.len() as u64);
        let rows = panel.check(&cases, |playing| {
            progress.set_message(
                playing.first().map_or_else(String::new, |case| visible(case.name()).into_owned()),
            );
            progress.inc(playing.len() as u64);
        })?;
        progress.finish_and_clear();
        let mut differences = found(&cases, &rows, &names);
        let random = self.random.hunt(&mut panel, &mut differences)?;
        let steps = rows.iter().map(|row| row.steps).sum();
        let report = Report {
            cases: cases.len(),
            steps,
            differences,
            engines: names,
            cannot_run,
            left_out,
            random,
        };
        if self.json {
            say!("{}", serde_json::to_string(&report).map_err(|why| CliError::Engine(why.into()))?);
        } else {
            self.print(&cases, &rows, &report);
        }
        Ok(self.verdict(&report))
    }

    fn pieces(&self) -> Result<Pieces, CliError> {
        if !self.cases.is_empty() || self.random.is_asked() {
            return Ok(crosscheck::load(&self.cases)?);
        }
        let bundled: Vec<PathBuf> =
            BUNDLED.iter().filter_map(|cases| source::find(cases)).collect();
        if bundled.is_empty() { Err(CliError::NoCases) } else { Ok(crosscheck::load(&bundled)?) }
    }

    /// The requested engines that can run, and those that cannot.
    fn panel(&self) -> (Panel, Vec<CannotRun>) {
        let mut tracers = Vec::new();
        let mut cannot_run = Vec::new();
        for name in EngineName::all(&self.engines) {
            match self.guest.start(name) {
                Ok(tracer) => tracers.push(tracer),
                Err(why) => {
                    cannot_run.push(CannotRun { engine: name.as_str(), reason: why.to_string() })
                }
            }
        }
        (Panel::new(tracers), cannot_run)
    }

    fn verdict(&self, report: &Report) -> Verdict {
        // With `all`, an engine that cannot run here is not an error.
        let is_named =
            |missing: &CannotRun| self.engines.iter().any(|asked| asked.is(missing.engine));
        if !report.differences.is_empty() {
            Verdict::Differs
        } else if report.engines.len() < 2 || report.cannot_run.iter().any(is_named) {
            Verdict::Incomplete
        } else {
            Verdict::Well
        }
    }

    fn print(&self, cases: &[Piece], rows: &[Row], report: &Report) {
        let missing = report.cannot_run.iter().map(|missing| missing.engine);
        let header: Vec<&str> = ["case", "steps", "decision", "head"]
            .into_iter()
            .chain(report.engines.iter().copied())
            .chain(missing)
            .collect();
        let mut table = style::table(&header);
        let mut equal = BTreeMap::<&str, (usize, usize)>::new();
        let cells = |first: Vec<String>, verdicts: Vec<String>| {
            let reference = report.engines.first().map(|_| "reference".to_owned());
            let missing = report.cannot_run.iter().map(|_| painted(FAINT, "cannot run"));
            first.into_iter().chain(reference).chain(verdicts).chain(missing).collect::<Vec<_>>()
        };
        for (case, row) in cases.iter().zip(rows) {
            // Equal cases are only counted, so that the differences stay visible.
            if !self.verbose && row.is_equal() {
                let (count, steps) = equal.entry(kind(case)).or_default();
                *count += 1;
                *steps += row.steps;
                continue;
            }
            let (decision, head) = row.summary.as_ref().map_or_else(Default::default, |summary| {
                let chain = summary.head.chain.to_string();
                (
                    format!("{:?}", summary.decision.kind),
                    format!("{}@{}", summary.head.seq, chain.get(..8).unwrap_or_default()),
                )
            });
            let first = vec![case.name().to_owned(), row.steps.to_string(), decision, head];
            table.add_row(cells(first, row.verdicts.iter().map(verdict).collect()));
        }
        for (kind, (count, steps)) in equal {
            let first =
                vec![format!("{count} {kind}"), steps.to_string(), String::new(), String::new()];
            table.add_row(cells(
                first,
                vec![painted(GOOD, "equal"); report.engines.len().saturating_sub(1)],
            ));
        }
        if let Some(random) = &report.random {
            let first = vec![
                format!("{} random", random.stories()),
                random.steps().to_string(),
                String::new(),
                String::new(),
            ];
            let cell = if random.written().is_some() {
                painted(BAD, "see below")
            } else {
                painted(GOOD, "equal")
            };
            table.add_row(cells(first, vec![cell; report.engines.len().saturating_sub(1)]));
        }
        style::print(&table);
        if !report.left_out.is_empty() {
            say!("");
        }
        for (needs, names) in by_need(&report.left_out) {
            say!("left out (needs {needs}): {}", names.join(", "));
        }
        for missing in &report.cannot_run {
            say!("\n{} cannot run here: {}", painted(STRONG, missing.engine), missing.reason);
        }
        let reference = report.engines.first().copied().unwrap_or_default();
        report.differences.iter().take(EXPLAINED).for_each(|found| explain(found, reference));
        if let Some(more @ 1..) = report.differences.len().checked_sub(EXPLAINED) {
            say!("\n{more} more differences; --json prints all");
        }
        if let Some(file) = report.random.as_ref().and_then(|random| random.written()) {
            say!(
                "\nwritten to {}: play it with `wakeful crosscheck {}`",
                file.display(),
                file.display()
            );
        }
        let (cases, steps) =
            report.random.as_ref().map_or((0, 0), |random| (random.stories(), random.steps()));
        let (cases, steps) = (cases + report.cases as u64, steps + report.steps as u64);
        say!(
            "\n{cases} cases, {steps} steps, {} engines, {} differences",
            report.engines.len(),
            report.differences.len()
        );
    }
}

fn found(cases: &[Piece], rows: &[Row], names: &[&'static str]) -> Vec<Found> {
    cases.iter().zip(rows).flat_map(|(case, row)| differing(case.name(), row, names)).collect()
}

/// The engines whose trace differs from the first engine's.
fn differing(case: &str, row: &Row, names: &[&'static str]) -> Vec<Found> {
    let all = names.iter().skip(1).zip(&row.verdicts);
    all.filter_map(|(engine, verdict)| {
        let what = match verdict {
            crosscheck::Verdict::Equal => return None,
            crosscheck::Verdict::Differs(difference) => What::Differs(difference.clone()),
            crosscheck::Verdict::Broke(why) => What::Broke { broke: why.clone() },
        };
        Some(Found { case: case.to_owned(), engine, what })
    })
    .collect()
}

/// The scenarios that were left out, by what they need.
fn by_need(left_out: &[LeftOut]) -> BTreeMap<&str, Vec<&str>> {
    let mut all = BTreeMap::<&str, Vec<&str>>::new();
    left_out.iter().for_each(|one| all.entry(&one.needs).or_default().push(&one.name));
    all
}

fn kind(case: &Piece) -> &'static str {
    match case {
        Piece::Scenario(_) => "scenarios",
        Piece::Case(case) => match case.kind {
            CaseKind::Fixture(_) => "fixtures",
            CaseKind::Story(..) => "stories",
        },
    }
}

fn verdict(verdict: &crosscheck::Verdict) -> String {
    match verdict {
        crosscheck::Verdict::Equal => painted(GOOD, "equal"),
        crosscheck::Verdict::Differs(difference) => {
            painted(BAD, &format!("differs at step {}", difference.step))
        }
        crosscheck::Verdict::Broke(_) => painted(BAD, "failed"),
    }
}

fn explain(found: &Found, reference: &str) {
    let (case, engine) = (painted(STRONG, &found.case), found.engine);
    match &found.what {
        What::Broke { broke } => say!("\n{case} in {engine}: the engine failed: {broke}"),
        What::Differs(Difference { step, path, left, right }) => {
            say!("\n{case} in {engine}: first difference at step {step}");
            say!("  {path}");
            let width = reference.len().max(engine.len());
            say!("  {reference:width$}  {}", painted(GOOD, left));
            say!("  {engine:width$}  {}", painted(BAD, right));
        }
    }
}
