//! `wakeful replay`: compares fixtures with their `expected.json`, or a ledger with another
//! edition of the rules.

use std::{collections::BTreeSet, fs, path::PathBuf};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use similar::{ChangeTag, TextDiff};
use wakeful_core::{
    foreign::{Folder, expected::Expected},
    host::{ErrorReport, Ledger, SchedulerError},
    record::{chain::Head, decision::Decision, edition::Edition},
};
use wakeful_host::ledger::{Format, MemoryLedger};

use super::{
    CliError, Verdict, editions,
    engines::EngineArg,
    export,
    ledger::{Place, ServerArgs, to_read},
    rules::edition,
    status::counted,
    style,
};
use crate::{
    case::{self, Case, CaseKind},
    trace::Tracer,
};

#[derive(Args)]
#[command(after_help = "\
    A fixture folder has `agent.json`, `ledger/` and `expected.json`; `wakeful export` makes \
    one from a ledger. The counts and flags of `expected.json` are always compared. Closure, \
    posture, decision, rule and evidence are compared if they are present.\n\n\
    With --edition, a ledger or one case is compared with another edition of the rules instead, \
    and only read. After each entry, two decisions at the run loop's next boundary are compared: \
    the one by the edition that the ledger has there, and the one by the other edition. Each entry \
    is asked on its own, because it is unknown what the agent would have done after the first \
    difference.\n\n\
    --json prints an array of {case, ok, expected, found, explanation}. `ok` is null if the \
    folder expects nothing. A case that cannot be read is {case, ok: false, error}. With --edition \
    it prints one of {from, to, decides: {decision, rule, reason}, would_decide: {decision, rule, \
    reason}}.\n\n\
    Exit codes:\n\
    \x20 0  everything is as expected, or was written with --update; no decision differs\n\
    \x20 1  something differs\n\
    \x20 2  a case or the ledger cannot be read\n\n\
    Examples:\n\
    \x20 wakeful replay tests/fixtures/scheduler\n\
    \x20 wakeful replay stuck --update\n\
    \x20 wakeful replay agent.sqlite --edition 2026-05-08\n\
    \x20 wakeful replay --server http://127.0.0.1:7171 --agent ada --edition 2026-05-08")]
#[command(
    mut_arg("server", |arg| arg.requires("edition")),
    mut_arg("token_file", |arg| arg.requires("edition"))
)]
pub(super) struct Replay {
    /// Fixture folders, data folders, or folders of either; with --edition one of these, a story, a
    /// ledger file, or the address of a store
    #[arg(required_unless_present = "edition", value_name = "FOLDER|LEDGER")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    engine: EngineArg,
    /// Show where this edition of the rules would have decided differently
    #[arg(long, value_parser = edition, conflicts_with_all = ["update", "engine"])]
    edition: Option<Edition>,
    #[command(flatten)]
    server: ServerArgs,
    /// The agent of the ledger [default: the only one]
    #[arg(long, value_name = "ID", requires = "edition")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Write the result into each `expected.json` that differs or is missing; review the change
    #[arg(long)]
    update: bool,
}

/// The fields of the core's `Replay` that are used here.
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

/// The result for a case.
#[derive(Serialize)]
struct Row<'a> {
    case: &'a str,
    #[serde(skip)]
    of: &'a Case,
    /// `None` if the case expects nothing.
    ok: Option<bool>,
    #[serde(flatten)]
    became: Became,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Became {
    Compared { expected: Option<Box<RawValue>>, found: Box<RawValue>, explanation: Box<RawValue> },
    Unreadable { error: String },
}

impl Became {
    fn error(&self) -> Option<&str> {
        match self {
            Self::Unreadable { error } => Some(error),
            Self::Compared { .. } => None,
        }
    }
}

/// The file of a fixture with the expected result.
const EXPECTED: &str = "expected.json";

