//! A story that is broken off after any batch, and goes on from there, comes to the same end: what a process knows is in the ledger.

use std::{cell::RefCell, rc::Rc, sync::mpsc};

use wakeful::{
    ledger::MemoryLedger,
    run::{self, Ending, Run, Time, Until, Watcher},
    story::read_toml,
};
use wakeful_core::{
    entry::{Entry, EntryBytes, Head},
    host::{Ledger, LedgerError},
    id::Seq,
    json::RawJson,
    machine::{Options, ProposeError},
    story::Story,
    time::Timestamp,
};

use super::{HEAD, agent::Outcome, ends::WORK};
use crate::stories::documented;

/// A batch, and the head at which it was appended.
type Batch = (Head, Vec<EntryBytes>);

/// A ledger in memory that keeps its batches apart.
#[derive(Clone, Default)]
struct Batches {
    entries: MemoryLedger,
    batches: Rc<RefCell<Vec<Batch>>>,
}

impl Ledger for Batches {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.entries.append(expected, batch)?;
        self.batches.borrow_mut().push((*expected, batch.to_vec()));
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.entries.read(after, limit)
    }
}

struct Silent;

impl Watcher for Silent {
    fn entry(&mut self, _: &Entry, _: &EntryBytes) {}

    fn refused(&mut self, fact: &RawJson, why: &ProposeError) {
        panic!("{}: {why}", fact.as_str());
    }

    fn progress(&mut self, _: u64, _: u64, _: Timestamp) {}
}

/// Lets an agent live until its story is over, over as many processes as it takes.
fn lives(story: &Story, ledger: &Batches) -> Outcome {
    loop {
        let (_sender, signals) = mpsc::channel();
        let time = Time::Virtual(story.starts_at);
        let opened = Run::open(&Options::new("default".into()), ledger.clone(), story.clone(), time, signals, Silent);
        match opened.and_then(|mut run| run.live(Until::Rest)).expect("it goes on") {
            Ending::Crashed => {}
            Ending::Rested => break,
            Ending::ShutDown => panic!("nobody asked for shutdown"),
        }
    }
    let mut entries = Vec::new();
    run::read(&mut ledger.clone(), Head::START, |entry, _| entries.push(entry.clone())).expect("the entries");
    Outcome::of(&entries)
}

fn goes_on_from_every_batch(text: &str) {
    let (story, _) = read_toml(text).expect("a story");
    let whole = Batches::default();
    let expected = lives(&story, &whole);
    let batches = whole.batches.borrow();
    assert!(batches.len() > 30, "there is something to break off: {}", batches.len());
    for cut in 1..batches.len() {
        let mut ledger = Batches::default();
        batches.iter().take(cut).for_each(|(head, batch)| ledger.append(head, batch).expect("a prefix"));
        assert_eq!(lives(&story, &ledger), expected, "broken off after batch {cut} of {}", batches.len());
    }
}

#[test]
fn work_that_is_broken_off_anywhere_comes_to_the_same_end() {
    goes_on_from_every_batch(&format!("{HEAD}{WORK}"));
}

#[test]
fn the_documented_example_goes_on_from_everywhere() {
    goes_on_from_every_batch(&documented());
}
