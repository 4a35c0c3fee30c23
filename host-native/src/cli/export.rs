//! `wakeful export`: any case becomes a fixture folder of full records.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use wakeful_core::{
    entry::EntryBytes,
    foreign::{self, Folder},
    host::SchedulerError,
};

use super::{CliError, Verdict, import::Ledger};
use crate::{
    case::{self, CaseKind},
    trace::Tracer,
};

#[derive(Args)]
pub(super) struct Export {
    /// A story (`.json`), a fixture, or a data folder
    #[arg(value_name = "CASE")]
    case: PathBuf,
    #[command(flatten)]
    target: Target,
}

/// Where a folder is written.
#[derive(Args)]
pub(super) struct Target {
    /// The folder to write: `agent.json`, `expected.json` and `ledger/`
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Replace these three where the folder is not empty
    #[arg(long)]
    force: bool,
}

impl Target {
    /// Writes a folder, whole.
    pub(super) fn write(&self, folder: &Folder) -> Result<(), CliError> {
        let output = &self.output;
        let unwritable = |path: &Path, why| CliError::Write { what: format!("`{}`", path.display()), why };
        let taken = output.exists() && fs::read_dir(output).map_err(|why| unwritable(output, why))?.next().is_some();
        if taken && !self.force {
            return Err(CliError::NotEmpty(output.clone()));
        }
        // What is left of an older ledger would be read as part of the new one.
        let ledger = output.join("ledger");
        if ledger.exists() {
            fs::remove_dir_all(&ledger).map_err(|why| unwritable(&ledger, why))?;
        }
        for (name, text) in folder {
            let path = output.join(name);
            let parent = path.parent().unwrap_or(output);
            fs::create_dir_all(parent).map_err(|why| unwritable(parent, why))?;
            fs::write(&path, text).map_err(|why| unwritable(&path, why))?;
        }
        Ok(())
    }
}

/// A ledger that was just written cannot be read back: the engine's defect, named with its case.
pub(super) fn damaged(case: &str, why: &SchedulerError) -> CliError {
    CliError::Refused { case: case.to_owned(), message: why.to_string() }
}

impl Export {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let case = case::load_one(&self.case)?;
        let entries = match &case.kind {
            CaseKind::Fixture(folder) => Ledger::of(&case.name, folder)?.entries,
            CaseKind::Story(..) => {
                let trace = Tracer::Native.trace(&case).map_err(|why| CliError::Trace { case: case.name.clone(), why })?;
                let lines = trace.steps.iter().flat_map(|step| &step.entries);
                lines.map(|line| EntryBytes::from_stored(line.get().to_owned())).collect()
            }
        };
        let folder = foreign::folder_of(&entries).map_err(|why| damaged(&case.name, &why))?;
        self.target.write(&folder)?;
        say!("{}: {} entries in {}", case.name, entries.len(), self.target.output.display());
        Ok(Verdict::Well)
    }
}
