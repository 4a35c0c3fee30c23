//! The program's commands on a long ledger, beside the same on one of a tenth of its length: none costs more than its length.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use wakeful::ledger::{MemoryLedger, SqliteFile};
use wakeful_core::{
    entry::Head,
    host::Ledger,
    id::{AgentId, Seq},
};

use super::{Depth, Figure, agent, measure::elapsed};

/// The agent.
const AGENT: &str = "bench";
/// How many entries are copied at once.
const COPIED: u32 = 10_000;
/// A tenth of it takes a tenth of the time, and a start that is the same.
const LINEAR: f64 = 12.0;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let longest = match depth {
        Depth::Quick => 20_000,
        Depth::Whole => 1_000_000,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let [long, short] = [longest, longest / 10].map(|entries| stored(folder.path(), entries));
    let commands = [&["status"][..], &["why"], &["log"], &["log", "--diagnostics"], &["doctor"]];
    let figure = |words: &[&str]| {
        let [cost, base] = elapsed(1, [&long, &short].map(|ledger| Box::new(move || run(words, ledger)) as Box<dyn FnMut() -> u64>));
        let name = format!("wakeful {} of {longest} entries", words.join(" "));
        Figure::new(name, cost, format!("of {}", longest / 10), base).within(LINEAR)
    };
    commands.into_iter().map(figure).collect()
}

/// A file with a ledger of so many entries.
fn stored(folder: &Path, entries: usize) -> PathBuf {
    let mut ledger = MemoryLedger::default();
    let mut agent = agent::named(AGENT, ledger.clone());
    while ledger.len() < entries {
        agent.round();
    }
    let path = folder.join(format!("{entries}.sqlite"));
    let mut file = SqliteFile::open(&path).expect("a new file").ledger(&AgentId::from(AGENT));
    let mut head = Head::START;
    loop {
        let batch = ledger.read(head.seq, COPIED).expect("it is in memory");
        let Some((_, chain)) = batch.last().and_then(|line| line.split()) else { return path };
        file.append(&head, &batch).expect("the disk takes it");
        head = Head { seq: Seq(head.seq.0 + batch.len() as u64), chain };
    }
}

/// The program, which is built beside this one.
pub(super) fn wakeful() -> PathBuf {
    env::current_exe().expect("this program").with_file_name(format!("wakeful{}", env::consts::EXE_SUFFIX))
}

fn run(words: &[&str], ledger: &Path) -> u64 {
    let mut command = Command::new(wakeful());
    let done = command.args(words).arg(ledger).stdout(Stdio::null()).status().expect("`wakeful` stands beside this program");
    assert!(done.success(), "`wakeful {}` failed: {done}", words.join(" "));
    1
}
