//! `wakeful import`: the folder of another runtime becomes a case.

use std::path::PathBuf;

use clap::Args;
use wakeful_core::{
    entry::EntryBytes,
    foreign::{self, Folder, ForeignError, Import as Imported},
    machine::{Machine, Options, ProposeError},
    state::State,
};

use super::{CliError, Verdict, export::Target, style};
use crate::{
    case::{self, CaseKind},
    trace::REPLAYED_AT,
};

#[derive(Args)]
pub(super) struct Import {
    /// A data folder (with `.holon/`), an exported folder, or a fixture
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    #[command(flatten)]
    target: Target,
}

/// A folder in a ledger.
pub(super) struct Ledger {
    pub(super) entries: Vec<EntryBytes>,
    imported: Imported,
    state: State,
}

impl Ledger {
    /// Imports a folder into a fresh ledger in memory.
    pub(super) fn of(case: &str, folder: &Folder) -> Result<Self, CliError> {
        let unreadable = |why: ForeignError| CliError::Refused { case: case.to_owned(), message: why.to_string() };
        let refused = |why: ProposeError| CliError::Refused { case: case.to_owned(), message: why.to_string() };
        let imported = Imported::of_folder(folder, REPLAYED_AT).map_err(unreadable)?;
        let mut machine = Machine::new(Options::new(imported.agent_id().clone()));
        let mut entries = Vec::new();
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
        let ledger = Ledger::of(&case.name, folder)?;
        let exported = foreign::folder_of(&ledger.entries).map_err(|why| super::export::damaged(&case.name, &why))?;
        self.target.write(&exported)?;
        for torn in ledger.imported.torn() {
            say!("{}:{}: dropped an unfinished last line of {} bytes", torn.file, torn.line, torn.bytes);
        }
        let state = &ledger.state;
        say!(
            "agent {}: {} entries, of them {} carried and {} of other agents",
            style::painted(style::STRONG, ledger.imported.agent_id().as_str()),
            state.head.seq,
            state.carried_records,
            state.foreign_records
        );
        Ok(Verdict::Well)
    }
}
