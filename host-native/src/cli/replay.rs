//! `wakeful replay`: fixtures against their `expected.json`.

use std::{fs, path::PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use similar::{ChangeTag, TextDiff};
use wakeful_core::{host::ErrorReport, ladder::Decision};

use super::{Cases, CliError, Verdict, engines::EngineArg, style};
use crate::case::{self, CaseKind};

#[derive(Args)]
#[command(after_help = "Exit codes: 0 all is as expected, or was written; 1 something differs; 2 a case cannot be read.\n\n\
                        Examples:\n  wakeful replay tests/fixtures/scheduler\n  wakeful replay stuck --update")]
pub(super) struct Replay {
    #[command(flatten)]
    cases: Cases,
    #[command(flatten)]
    engine: EngineArg,
    /// Print one JSON document: a list of {case, ok, expected, found, explanation}
    #[arg(long)]
    json: bool,
    /// Write what was found into the `expected.json` of folders where it differs; review what changed
    #[arg(long)]
    update: bool,
}

/// The part of the core's `Replay` that is read here; the rest is passed through.
#[derive(Deserialize)]
struct Answer {
    expected: Option<Box<RawValue>>,
    found: Box<RawValue>,
    explanation: Box<RawValue>,
}

#[derive(Deserialize)]
struct Refused {
    error: ErrorReport,
}

#[derive(Deserialize)]
struct Explained {
    decision: Decision,
}

#[derive(Serialize)]
struct Row {
    case: String,
    #[serde(skip)]
    path: Option<PathBuf>,
    /// None where nothing is expected.
    ok: Option<bool>,
    expected: Option<Box<RawValue>>,
    found: Box<RawValue>,
    explanation: Box<RawValue>,
}

impl Row {
    /// Writes what was found as what is expected.
    fn write(&self) -> Result<(), CliError> {
        let Some(folder) = &self.path else { return Ok(()) };
        let path = folder.join("expected.json");
        let written = fs::write(&path, pretty(&self.found) + "\n");
        written.map_err(|why| CliError::Write { what: format!("`{}`", path.display()), why })?;
        anstream::eprintln!("written: {}", path.display());
        Ok(())
    }

    fn decision(&self) -> Option<Decision> {
        serde_json::from_str::<Explained>(self.explanation.get()).ok().map(|explained| explained.decision)
    }
}

impl Replay {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let cases = case::load_all(&self.cases.cases)?;
        let mut tracer = self.engine.start()?;
        let mut rows = Vec::new();
        for case in &cases {
            if matches!(case.kind, CaseKind::Story(..)) {
                return Err(CliError::NotAFixture(case.name.clone()));
            }
            let failed = |why| CliError::Trace { case: case.name.clone(), why };
            let trace = tracer.trace(case).map_err(failed)?;
            let outcome = trace.steps.first().map_or("null", |step| step.outcome.get());
            if let Ok(Refused { error }) = serde_json::from_str(outcome) {
                return Err(CliError::Refused { case: case.name.clone(), message: error.message });
            }
            let answer: Answer = serde_json::from_str(outcome).map_err(|why| failed(why.into()))?;
            rows.push(Row {
                case: case.name.clone(),
                path: case.path.clone(),
                ok: answer.expected.as_ref().map(|expected| expected.get() == answer.found.get()),
                expected: answer.expected,
                found: answer.found,
                explanation: answer.explanation,
            });
        }
        if self.json {
            say!("{}", serde_json::to_string(&rows).map_err(|why| CliError::Engine(why.into()))?);
        } else {
            print(&rows);
        }
        if self.update {
            rows.iter().filter(|row| row.ok == Some(false)).try_for_each(Row::write)?;
            return Ok(Verdict::Well);
        }
        Ok(if rows.iter().all(|row| row.ok != Some(false)) { Verdict::Well } else { Verdict::Differs })
    }
}

fn print(rows: &[Row]) {
    let mut table = style::table(&["case", "decision", "reason", "rule", ""]);
    for row in rows {
        let (kind, reason, rule) =
            row.decision().map_or_else(Default::default, |decision| (decision.kind.to_string(), decision.reason, decision.rule));
        let mark = match row.ok {
            Some(true) => style::painted(style::GOOD, "as expected"),
            Some(false) => style::painted(style::BAD, "differs"),
            None => style::painted(style::FAINT, "nothing expected"),
        };
        table.add_row([row.case.clone(), kind, reason, rule, mark]);
    }
    style::print(&table);
    let differing = rows.iter().filter(|row| row.ok == Some(false));
    for (row, expected) in differing.clone().filter_map(|row| Some((row, row.expected.as_ref()?))) {
        print_diff(row, expected);
    }
    let silent = match rows.iter().filter(|row| row.ok.is_none()).count() {
        0 => String::new(),
        count => format!(", {count} expect nothing"),
    };
    say!("\n{} cases, {} differ{silent}", rows.len(), differing.count());
}

/// The lines in which `expected.json` and what was found differ.
fn print_diff(row: &Row, expected: &RawValue) {
    let (expected, found) = (pretty(expected), pretty(&row.found));
    say!(
        "\n{}: expected {}, found {}",
        style::painted(style::STRONG, &row.case),
        style::painted(style::BAD, "-"),
        style::painted(style::GOOD, "+")
    );
    for change in TextDiff::from_lines(&expected, &found).iter_all_changes() {
        let line = change.value().trim_end();
        match change.tag() {
            ChangeTag::Delete => say!("  {}", style::painted(style::BAD, &format!("- {line}"))),
            ChangeTag::Insert => say!("  {}", style::painted(style::GOOD, &format!("+ {line}"))),
            ChangeTag::Equal => {}
        }
    }
}

fn pretty(json: &RawValue) -> String {
    let value = serde_json::from_str::<serde_json::Value>(json.get());
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| json.get().to_owned())
}
