//! `wakeful trace`: prints what an engine does with a case, for programs. Also writes the bundle
//! that the workbench opens.

use std::{fs, path::PathBuf};

use clap::Args;
use serde::Serialize;
use wakeful_core::foreign::Folder;

use super::{
    Cases, CliError, Verdict,
    engines::EngineArg,
    style::{self, STRONG, painted},
};
use crate::{
    case::{self, Case, CaseKind},
    trace::{Trace, TraceError},
};

/// The most characters of a step's command that are shown.
const SHOWN: usize = 60;

#[derive(Args)]
#[command(after_help = "\
    Prints one JSON object per case and line: {case, steps: [{command, outcome, entries, \
    explanation, fuel_spent}]}. Engines that agree print the same, except for the fuel of \
    those that count it.\n\n\
    Exit codes:\n\
    \x20 0  printed or written\n\
    \x20 2  a case cannot be read, or the engine failed\n\n\
    Examples:\n\
    \x20 wakeful trace tests/fixtures/stories/heartbeat.json\n\
    \x20 wakeful trace stuck --engine wasmtime --fuel\n\
    \x20 wakeful trace tests/fixtures/stories --bundle cases.json")]
pub(super) struct TraceArgs {
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    engine: EngineArg,
    /// Write the cases and their traces to this file, which the workbench can open
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Print a table of the fuel per step instead of the traces, for engines that count it
    #[arg(long, conflicts_with = "bundle")]
    fuel: bool,
}

#[derive(Serialize)]
struct Bundle<'a> {
    cases: Vec<Bundled<'a>>,
}

#[derive(Serialize)]
struct Bundled<'a> {
    case: &'a str,
    kind: &'static str,
    shows: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'a Folder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    story: Option<&'a str>,
    trace: Trace,
}

impl<'a> Bundled<'a> {
    fn new(case: &'a Case, trace: Trace) -> Self {
        let (kind, files, story) = match &case.kind {
            CaseKind::Fixture(folder) => ("fixture", Some(folder), None),
            CaseKind::Story(_, text) => ("story", None, Some(text.as_str())),
        };
        Self { case: &case.name, kind, shows: case.shows(), files, story, trace }
    }
}

impl TraceArgs {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let cases = case::load_all(&self.cases.cases)?;
        let mut tracer = self.engine.start()?;
        let mut bundled = Vec::new();
        for case in &cases {
            let trace = tracer
                .trace(case)
                .map_err(|why| CliError::Trace { case: case.name.clone(), why })?;
            if self.fuel {
                print_fuel(&trace, tracer.name())?;
            } else if self.bundle.is_none() {
                say!("{}", text(&trace)?);
            }
            bundled.push(Bundled::new(case, trace));
        }
        if let Some(file) = &self.bundle {
            let written = fs::write(file, text(&Bundle { cases: bundled })?);
            written
                .map_err(|why| CliError::Write { what: format!("`{}`", file.display()), why })?;
        }
        Ok(Verdict::Well)
    }
}

/// Prints the fuel of each step: of its call and of the explanation after it. It is the same on
/// every run and machine.
fn print_fuel(trace: &Trace, engine: &'static str) -> Result<(), CliError> {
    let mut table = style::table(&["step", "entries", "fuel"]);
    let mut before = 0;
    for step in &trace.steps {
        let spent = step.fuel_spent.ok_or(CliError::NoFuel { engine })?;
        table.add_row([
            step.command.get().chars().take(SHOWN).collect(),
            step.entries.len().to_string(),
            (spent - before).to_string(),
        ]);
        before = spent;
    }
    say!("{}", painted(STRONG, &trace.case));
    style::print(&table);
    say!("{before} in all\n");
    Ok(())
}

fn text<T: Serialize>(value: &T) -> Result<String, CliError> {
    serde_json::to_string(value).map_err(|why| CliError::Engine(TraceError::NotJson(why)))
}
