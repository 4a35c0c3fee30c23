//! Real processes that are killed: `wakeful run` on a SQLite file, and `kill -9` wherever it is
//! just then.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use wakeful::generator::{Drawn, Pace};
use wakeful_core::{host::Ledger, id::Seq};
use wakeful_host::ledger::SqliteFile;

use super::{Tried, end::End, nothing_is_done_twice, nothing_is_lost};
use crate::{paths, watched::WatchedLedger};

/// More processes than an agent takes that goes on.
const FOR_EVER: usize = 50;

/// A story, and a folder in which it is played.
struct Home {
    folder: tempfile::TempDir,
    program: PathBuf,
}

/// Lets the agent of a story live in processes that are killed, each after so many thousandths of
/// the time that the whole takes.
///
/// # Errors
/// What is not as it would be without a death, or what the program says that does not go on.
pub fn at(drawn: &Drawn, pace: Pace, kills: &[u32]) -> Result<Tried, String> {
    let home = Home::new(drawn)?;
    let begun = Instant::now();
    home.lives_on("whole.sqlite")?;
    let whole = begun.elapsed();
    let expected = End::from_ledger(&home.ledger("whole.sqlite")?);
    let mut tried = Tried { stories: 1, ..Tried::default() };
    for kill in kills {
        let after = whole * *kill / 1000;
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
        let folder = tempfile::tempdir().map_err(|why| format!("a folder for the story: {why}"))?;
        fs::write(folder.path().join("story.json"), drawn.text())
            .map_err(|why| format!("the story: {why}"))?;
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

    /// Runs the agent until it rests, in as many processes as its story takes.
    fn lives_on(&self, ledger: &str) -> Result<(), String> {
        for _ in 0..FOR_EVER {
            let ran = self
                .run(&self.file(ledger))
                .output()
                .map_err(|why| format!("{}: {why}", self.program.display()))?;
            match ran.status.code() {
                // It may have been shut down, and another process goes on.
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
        Err("it never comes to rest".to_owned())
    }

    /// Lets the agent run for so long, and kills it; how it ended.
    fn killed(&self, ledger: &str, after: Duration) -> Result<ExitStatus, String> {
        let mut command = self.run(&self.file(ledger));
        let mut child = command
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| format!("{}: {why}", self.program.display()))?;
        thread::sleep(after);
        // On Unix this is SIGKILL. Where the process has ended already, there is nothing to kill.
        child.kill().ok();
        child.wait().map_err(|why| why.to_string())
    }

    /// What the file holds, verified; nothing where the process died before it made the file.
    fn ledger(&self, name: &str) -> Result<WatchedLedger, String> {
        let path = self.file(name);
        let Ok(file) = SqliteFile::open_read_only(&path) else {
            return Ok(WatchedLedger::default());
        };
        let entries =
            file.ledger(&"default".into()).read(Seq(0), u32::MAX).map_err(|why| why.to_string())?;
        WatchedLedger::holding(&entries).map_err(|why| why.to_string())
    }
}
