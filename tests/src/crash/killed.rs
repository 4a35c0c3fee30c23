//! Real processes that are killed: `wakeful run` on a SQLite file, and SIGKILL at any instant.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use wakeful::generator::{Drawn, Pace};
use wakeful_core::record::chain::Head;
use wakeful_host::{driver, ledger::SqliteFile};

use super::{Tried, end::End, nothing_is_done_twice, nothing_is_lost};
use crate::{paths, watched::WatchedLedger};

/// More processes than any agent needs that makes progress.
const FOR_EVER: usize = 50;

/// A story, and the folder in which it is played.
struct Home {
    folder: tempfile::TempDir,
    program: PathBuf,
}

/// Plays a story in processes that are killed. `kills` says after how long, each in thousandths of
/// the time that the story takes without a crash.
///
/// # Errors
/// How the outcome differs from that without a crash, or why `wakeful run` failed.
pub fn at(drawn: &Drawn, pace: Pace, kills: &[u32]) -> Result<Tried, String> {
    let home = Home::new(drawn)?;
    let begun = Instant::now();
    home.lives_on("whole.sqlite")?;
    let whole = begun.elapsed();
    let expected = End::from_ledger(&home.ledger("whole.sqlite")?);
    let mut tried = Tried { stories: 1, ..Tried::default() };
    for kill in kills {
        let after = whole * *kill / 1000;
        // The process ended before it was killed, so the story is over.
        if home.killed("killed.sqlite", after)?.success() {
            break;
        }
        tried.died(&home.ledger("killed.sqlite")?);
    }
    let cut = home.ledger("killed.sqlite")?;
    home.lives_on("killed.sqlite")?;
    let lived = home.ledger("killed.sqlite")?;
    tried.appends = lived.entries().len() as u64;
    nothing_is_lost(&cut, &lived)?;
    nothing_is_done_twice(&lived)?;
    match pace {
        Pace::Apart => expected.differs_from(&End::from_ledger(&lived)).map_or(Ok(tried), Err),
        Pace::Racing => Ok(tried),
    }
}

impl Home {
    fn new(drawn: &Drawn) -> Result<Self, String> {
        let folder = tempfile::tempdir()
            .map_err(|why| format!("cannot make a folder for the story: {why}"))?;
        fs::write(folder.path().join("story.json"), drawn.text())
            .map_err(|why| format!("cannot write the story: {why}"))?;
        Ok(Self { folder, program: paths::program("wakeful") })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, ledger: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("run")
            .arg("--ledger")
            .arg(ledger)
            .arg("--story")
            .arg(self.file("story.json"))
            .args(["--virtual", "--until-rest", "--json"]);
        command.stdout(Stdio::null());
        command
    }

    /// Runs the agent until it rests, in as many processes as the story takes.
    fn lives_on(&self, ledger: &str) -> Result<(), String> {
        for _ in 0..FOR_EVER {
            let ran = self
                .run(&self.file(ledger))
                .output()
                .map_err(|why| format!("{}: {why}", self.program.display()))?;
            match ran.status.code() {
                // A closing agent has not rested: it was shut down, and the next process continues.
                Some(0) if self.ledger(ledger)?.state().control().closing.is_none() => {
                    return Ok(());
                }
                Some(0 | 3) => {}
                code => {
                    return Err(format!(
                        "wakeful run ended with {code:?}: {}",
                        String::from_utf8_lossy(&ran.stderr)
                    ));
                }
            }
        }
        Err("the agent never rests".to_owned())
    }

    /// Runs the agent and kills it after this time; returns how the process ended.
    fn killed(&self, ledger: &str, after: Duration) -> Result<ExitStatus, String> {
        let mut command = self.run(&self.file(ledger));
        let mut child = command
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| format!("{}: {why}", self.program.display()))?;
        thread::sleep(after);
        // On Unix this is SIGKILL. If the process has already ended, there is nothing to kill.
        child.kill().ok();
        child.wait().map_err(|why| why.to_string())
    }

    /// The entries of the file, verified; none if the process died before it made the file.
    fn ledger(&self, name: &str) -> Result<WatchedLedger, String> {
        let path = self.file(name);
        let Ok(file) = SqliteFile::open_read_only(&path) else {
            return Ok(WatchedLedger::default());
        };
        let (mut ledger, mut entries) = (file.ledger(&"default".into()), Vec::new());
        driver::read(&mut ledger, Head::START, |_, bytes| entries.push(bytes.clone()))
            .map_err(|why| why.to_string())?;
        WatchedLedger::holding(&entries).map_err(|why| why.to_string())
    }
}