impl Row<'_> {
    /// Writes the result as the expected one, if it differs.
    fn update(&self) -> Result<(), CliError> {
        let (Some(folder), Became::Compared { found, .. }) = (&self.of.path, &self.became) else {
            return Ok(());
        };
        if self.ok == Some(true) || !is_fixture(self.of) {
            return Ok(());
        }
        let path = folder.join(EXPECTED);
        let written = fs::write(&path, pretty(found) + "\n");
        written.map_err(|why| CliError::Write { what: format!("`{}`", path.display()), why })?;
        // On the error stream, because the output may be JSON.
        mention!("written: {}", path.display());
        Ok(())
    }

    fn print(&self, table: &mut style::Table) {
        let decision = match &self.became {
            Became::Compared { explanation, .. } => {
                serde_json::from_str::<Explained>(explanation.get()).ok()
            }
            Became::Unreadable { .. } => None,
        };
        let (kind, reason, rule) = decision.map_or_else(Default::default, |of| {
            (of.decision.kind.to_string(), of.decision.reason, of.decision.rule)
        });
        let mark = match (&self.became, self.ok) {
            (Became::Unreadable { .. }, _) => style::painted(style::BAD, "cannot be read"),
            (_, Some(true)) => style::painted(style::GOOD, "as expected"),
            (_, Some(false)) => style::painted(style::BAD, "differs"),
            (_, None) => style::painted(style::FAINT, "nothing expected"),
        };
        table.add_row([self.case.to_owned(), kind, reason, rule, mark]);
    }
}

impl Replay {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        if let Some(edition) = self.edition {
            return self.compare(edition);
        }
        let cases = case::load_all(&self.folders)?;
        let (stories, folders): (Vec<&Case>, Vec<&Case>) =
            cases.iter().partition(|case| matches!(case.kind, CaseKind::Story(..)));
        match (stories.first(), folders.is_empty()) {
            (Some(story), true) => return Err(CliError::NotAFixture(story.name.clone())),
            // A folder may hold both, as that of the tests does. Only stories alone are an error.
            (Some(_), false) => {
                let count = stories.len();
                let stories = if count == 1 {
                    "1 story is".to_owned()
                } else {
                    format!("{count} stories are")
                };
                mention!("{stories} skipped: `wakeful crosscheck` plays stories");
            }
            (None, _) => {}
        }
        let mut tracer = self.engine.start()?;
        let rows: Vec<Row<'_>> = folders
            .into_iter()
            .map(|case| self.row(&mut tracer, case))
            .collect::<Result<_, _>>()?;
        if self.json {
            say!("{}", serde_json::to_string(&rows).map_err(|why| CliError::Engine(why.into()))?);
        } else if rows.iter().any(|row| row.became.error().is_none()) {
            print(&rows);
        }
        if self.update {
            rows.iter().try_for_each(Row::update)?;
        }
        let errors = rows.iter().filter_map(|row| Some((row.case, row.became.error()?)));
        errors.clone().for_each(|(case, error)| super::complain(format_args!("{case}: {error}")));
        let is_unreadable = errors.count() > 0;
        // What --update has written does not differ any more.
        let differs = !self.update && rows.iter().any(|row| row.ok == Some(false));
        Ok(match (is_unreadable, differs) {
            (true, _) => Verdict::Unreadable,
            (false, true) => Verdict::Differs,
            (false, false) => Verdict::Well,
        })
    }

    /// Compares a ledger or a case with another edition.
    fn compare(&self, edition: Edition) -> Result<Verdict, CliError> {
        let named = match self.folders.as_slice() {
            [] => None,
            [named] => Some(named.as_path()),
            _ => return Err(CliError::OneForEdition),
        };
        let place = self.server.place(named)?;
        if let (Place::File(path), None) = (&place, named.and_then(Format::from_file))
            && path.exists()
        {
            if self.agent.is_some() {
                return Err(CliError::OnlyOfLedgers(path.clone()));
            }
            let case = case::load_one(path)?;
            let refused = |why: SchedulerError| CliError::Refused {
                case: case.name.clone(),
                message: why.to_string(),
            };
            let read = export::Read::new(&case)?;
            let mut ledger = MemoryLedger::default();
            ledger.append(&Head::START, &read.entries).map_err(|why| refused(why.into()))?;
            return editions::compare(&read.agent, ledger, edition, self.json).map_err(refused);
        }
        let (agent, ledger) = to_read(&place, self.agent.as_deref())?;
        let unreadable = |why: SchedulerError| place.unreadable(&agent, why);
        editions::compare(&agent, ledger, edition, self.json).map_err(unreadable)
    }

    fn row<'a>(&self, tracer: &mut Tracer, case: &'a Case) -> Result<Row<'a>, CliError> {
        let row = |ok, became| Row { case: &case.name, of: case, ok, became };
        let unreadable = |error| Ok(row(Some(false), Became::Unreadable { error }));
        if let Some(error) = self.nothing_to_compare(case) {
            return unreadable(error);
        }
        let failed = |why| CliError::Trace { case: case.name.clone(), why };
        let trace = tracer.trace(case).map_err(failed)?;
        let outcome = trace.steps.first().map_or("null", |step| step.outcome.get());
        if let Ok(Refused { error }) = serde_json::from_str(outcome) {
            return unreadable(error.message);
        }
        let Answer { expected, found, explanation } =
            serde_json::from_str(outcome).map_err(|why| failed(why.into()))?;
        // The core wrote both texts, so equal values have equal texts.
        let ok = expected.as_ref().map(|expected| expected.get() == found.get());
        Ok(row(ok, Became::Compared { expected, found, explanation }))
    }

    /// Returns an error if a fixture could be replayed, but a part of it would not be compared.
    fn nothing_to_compare(&self, case: &Case) -> Option<String> {
        let CaseKind::Fixture(folder) = &case.kind else { return None };
        if !is_fixture(case) || folder.contains_key(EXPECTED) {
            return not_compared(folder);
        }
        (!self.update).then(|| {
            format!(
                "`{EXPECTED}` is missing, so there is nothing to compare with; --update writes it"
            )
        })
    }
}

