//! The program's commands on a long ledger, beside the same on one of a tenth of its length: none
//! costs more than its length.

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

/// The agent.
const AGENT: &str = "bench";
/// After so many rounds it is asked how long the ledger is.
const ROUNDS: u32 = 100;
/// A tenth of it takes a tenth of the time, and a start that is the same.
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

/// A file with a ledger of so many entries, batch by batch as an agent appends them, and without a
/// snapshot: all of it is folded.
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

/// Where files lie in memory, on systems that have such a place: a million entries are not written
/// to a disk one by one only to be read.
const IN_MEMORY: &str = "/dev/shm";

fn place() -> TempDir {
    tempfile::tempdir_in(IN_MEMORY).or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// The program, which is built beside this one.
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
        .expect("`wakeful` stands beside this program");
    assert!(done.success(), "`wakeful {}` failed: {done}", words.join(" "));
    1
}
