//! `wakeful run`: a live agent that plays a story, with a readable log of every decision and why.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use wakeful_core::{
    entry::{Entry, EntryBytes, Head},
    host::ErrorReport,
    id::AgentId,
    json::RawJson,
    machine::Options,
    time::Timestamp,
};

use super::{
    CliError, Verdict,
    engines::DriverArg,
    ledger, log,
    style::{BAD, painted},
};
use crate::{
    case,
    clock::RecordedClock,
    driver::{self, Watcher},
    ledger::SqliteFile,
    run::{Audience, Ending, Run, Time, Until},
};

/// How the process ends where the story says that it does.
const CRASHED: i32 = 3;

/// How a process ends that was told twice.
const TOLD_TWICE: i32 = 130;

#[derive(Args)]
#[command(
    after_help = "Ctrl-C shuts the agent down; started again it goes on. Exit codes: 0 at rest or shut down; 2 it cannot go on; 3 the story \
                        crashes here.\n\nExamples:\n  wakeful run --ledger agent.sqlite --story story.toml --virtual --until-rest\n  \
                        wakeful run --ledger agent.sqlite --story story.toml"
)]
pub(super) struct RunArgs {
    /// The file of ledgers; made where there is none
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    /// The story that it plays (docs/stories.md)
    #[arg(long, value_name = "FILE")]
    story: PathBuf,
    /// The agent [default: the story's]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Jump to the next thing that happens instead of waiting for it
    #[arg(long = "virtual")]
    is_virtual: bool,
    /// Play at the instants of an earlier ledger of this agent
    #[arg(long, value_name = "FILE", conflicts_with = "is_virtual")]
    recorded: Option<PathBuf>,
    /// End when the story is over and the agent rests, with nothing but repeating timers and offers of resting items to wake it
    #[arg(long)]
    until_rest: bool,
    /// Print each entry as it is stored, one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    driver: DriverArg,
}

impl RunArgs {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        let (story, _) = case::load_story(&self.story)?;
        let agent_id = self.agent.as_deref().map_or_else(|| story.agent_id.clone(), AgentId::from);
        let time = match &self.recorded {
            Some(file) => Time::Recorded { clock: recorded(file, &agent_id)?, now: story.starts_at },
            None if self.is_virtual => Time::Virtual(story.starts_at),
            None => Time::System,
        };
        let ledger = SqliteFile::open(&self.ledger)?.ledger(&agent_id);
        let log = Log { json: self.json, bar: bar() };
        let until = if self.until_rest { Until::Rest } else { Until::Told };
        let mut run = Run::open(&Options::new(agent_id), &self.driver.engines()?, ledger, story, time, signals()?, log)?;
        match run.live(until)? {
            Ending::Rested | Ending::ShutDown => Ok(Verdict::Well),
            // What a crash leaves is what is on the disk: nothing is tidied up.
            Ending::Crashed => {
                anstream::eprintln!("{} as the story says; run it again, and it goes on", painted(BAD, "crashed"));
                process::exit(CRASHED)
            }
        }
    }
}

/// The signals that ask for shutdown; the second one ends the process at once.
fn signals() -> Result<Receiver<()>, CliError> {
    let (sender, receiver) = mpsc::channel();
    let told = AtomicBool::new(false);
    let heard = move || {
        if told.swap(true, Ordering::SeqCst) || sender.send(()).is_err() {
            process::exit(TOLD_TWICE);
        }
    };
    ctrlc::set_handler(heard).map_err(CliError::NoInterrupt)?;
    Ok(receiver)
}

fn recorded(file: &Path, agent: &AgentId) -> Result<RecordedClock, CliError> {
    let (_, mut ledger) = ledger::to_read(file, Some(agent.as_str()))?;
    let mut entries = Vec::new();
    driver::read(&mut ledger, Head::START, |entry, _| entries.push(entry.clone()))?;
    Ok(RecordedClock::of(&entries))
}

/// Prints entries as they are appended.
struct Log {
    json: bool,
    bar: ProgressBar,
}

impl Log {
    fn print(&self, line: &str) {
        // A reader that has gone away does not stop the agent.
        self.bar.suspend(|| writeln!(anstream::stdout(), "{line}").ok());
    }
}

impl Watcher for Log {
    fn entry(&mut self, entry: &Entry, bytes: &EntryBytes) {
        if self.json {
            self.print(bytes.as_str());
        } else if let Some(line) = log::news(entry) {
            self.print(&line);
        }
    }
}

impl Audience for Log {
    fn refused(&mut self, fact: &RawJson, why: &ErrorReport) {
        self.bar.suspend(|| writeln!(anstream::stderr(), "{} {}: {}", painted(BAD, "not taken:"), fact.as_str(), why.message).ok());
    }

    fn progress(&mut self, done: u64, of: u64, now: Timestamp) {
        if !self.bar.is_hidden() {
            self.bar.set_length(of);
            self.bar.set_position(done);
            self.bar.set_message(now.to_string());
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    match ProgressStyle::with_template("{bar:30} line {pos} of {len}  {msg}") {
        Ok(style) => bar.with_style(style),
        // INVARIANT: the template above is well formed; the default style would do as well.
        Err(_) => bar,
    }
}
