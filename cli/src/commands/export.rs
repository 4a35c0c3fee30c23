//! `wakeful export`: writes a case, or a ledger at any of its entries, as a fixture folder of full
//! records.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    foreign::{self, Folder},
    host::{Scheduler, SchedulerError},
    id::{AgentId, Seq},
    json,
    machine::Options,
    record::entry::EntryBytes,
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::Format, provider::Elsewhere};

use super::{
    CliError, Verdict,
    import::Ledger,
    ledger::{Place, to_read},
    status::counted,
};
use crate::{
    case::{self, CaseKind},
    trace::Tracer,
};

#[derive(Args)]
#[command(after_help = "\
    `expected.json` of the new folder has what is found there now, so `wakeful replay` \
    passes. To make a test of it, change `expected.json` to what should be found.\n\n\
    --json prints one object: agent_id, entries, folder.\n\n\
    Exit codes:\n\
    \x20 0  written\n\
    \x20 2  the case cannot be read, or the folder cannot be written\n\n\
    Examples:\n\
    \x20 wakeful export agent.sqlite -o stuck\n\
    \x20 wakeful export agent.sqlite --up-to 37 -o before\n\
    \x20 wakeful export tests/fixtures/stories/heartbeat.json -o heartbeat")]
pub(super) struct Export {
    /// A ledger file, the address of a store, a story (`.toml`, `.json`), a fixture, or a data
    /// folder
    #[arg(value_name = "CASE")]
    case: PathBuf,
    /// The agent of a ledger file [default: the only one in the file]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Export the ledger as it was after this entry [default: the whole ledger]
    #[arg(long, value_name = "SEQ")]
    up_to: Option<u64>,
    #[command(flatten)]
    target: Target,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The result of an export.
#[derive(Serialize)]
struct Done<'a> {
    agent_id: &'a AgentId,
    entries: u64,
    folder: &'a Path,
}

/// The folder that a command writes.
#[derive(Args)]
pub(super) struct Target {
    /// The folder to write: `agent.json`, `expected.json` and `ledger/`
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Replace these three if the folder is not empty
    #[arg(long)]
    force: bool,
}

impl Target {
    /// The path of the folder.
    pub(super) fn folder(&self) -> &Path {
        &self.output
    }

    /// Writes all files of a folder.
    pub(super) fn write(&self, folder: &Folder) -> Result<(), CliError> {
        let output = &self.output;
        let unwritable =
            |path: &Path, why| CliError::Write { what: format!("`{}`", path.display()), why };
        let taken = output.exists()
            && fs::read_dir(output).map_err(|why| unwritable(output, why))?.next().is_some();
        if taken && !self.force {
            return Err(CliError::NotEmpty(output.clone()));
        }
        // Files that are left from an older ledger would be read as part of the new one.
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

/// The error for a ledger that was just written and cannot be read back. This is a defect of the
/// engine.
pub(super) fn damaged(case: &str, why: &SchedulerError) -> CliError {
    CliError::Refused { case: case.to_owned(), message: why.to_string() }
}

impl Export {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let place = Place::named(&self.case)?;
        if matches!(place, Place::Store(_)) || Format::from_file(&self.case).is_some() {
            return self.of_ledger(&place);
        }
        if self.agent.is_some() || self.up_to.is_some() {
            return Err(CliError::OnlyOfLedgers(self.case.clone()));
        }
        let case = case::load_one(&self.case)?;
        let entries = match &case.kind {
            CaseKind::Fixture(folder) => Ledger::from_folder(&case.name, folder)?.entries,
            CaseKind::Story(..) => {
                let trace = Tracer::Native
                    .trace(&case)
                    .map_err(|why| CliError::Trace { case: case.name.clone(), why })?;
                let lines = trace.steps.iter().flat_map(|step| &step.entries);
                lines.map(|line| EntryBytes::from_stored(line.get().to_owned())).collect()
            }
        };
        let folder =
            wakeful_core::host::folder_of(&entries).map_err(|why| damaged(&case.name, &why))?;
        let agent = foreign::agent_of(&folder).map_err(|why| damaged(&case.name, &why.into()))?;
        self.write(&folder, &agent, entries.len() as u64)
    }

    fn of_ledger(&self, place: &Place) -> Result<Verdict, CliError> {
        let (agent, ledger) = to_read(place, self.agent.as_deref())?;
        let unreadable = |why| place.unreadable(&agent, why);
        // Nothing is proposed, so no entry gets this time.
        let clock = VirtualClock::at(Timestamp::from_nanos(0));
        let mut living = Scheduler::observe(Options::new(agent.clone()), ledger, clock, Elsewhere)
            .map_err(unreadable)?;
        let last = self.up_to.map_or(living.state().head().seq, Seq);
        let folder = living.export(Some(last)).map_err(unreadable)?;
        self.write(&folder, &agent, last.0)
    }

    fn write(
        &self,
        folder: &Folder,
        agent_id: &AgentId,
        entries: u64,
    ) -> Result<Verdict, CliError> {
        self.target.write(folder)?;
        let output = &self.target.output;
        if self.json {
            say!("{}", json::write(&Done { agent_id, entries, folder: output }));
        } else {
            say!(
                "{agent_id}: {} in {}",
                counted(usize::try_from(entries).unwrap_or(usize::MAX), "entry"),
                output.display()
            );
        }
        Ok(Verdict::Well)
    }
}
