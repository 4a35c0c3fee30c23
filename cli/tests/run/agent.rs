//! A running agent in its own process, and its ledger.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use wakeful_core::record::{
    Record,
    chain::Head,
    entry::Entry,
    turn::RunStatus,
    work::{WorkItemRecord, WorkItemState},
};
use wakeful_host::{driver, ledger::SqliteFile};

use crate::program::{Ran, arg, wakeful};

/// A limit only for tests that hang: none depends on how fast the machine is.
const PATIENCE: Duration = Duration::from_mins(10);

/// A folder with a story and ledgers.
pub(super) struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub(super) fn with(story: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("story.toml"), story).expect("a story");
        Self { folder }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn args(&self, extra: &[&str]) -> Vec<String> {
        let own = [
            "run",
            "--ledger",
            &arg(&self.file("agent.sqlite")),
            "--story",
            &arg(&self.file("story.toml")),
        ]
        .map(str::to_owned);
        own.into_iter().chain(extra.iter().map(|text| (*text).to_owned())).collect()
    }

    /// Runs the agent until it ends on its own.
    pub(super) fn run(&self, extra: &[&str]) -> Ran {
        wakeful(self.args(extra))
    }

    /// Runs the agent on a disk that takes no file of more than `blocks` blocks. When it says that
    /// it waits for space, it is told to end.
    #[cfg(unix)]
    pub(super) fn run_on_a_disk_of(&self, blocks: u32, extra: &[&str]) -> Ran {
        // With the signal ignored, the program gets an error of the file system instead of being
        // killed.
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_wakeful")])
            .args(self.args(extra))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let (id, said) = (child.id(), child.stderr.take().expect("its errors"));
        let errors = thread::spawn(move || {
            let mut all = String::new();
            for line in BufReader::new(said).lines().map(|line| line.expect("UTF-8")) {
                if line.contains("the agent goes on when there is space") {
                    signal(id, "INT");
                }
                all.push_str(&line);
                all.push('\n');
            }
            all
        });
        let output = child.wait_with_output().expect("it ends");
        Ran {
            code: output.status.code().expect("wakeful ends with an exit code"),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: errors.join().expect("its errors"),
        }
    }

    /// Starts the agent, which runs beside the test.
    pub(super) fn start(&self, extra: &[&str]) -> Live {
        let mut child = Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(self.args(extra))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("wakeful starts");
        let (sender, lines) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().expect("its output"));
        thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let (said, errors) = mpsc::channel();
        let err = child.stderr.take().expect("its errors");
        thread::spawn(move || {
            BufReader::new(err).lines().map_while(Result::ok).try_for_each(|line| said.send(line))
        });
        Live { child, lines, errors, warned: String::new() }
    }

    /// Sends something to the agent.
    pub(super) fn send(&self, what: &[&str]) -> Ran {
        let ledger = arg(&self.file("agent.sqlite"));
        wakeful(["send", "--ledger", &ledger].iter().chain(what))
    }

    /// The number of lock files of owners beside the ledger.
    pub(super) fn locks(&self) -> usize {
        let files = std::fs::read_dir(self.folder.path()).expect("it is listed");
        let names = files.map(|file| file.expect("a file").file_name());
        names.filter(|name| name.to_string_lossy().contains("-owner-")).count()
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        entries(&self.file("agent.sqlite"), "default")
    }
}

/// A running agent. It ends with the test.
pub(super) struct Live {
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
    /// The errors that were read so far.
    warned: String,
}

impl Live {
    /// Waits for the next line of its log that contains this text.
    pub(super) fn says(&self, what: &str) -> String {
        self.says_one_of(&[what])
    }

    /// Waits for the next line of its log that contains one of these texts.
    pub(super) fn says_one_of(&self, what: &[&str]) -> String {
        let mut said = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if what.iter().any(|what| line.contains(what)) {
                return line;
            }
            said.push(line);
        }
        panic!("it never printed one of {what:?}, only\n{}", said.join("\n"));
    }

    /// Waits until it has printed this many more lines of its log, or until it ends.
    pub(super) fn prints(&self, lines: usize) {
        let printed = || self.lines.recv_timeout(PATIENCE).is_ok();
        (0..lines).all(|_| printed());
    }

    /// Waits until it prints this text as an error.
    pub(super) fn warns(&mut self, what: &str) {
        while !self.warned.contains(what) {
            let line = self.errors.recv_timeout(PATIENCE).expect("it warns");
            self.warned += &(line + "\n");
        }
    }

    /// The id of its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal by name.
    pub(super) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Kills it, as `kill -9` does. Returns whether it was still alive.
    pub(super) fn kill(&mut self) -> bool {
        let alive = self.child.try_wait().expect("its status").is_none();
        self.child.kill().ok();
        self.child.wait().expect("it ends");
        alive
    }

    /// Waits for its end. Returns the exit code and the errors that it printed.
    pub(super) fn end(mut self) -> (i32, String) {
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().expect("its status").is_none() {
            assert!(Instant::now() < until, "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
        let code =
            self.child.wait().expect("its status").code().expect("it ends with an exit code");
        let mut err = std::mem::take(&mut self.warned);
        self.errors.iter().for_each(|line| err += &(line + "\n"));
        (code, err)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a signal by name to a process.
fn signal(process: u32, name: &str) {
    let done = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
    assert!(done.expect("kill runs").success());
}

/// Reads the entries of an agent and verifies them.
pub(super) fn entries(file: &Path, agent: &str) -> Vec<Entry> {
    let file = SqliteFile::open_read_only(file).expect("the ledger");
    let mut entries = Vec::new();
    driver::read(&mut file.ledger(&agent.into()), Head::START, |entry, _| {
        entries.push(entry.clone())
    })
    .expect("the entries");
    entries
}

/// The outcome of an agent, without order: its items, and its turns by what started them and how
/// they ended.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) items: BTreeMap<String, (u64, WorkItemState, Option<String>)>,
    pub(super) turns: Vec<(String, String)>,
}

impl Outcome {
    pub(super) fn from_entries(entries: &[Entry]) -> Self {
        let mut messages = BTreeMap::new();
        let mut outcome = Self { items: BTreeMap::new(), turns: Vec::new() };
        for entry in entries {
            match &entry.record {
                Record::Message(message) => {
                    messages.insert(
                        message.id.clone(),
                        format!("{} {}", message.kind, message.body.as_text()),
                    );
                }
                Record::WorkItem(WorkItemRecord {
                    id, revision, state, result_summary, ..
                }) => {
                    outcome
                        .items
                        .insert(id.to_string(), (*revision, *state, result_summary.clone()));
                }
                Record::Turn(turn) if turn.status == RunStatus::Terminal => {
                    let kind = turn.kind.expect("a kind").to_string();
                    outcome.turns.push((messages[&turn.message_id].clone(), kind));
                }
                _ => {}
            }
        }
        outcome.turns.sort();
        outcome
    }
}
