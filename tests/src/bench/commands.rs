//! The commands of `wakeful` on a long ledger, beside the same on a tenth of it. No command may
//! cost more than linear time.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;
use wakeful_core::{
    host::{Ledger, LedgerError},
    id::{AgentId, Seq},
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_host::ledger::{SqliteFile, SqliteLedger};

use super::{Depth, Figure, agent, measure::elapsed};

/// The agent of both ledgers.
const AGENT: &str = "bench";
/// Rounds between two looks at the length of the ledger: each look reads the file.
const ROUNDS: u32 = 100;
/// The goal: ten times the entries take ten times as long, with room for noise.
const LINEAR: f64 = 12.0;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let longest = match depth {
        Depth::Quick => 20_000,
        Depth::Whole => 1_000_000,
    };
    let folder = place();
    let [long, short] = [longest, longest / 10].map(|entries| stored(folder.path(), entries));
    let commands = [&["status"][..], &["why"], &["log"], &["log", "--diagnostics"], &["doctor"]];
    let figure = |words: &[&str]| {
        let [cost, base] = elapsed(
            1,
            [&long, &short]
                .map(|ledger| Box::new(move || run(words, ledger)) as Box<dyn FnMut() -> u64>),
        );
        let name = format!("wakeful {} of {longest} entries", words.join(" "));
        Figure::new(name, cost, format!("of {}", longest / 10), base).within(LINEAR)
    };
    commands.into_iter().map(figure).collect()
}

/// A file with a ledger of at least this number of entries. An agent appends them batch by batch.
/// There is no snapshot, so a command folds all of it.
fn stored(folder: &Path, entries: u64) -> PathBuf {
    let path = folder.join(format!("{entries}.sqlite"));
    let file = SqliteFile::open(&path).expect("a new file");
    let mut ledger = file.ledger(&AgentId::from(AGENT));
    let mut agent = agent::named(AGENT, WithoutSnapshots(ledger.clone()));
    while ledger.head().expect("a head").seq.0 < entries {
        (0..ROUNDS).for_each(|_| agent.round());
    }
    path
}

/// A ledger that keeps no snapshots.
#[derive(Clone)]
struct WithoutSnapshots(SqliteLedger);

impl Ledger for WithoutSnapshots {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.0.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.0.read(after, limit)
    }
}

/// A file system in memory, on systems that have one. To write a million batches to a disk would
/// take longer than all that is measured.
const IN_MEMORY: &str = "/dev/shm";

fn place() -> TempDir {
    tempfile::tempdir_in(IN_MEMORY).or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// The program `wakeful`, which is built beside this one.
pub(super) fn wakeful() -> PathBuf {
    env::current_exe()
        .expect("this program")
        .with_file_name(format!("wakeful{}", env::consts::EXE_SUFFIX))
}

fn run(words: &[&str], ledger: &Path) -> u64 {
    let mut command = Command::new(wakeful());
    let done = command
        .args(words)
        .arg(ledger)
        .stdout(Stdio::null())
        .status()
        .expect("`wakeful` is beside this program");
    assert!(done.success(), "`wakeful {}` failed: {done}", words.join(" "));
    1
}
