//! The life of an agent over as many processes as it takes, on a ledger that checks what is
//! appended.

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

/// More entries than a story has that comes to rest.
const FOR_EVER: usize = 5_000;

/// A life that came to rest.
pub struct Lived {
    /// The ledger at its end.
    pub ledger: WatchedLedger,
    /// How many entries it had after each append.
    pub cuts: Vec<usize>,
}

impl Lived {
    /// The ledger as it was after an append, counted from 0; none where there were not so many.
    #[must_use]
    pub fn cut(&self, append: usize) -> Option<WatchedLedger> {
        self.cuts.get(append).map(|len| self.ledger.upto(*len))
    }

    /// What it came to.
    #[must_use]
    pub fn end(&self) -> End {
        End::from_ledger(&self.ledger)
    }
}

/// Lets an agent live until its story is over.
///
/// # Errors
/// Why it cannot, as where it never rests.
pub fn whole(story: &Story) -> Result<Lived, String> {
    live(story, WatchedLedger::default())
}

/// How many batches of a process that goes on are checked: what it finds, and the first that it
/// does. Then it does what the whole life did.
const RECOVERY: usize = 4;

/// Lets an agent live on from a ledger, which stays as it is.
///
/// # Errors
/// Why it cannot, as where it never rests.
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

/// A ledger that ends where no story ends.
#[derive(Clone)]
struct Bounded(WatchedLedger);

impl Ledger for Bounded {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        if self.0.entries().len() > FOR_EVER {
            return Err(LedgerError::Failed { message: "it never comes to rest".to_owned() });
        }
        self.0.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.0.read(after, limit)
    }
}

/// Looks on, and says nothing: what the core refuses is refused.
struct Silent;

impl Watcher for Silent {
    fn entry(&mut self, _: &Entry, _: &EntryBytes) {}
}

impl Audience for Silent {
    fn refused(&mut self, _: &RawJson, _: &ErrorReport) {}

    fn progress(&mut self, _: u64, _: u64, _: Timestamp) {}
}
