//! Plays a story to its end, over as many processes as it takes, on a ledger that checks every
//! batch.

use std::sync::mpsc;

use wakeful::run::{Audience, Ending, Run, Time, Until};
use wakeful_core::{
    host::{ErrorReport, Ledger, LedgerError},
    id::Seq,
    json::RawJson,
    machine::Options,
    record::{
        chain::Head,
        entry::{Entry, EntryBytes},
    },
    story::Story,
    time::Timestamp,
};
use wakeful_host::{driver::Watcher, engine::Engines};

use super::end::End;
use crate::watched::WatchedLedger;

/// More entries than any story has that reaches rest.
const FOR_EVER: usize = 5_000;

/// A story that reached rest.
pub struct Lived {
    /// The ledger at the end.
    pub ledger: WatchedLedger,
    /// The number of entries after each append.
    pub cuts: Vec<usize>,
}

impl Lived {
    /// The ledger as it was after an append, counted from 0; `None` if there were fewer appends.
    #[must_use]
    pub fn cut(&self, append: usize) -> Option<WatchedLedger> {
        self.cuts.get(append).map(|len| self.ledger.upto(*len))
    }

    /// The outcome.
    #[must_use]
    pub fn end(&self) -> End {
        End::from_ledger(&self.ledger)
    }
}

/// Plays a story from its beginning.
///
/// # Errors
/// If a process fails, or if the agent never rests.
pub fn whole(story: &Story) -> Result<Lived, String> {
    live(story, WatchedLedger::default())
}

/// The number of batches that are checked after a crash: the recovery and the first steps. After
/// that the process does what the whole life did, which was checked there.
const RECOVERY: usize = 4;

/// Continues a story from a copy of a ledger; the ledger itself does not change.
///
/// # Errors
/// If a process fails, or if the agent never rests.
pub fn from(story: &Story, ledger: &WatchedLedger) -> Result<Lived, String> {
    live(story, ledger.upto(ledger.entries().len()).checking(RECOVERY))
}

fn live(story: &Story, ledger: WatchedLedger) -> Result<Lived, String> {
    loop {
        let (_sender, signals) = mpsc::channel();
        let time = Time::Virtual(story.starts_at);
        let options = Options::new(story.agent_id.clone());
        let opened = Run::open(
            &options,
            &Engines::Native,
            Bounded(ledger.clone()),
            story.clone(),
            time,
            signals,
            Silent,
        );
        match opened.and_then(|mut run| run.live(Until::Rest)) {
            Ok(Ending::Crashed | Ending::ShutDown) => {}
            Ok(Ending::Rested) => break,
            Err(why) => return Err(format!("{why}, with entry {}", ledger.state().head().seq)),
        }
    }
    let cuts = ledger.appends();
    Ok(Lived { ledger, cuts })
}

/// A ledger that fails when it is longer than any story needs, so that an endless loop ends.
#[derive(Clone)]
struct Bounded(WatchedLedger);

impl Ledger for Bounded {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        if self.0.entries().len() > FOR_EVER {
            return Err(LedgerError::Failed { message: "the agent never rests".to_owned() });
        }
        self.0.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.0.read(after, limit)
    }
}

/// Prints nothing. A refused fact is part of a story.
struct Silent;

impl Watcher for Silent {
    fn entry(&mut self, _: &Entry, _: &EntryBytes) {}
}

impl Audience for Silent {
    fn refused(&mut self, _: &RawJson, _: &ErrorReport) {}

    fn progress(&mut self, _: u64, _: u64, _: Timestamp) {}
}
