//! `wakeful export`: writes a case, or a ledger at any of its entries, as a fixture folder of full
//! records.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use serde::Serialize;
use wakeful_core::{
    foreign::{Folder, ForeignError, Import},
    host::Scheduler,
    id::{AgentId, Seq},
    json,
    machine::{Machine, Options, ProposeError},
    record::{control::TornLine, entry::EntryBytes},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::Format, provider::Elsewhere};

use super::{
    CliError, Verdict,
    ledger::{Place, to_read},
    status::counted,
};
use crate::{
    case::{self, Case, CaseKind},
    trace::{REPLAYED_AT, Tracer},
};

#[derive(Args)]
#[command(after_help = "\
    `expected.json` of the new folder has what is found there now, so `wakeful replay` \
    passes. To make a test of it, change `expected.json` to what should be found.\n\n\
    Of a data folder of another runtime, lines that the scheduler does not read are carried along, \
    and an export writes them back. A last line that a crashed writer left unfinished is dropped \
    and reported.\n\n\
    --json prints one object: agent_id, entries, folder, and of a folder also carried {FILE: \
    lines}, foreign, torn [{file, line, bytes}].\n\n\
    Exit codes:\n\
    \x20 0  written\n\
    \x20 2  the case cannot be read, or the folder cannot be written\n\n\
    Examples:\n\
    \x20 wakeful export agent.sqlite -o stuck\n\
    \x20 wakeful export agent.sqlite --up-to 37 -o before\n\
    \x20 wakeful export tests/fixtures/stories/heartbeat.json -o heartbeat\n\
    \x20 wakeful export agents/default -o stuck --force --json")]
pub(super) struct Export {
    /// A ledger file, the address of a store, a story (`.toml`, `.json`), a fixture, or a data
    /// folder of another runtime (with `.holon/`)
    #[arg(value_name = "CASE")]
    case: PathBuf,
    /// The agent of a ledger file [default: the only one in the file]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Export the ledger as it was after this entry [default: the whole ledger]
    #[arg(long, value_name = "SEQ")]
    up_to: Option<u64>,
    /// The folder to write: `agent.json`, `expected.json` and `ledger/`
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Replace these three if the folder is not empty
    #[arg(long)]
    force: bool,
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
    #[serde(flatten)]
    imported: Option<Imported>,
}

/// What became of the lines of a folder.
#[derive(Default, Serialize)]
pub(super) struct Imported {
    /// The number of lines that were carried along, by class.
    carried: BTreeMap<String, u64>,
    /// The number of records of other agents.
    foreign: u64,
    /// The unfinished lines that were dropped.
    torn: Vec<TornLine>,
}

/// A case as a ledger.
pub(super) struct Read {
    pub(super) agent: AgentId,
    pub(super) entries: Vec<EntryBytes>,
    imported: Option<Imported>,
}

impl Read {
    /// Plays a story, or imports a folder into a fresh ledger in memory.
    pub(super) fn new(case: &Case) -> Result<Self, CliError> {
        match &case.kind {
            CaseKind::Fixture(folder) => Self::from_folder(&case.name, folder),
            CaseKind::Story(story, _) => {
                let trace = Tracer::Native
                    .trace(case)
                    .map_err(|why| CliError::Trace { case: case.name.clone(), why })?;
                let lines = trace.steps.iter().flat_map(|step| &step.entries);
                let entries = lines.map(|line| EntryBytes::from_stored(line.get().to_owned()));
                let agent = story.agent_id.clone();
                Ok(Self { agent, entries: entries.collect(), imported: None })
            }
        }
    }

    fn from_folder(case: &str, folder: &Folder) -> Result<Self, CliError> {
        let unreadable = |why: ForeignError| CliError::Refused {
            case: case.to_owned(),
            message: why.to_string(),
        };
        let refused = |why: ProposeError| CliError::Refused {
            case: case.to_owned(),
            message: why.to_string(),
        };
        // A fixed time, so that an import gives the same entries on every day.
        let import = Import::of_folder(folder, REPLAYED_AT).map_err(unreadable)?;
        let agent = import.agent_id().clone();
        let mut carried = BTreeMap::new();
        import.carried().for_each(|class| *carried.entry(class.to_owned()).or_default() += 1);
        let torn = import.torn().to_vec();
        let mut machine = Machine::new(Options::new(agent.clone()));
        let mut entries = Vec::new();
        // The first entry is a batch of its own (decision 005).
        if let Some(first) = machine.begin(REPLAYED_AT).map_err(refused)? {
            entries.extend(first.batch);
            machine.committed();
        }
        entries.extend(machine.import(import, REPLAYED_AT).map_err(refused)?.batch);
        machine.committed();
        let foreign = machine.state().foreign_records();
        Ok(Self { agent, entries, imported: Some(Imported { carried, foreign, torn }) })
    }
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
        let Read { agent, entries, imported } = Read::new(&case)?;
        // A ledger that was just made can be read back; anything else is a defect of the engine.
        let folder = wakeful_core::host::folder_of(&entries).map_err(|why| CliError::Refused {
            case: case.name.clone(),
            message: why.to_string(),
        })?;
        self.write(&folder, &agent, entries.len() as u64, imported)
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
        self.write(&folder, &agent, last.0, None)
    }

    fn write(
        &self,
        folder: &Folder,
        agent_id: &AgentId,
        entries: u64,
        imported: Option<Imported>,
    ) -> Result<Verdict, CliError> {
        self.write_files(folder)?;
        let done = Done { agent_id, entries, folder: &self.output, imported };
        if self.json {
            say!("{}", json::write(&done));
            return Ok(Verdict::Well);
        }
        let Imported { carried, foreign, torn } = done.imported.unwrap_or_default();
        for TornLine { file, line, bytes } in torn {
            say!("{file}:{line}: dropped an unfinished last line of {bytes} bytes");
        }
        let entries = counted(usize::try_from(entries).unwrap_or(usize::MAX), "entry");
        let of: u64 = carried.values().sum();
        let of = match (of, foreign) {
            (0, 0) => String::new(),
            _ => format!(", of them {of} carried and {foreign} of other agents,"),
        };
        say!("{agent_id}: {entries}{of} in {}", self.output.display());
        if !carried.is_empty() {
            let classes: Vec<String> =
                carried.iter().map(|(class, lines)| format!("{class} {lines}")).collect();
            say!("carried along, not read: {}", classes.join(", "));
        }
        Ok(Verdict::Well)
    }

    /// Writes all files of a folder.
    fn write_files(&self, folder: &Folder) -> Result<(), CliError> {
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
