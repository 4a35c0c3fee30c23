//! `wakeful crosscheck`: each case in each engine, and the first difference.

use clap::Args;
use serde::Serialize;

use super::{
    Cases, CliError, Verdict,
    engines::{EngineName, GuestArg},
    style::{self, BAD, GOOD, STRONG, painted},
};
use crate::{
    case::{self, Case, CaseKind},
    compare::{self, Difference},
    trace::{Trace, Tracer},
};

#[derive(Args)]
pub(super) struct Crosscheck {
    #[command(flatten)]
    cases: Cases,
    /// The engines; each is compared with the first
    #[arg(long, value_enum, value_delimiter = ',', default_value = "native,wasmtime")]
    engines: Vec<EngineName>,
    #[command(flatten)]
    guest: GuestArg,
    /// Print one JSON document: {cases, engines, differences: [{case, engine, step, path, left, right}]}
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    case: String,
    engine: &'static str,
    step: usize,
    path: String,
    left: String,
    right: String,
}

#[derive(Serialize)]
struct Report {
    cases: usize,
    engines: Vec<&'static str>,
    differences: Vec<Found>,
}

struct Row {
    case: String,
    kind: &'static str,
    steps: usize,
    decision: String,
    head: String,
    verdicts: Vec<Option<Difference>>,
}

impl Crosscheck {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let cases = case::load_all(&self.cases.cases)?;
        let mut tracers = self.engines.iter().map(|engine| self.guest.start(*engine)).collect::<Result<Vec<_>, _>>()?;
        let progress = style::progress(cases.len() as u64);
        let mut rows = Vec::new();
        for case in &cases {
            progress.set_message(case.name.clone());
            rows.push(check(case, &mut tracers)?);
            progress.inc(1);
        }
        progress.finish_and_clear();
        let names: Vec<_> = tracers.iter().map(Tracer::name).collect();
        let differences = found(&rows, &names);
        let verdict = if differences.is_empty() { Verdict::Well } else { Verdict::Differs };
        if self.json {
            let report = Report { cases: rows.len(), engines: names, differences };
            say!("{}", serde_json::to_string(&report).map_err(|why| CliError::Engine(why.into()))?);
        } else {
            print(&rows, &names, &differences);
        }
        Ok(verdict)
    }
}

fn check(case: &Case, tracers: &mut [Tracer]) -> Result<Row, CliError> {
    let traces = tracers
        .iter_mut()
        .map(|tracer| tracer.trace(case).map_err(|why| CliError::Trace { case: case.name.clone(), why }))
        .collect::<Result<Vec<Trace>, _>>()?;
    let first = traces.first();
    let summary = first.and_then(Trace::summary);
    Ok(Row {
        case: case.name.clone(),
        kind: match case.kind {
            CaseKind::Fixture(_) => "fixture",
            CaseKind::Story(..) => "story",
        },
        steps: first.map_or(0, |trace| trace.steps.len()),
        decision: summary.as_ref().map_or_else(String::new, |summary| summary.decision.kind.to_string()),
        head: summary.map_or_else(String::new, |summary| {
            let chain = summary.head.chain.to_string();
            format!("{}@{}", summary.head.seq, chain.get(..8).unwrap_or_default())
        }),
        verdicts: traces.iter().map(|trace| first.and_then(|first| compare::first_difference(first, trace))).collect(),
    })
}

fn found(rows: &[Row], names: &[&'static str]) -> Vec<Found> {
    let all = rows.iter().flat_map(|row| names.iter().zip(&row.verdicts).map(move |(name, verdict)| (row, name, verdict)));
    all.filter_map(|(row, engine, verdict)| {
        let Difference { step, path, left, right } = verdict.clone()?;
        Some(Found { case: row.case.clone(), engine, step, path, left, right })
    })
    .collect()
}

fn print(rows: &[Row], names: &[&'static str], differences: &[Found]) {
    let header: Vec<&str> = ["case", "kind", "steps", "decision", "head"].into_iter().chain(names.iter().copied()).collect();
    let mut table = style::table(&header);
    for row in rows {
        let mut cells = vec![row.case.clone(), row.kind.to_owned(), row.steps.to_string(), row.decision.clone(), row.head.clone()];
        cells.extend(row.verdicts.iter().enumerate().map(|(at, verdict)| match (at, verdict) {
            (0, _) => "reference".to_owned(),
            (_, None) => painted(GOOD, "equal"),
            (_, Some(_)) => painted(BAD, "differs"),
        }));
        table.add_row(cells);
    }
    style::print(&table);
    let reference = names.first().copied().unwrap_or_default();
    for found in differences {
        say!("\n{} in {}: first difference at step {}", painted(STRONG, &found.case), found.engine, found.step);
        say!("  {}", found.path);
        let width = reference.len().max(found.engine.len());
        say!("  {reference:width$}  {}", painted(GOOD, &found.left));
        say!("  {:width$}  {}", found.engine, painted(BAD, &found.right));
    }
    say!("\n{} cases, {} engines, {} differences", rows.len(), names.len(), differences.len());
}