/// Whether a case is a fixture. A data folder has no expected result.
fn is_fixture(case: &Case) -> bool {
    matches!(
        &case.kind,
        CaseKind::Fixture(folder) if !folder.keys().any(|path| path.starts_with(".holon/"))
    )
}

/// Fields that exports of the reference runtime have, and that are not compared.
const OF_THE_REFERENCE: [&str; 4] = [
    "blocked_work_items",
    "completed_recent_work_items",
    "triggered_blocked_work_items",
    "waiting_for_operator_work_items",
];

/// Returns an error if `expected.json` has an unknown field, such as a misspelt one. Nothing would
/// be compared with it.
fn not_compared(folder: &Folder) -> Option<String> {
    let given: serde_json::Map<String, serde_json::Value> =
        // A file that is not JSON is reported by the engine, with its place.
        serde_json::from_str(folder.get(EXPECTED)?).ok()?;
    let schema = schemars::schema_for!(Expected);
    let known: BTreeSet<&str> =
        schema.get("properties")?.as_object()?.keys().map(String::as_str).collect();
    let unknown = given
        .keys()
        .find(|key| !known.contains(key.as_str()) && !OF_THE_REFERENCE.contains(&key.as_str()))?;
    let known: Vec<&str> = known.into_iter().collect();
    Some(format!("{EXPECTED}: unknown field `{unknown}`; the fields are {}", known.join(", ")))
}

fn print(rows: &[Row<'_>]) {
    let mut table = style::table(&["case", "decision", "reason", "rule", ""]);
    rows.iter().for_each(|row| row.print(&mut table));
    style::print(&table);
    let (mut differing, mut unreadable) = (0, 0);
    for row in rows {
        match &row.became {
            Became::Compared { expected: Some(expected), found, .. } if row.ok == Some(false) => {
                differing += 1;
                print_diff(row.case, expected, found);
            }
            Became::Compared { .. } => {}
            Became::Unreadable { .. } => unreadable += 1,
        }
    }
    let silent = rows.iter().filter(|row| row.ok.is_none()).count();
    let also = |count: usize, what: &str| {
        if count == 0 { String::new() } else { format!(", {count} {what}") }
    };
    let (silent, unreadable) = (also(silent, "expect nothing"), also(unreadable, "cannot be read"));
    say!("\n{}, {differing} differ{silent}{unreadable}", counted(rows.len(), "case"));
}

/// Prints the lines in which `expected.json` and the result differ.
fn print_diff(case: &str, expected: &RawValue, found: &RawValue) {
    let (expected, found) = (pretty(expected), pretty(found));
    say!(
        "\n{}: expected {}, found {}",
        style::painted(style::STRONG, case),
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
    value
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| json.get().to_owned())
}
