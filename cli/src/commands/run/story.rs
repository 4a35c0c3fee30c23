//! Runs an agent that plays a story.

use std::{io, path::Path, process, sync::Arc};

use indicatif::{ProgressBar, ProgressStyle};
use wakeful_core::{
    host::{Clock, ErrorReport},
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
    ledger::Own,
};

use super::{
    RunArgs, joined,
    patience::{Endless, Hurry},
};
use crate::{
    case,
    commands::{
        CliError, Verdict,
        ledger::{self, Place},
        log, say,
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
    let place = Place::named(&args.ledger)?;
    ledger::require_plain(&place, &agent_id)?;
    let has_own_time = args.story.is_virtual || args.story.recorded.is_some();
    if has_own_time && matches!(place, Place::Store(_)) {
        let option = if args.story.is_virtual { "--virtual" } else { "--recorded" };
        let why = "the agents of a store wait by the time of its database";
        return Err(CliError::NotOnStore { option, why });
    }
    let log = Log { json: args.json, bar: bar() };
    let hurry = Hurry::default();
    let signals = super::signals(hurry.clone())?;
    let notice = log.clone();
    let patience = Endless::new(hurry, move |said: &str| notice.notice(said));
    let joined = joined::join(&place, Arc::new(patience))?;
    let store = &joined.0;
    let own = store.own(&agent_id)?;
    let time = match &args.story.recorded {
        Some(file) => Time::Recorded { clock: recorded(file, &agent_id)?, now: story.starts_at },
        None if args.story.is_virtual => Time::Virtual(story.starts_at),
        None => {
            let (mut clock, least) = (store.clock(), Timestamp::from_nanos(i64::MIN));
            let time = Box::new(move || clock.now());
            Time::System(SteadyClock::over(time, least, args.trust_clock))
        }
    };
    let until = if args.until_rest { Until::Rest } else { Until::Told };
    let engines = args.driver.engines()?;
    let ledger = own.ledger();
    ledger::verify(&place, &agent_id, &mut ledger::Stored::Local(ledger.clone()))?;
    let options = Options::new(agent_id.clone());
    let opened = Run::open(&options, &engines, ledger, story, time, signals, log);
    let ended = |why| super::ended(why, store);
    let mut run = opened.map_err(ended)?.owning(own);
    match run.live(until).map_err(ended)? {
        ending @ (Ending::Rested | Ending::ShutDown) => {
            let due = run.next_wake().map_err(ended)?;
            match run.give_up() {
                Some(Own::Worker(claim)) if ending == Ending::Rested => claim.wait_at_rest(),
                Some(own) => own.release()?,
                None => {}
            }
            joined::give_back(store, &agent_id, due);
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
    let (_, mut ledger) = ledger::to_read(&Place::named(file)?, Some(agent.as_str()))?;
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
