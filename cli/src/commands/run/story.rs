//! Runs an agent that plays a story.

use std::{io, path::Path, process, sync::Arc};

use indicatif::{ProgressBar, ProgressStyle};
use wakeful_core::{
    host::ErrorReport,
    id::AgentId,
    json::RawJson,
    machine::Options,
    record::{
        chain::Head,
        entry::{Entry, EntryBytes},
    },
    time::Timestamp,
};
use wakeful_host::{
    clock::{RecordedClock, SteadyClock},
    driver::{self, Watcher},
    ledger::SqliteFile,
};

use super::{
    RunArgs,
    patience::{Endless, Hurry},
};
use crate::{
    case,
    commands::{
        CliError, Verdict, ledger, log, say,
        style::{BAD, STRONG, painted},
    },
    run::{Audience, Ending, Run, Time, Until},
};

/// The exit code if the story demands a crash.
const CRASHED: i32 = 3;

/// Runs an agent with its story.
pub(super) fn play(args: &RunArgs, story: &Path) -> Result<Verdict, CliError> {
    let (story, _) = case::load_story(story)?;
    let agent_id = args.agent.as_deref().map_or_else(|| story.agent_id.clone(), AgentId::from);
    ledger::require_plain(&args.ledger, &agent_id)?;
    let time = match &args.story.recorded {
        Some(file) => Time::Recorded { clock: recorded(file, &agent_id)?, now: story.starts_at },
        None if args.story.is_virtual => Time::Virtual(story.starts_at),
        None => Time::System(SteadyClock::new(Timestamp::from_nanos(i64::MIN), args.trust_clock)),
    };
    let log = Log { json: args.json, bar: bar() };
    let hurry = Hurry::default();
    let signals = super::signals(hurry.clone())?;
    let notice = log.clone();
    let patience = Endless::new(hurry, move |said: &str| notice.notice(said));
    let file = SqliteFile::open_patiently(&args.ledger, Arc::new(patience))?;
    let owned = file.own(&agent_id)?;
    let until = if args.until_rest { Until::Rest } else { Until::Told };
    let engines = args.driver.engines()?;
    let ledger = file.ledger(&agent_id);
    let mut stored = ledger::Stored::of_file(ledger.clone());
    ledger::verify(&args.ledger.display(), &agent_id, &mut stored)?;
    let ending = Run::open(&Options::new(agent_id), &engines, ledger, story, time, signals, log)
        .and_then(|mut run| run.live(until));
    match ending.map_err(|why| super::ended(why, &file))? {
        Ending::Rested | Ending::ShutDown => {
            owned.release()?;
            Ok(Verdict::Well)
        }
        // A crash must leave only what is on the disk, so nothing is cleaned up.
        Ending::Crashed => {
            mention!(
                "{} as the story demands; run the same command again to continue",
                painted(BAD, "crashed")
            );
            process::exit(CRASHED)
        }
    }
}

fn recorded(file: &Path, agent: &AgentId) -> Result<RecordedClock, CliError> {
    let (_, mut ledger) = ledger::to_read(&ledger::Place::from(file), Some(agent.as_str()))?;
    let mut entries = Vec::new();
    driver::read(&mut ledger, Head::START, |entry, _| entries.push(entry.clone()))?;
    Ok(RecordedClock::from_entries(&entries))
}

/// Prints entries as they are appended. Clones print to the same terminal.
#[derive(Clone)]
struct Log {
    json: bool,
    bar: ProgressBar,
}

impl Log {
    fn notice(&self, said: &str) {
        let line = format!("{} {said}", painted(STRONG, "notice:"));
        self.bar.suspend(|| say::beside(&line));
    }

    fn print(&self, print: impl FnOnce() -> io::Result<()>) {
        // The agent continues even if the reader of the output is gone.
        self.bar.suspend(|| print().ok());
    }
}

impl Watcher for Log {
    fn entry(&mut self, entry: &Entry, bytes: &EntryBytes) {
        if self.json {
            self.print(|| say::stored(bytes.as_str()));
        } else if let Some(line) = log::news(entry) {
            self.print(|| say::line(&line));
        }
    }
}

impl Audience for Log {
    fn refused(&mut self, fact: &RawJson, why: &ErrorReport) {
        let line = format!("{} {}: {}", painted(BAD, "refused:"), fact.as_str(), why.message);
        self.bar.suspend(|| say::beside(&line));
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
        // INVARIANT: the template above is valid, so this is not reached.
        Err(_) => bar,
    }
}
