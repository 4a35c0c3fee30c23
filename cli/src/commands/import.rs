//! `wakeful import`: converts the data folder of another runtime into a fixture folder.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    foreign::{Folder, ForeignError, Import as Imported},
    id::{AgentId, Seq},
    json,
    machine::{Machine, Options, ProposeError},
    record::{control::TornLine, entry::EntryBytes},
    state::State,
};

use super::{CliError, Verdict, export::Target, style};
use crate::{
    case::{self, CaseKind},
    trace::REPLAYED_AT,
};

#[derive(Args)]
#[command(after_help = "\
    Lines that the scheduler does not read are carried along, and an export writes them back. \
    A last line that a crashed writer left unfinished is dropped and reported.\n\n\
    --json prints one object: agent_id, entries, carried {FILE: lines}, foreign, torn [{file, \
    line, bytes}], folder.\n\n\
    Exit codes:\n\
    \x20 0  written\n\
    \x20 2  the folder cannot be read or written\n\n\
    Examples:\n\
    \x20 wakeful import agents/default -o stuck\n\
    \x20 wakeful import agents/default -o stuck --force --json")]
pub(super) struct Import {
    /// A data folder (with `.holon/`), an exported folder, or a fixture
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    target: Target,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The result of an import.
#[derive(Serialize)]
struct Done<'a> {
    agent_id: &'a AgentId,
    entries: Seq,
    /// The number of lines that were carried along, by class.
    carried: BTreeMap<&'a str, u64>,
    /// The number of records of other agents.
    foreign: u64,
    /// The unfinished lines that were dropped.
    torn: &'a [TornLine],
    folder: &'a Path,
}

/// A folder that was imported into a ledger in memory.
pub(super) struct Ledger {
    pub(super) entries: Vec<EntryBytes>,
    imported: Imported,
    state: State,
}

impl Ledger {
    /// Imports a folder into a fresh ledger in memory.
    pub(super) fn from_folder(case: &str, folder: &Folder) -> Result<Self, CliError> {
        let unreadable = |why: ForeignError| CliError::Refused {
            case: case.to_owned(),
            message: why.to_string(),
        };
        let refused = |why: ProposeError| CliError::Refused {
            case: case.to_owned(),
            message: why.to_string(),
        };
        // A fixed time, so that an import gives the same entries on every day.
        let imported = Imported::of_folder(folder, REPLAYED_AT).map_err(unreadable)?;
        let mut machine = Machine::new(Options::new(imported.agent_id().clone()));
        let mut entries = Vec::new();
        // The first entry is a batch of its own (decision 005).
        if let Some(first) = machine.begin(REPLAYED_AT).map_err(refused)? {
            entries.extend(first.batch);
            machine.committed();
        }
        entries.extend(machine.import(imported.clone(), REPLAYED_AT).map_err(refused)?.batch);
        machine.committed();
        Ok(Self { entries, imported, state: machine.state().clone() })
    }
}

impl Import {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let case = case::load_one(&self.folder)?;
        let CaseKind::Fixture(folder) = &case.kind else {
            return Err(CliError::NotAFolder(self.folder.clone()));
        };
        let ledger = Ledger::from_folder(&case.name, folder)?;
        let exported = wakeful_core::host::folder_of(&ledger.entries)
            .map_err(|why| super::export::damaged(&case.name, &why))?;
        self.target.write(&exported)?;
        let mut carried = BTreeMap::new();
        ledger.imported.carried().for_each(|class| *carried.entry(class).or_default() += 1);
        let done = Done {
            agent_id: ledger.imported.agent_id(),
            entries: ledger.state.head().seq,
            carried,
            foreign: ledger.state.foreign_records(),
            torn: ledger.imported.torn(),
            folder: self.target.folder(),
        };
        if self.json {
            say!("{}", json::write(&done));
        } else {
            print(&done);
        }
        Ok(Verdict::Well)
    }
}

fn print(done: &Done<'_>) {
    for torn in done.torn {
        say!(
            "{}:{}: dropped an unfinished last line of {} bytes",
            torn.file,
            torn.line,
            torn.bytes
        );
    }
    let carried: u64 = done.carried.values().sum();
    let agent = style::painted(style::STRONG, done.agent_id.as_str());
    say!(
        "agent {agent}: {} entries, of them {carried} carried and {} of other agents",
        done.entries,
        done.foreign
    );
    if carried > 0 {
        let classes: Vec<String> =
            done.carried.iter().map(|(class, lines)| format!("{class} {lines}")).collect();
        say!("carried along, not read: {}", classes.join(", "));
    }
}
