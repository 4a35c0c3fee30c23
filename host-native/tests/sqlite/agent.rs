//! An agent over a ledger, with a clock that stands still and a provider that accepts every call
//! and does nothing.

use std::path::Path;

use wakeful_core::{
    AgentId, EntryBytes, Ledger, Machine, Options, Scheduler, Seq, State, Timestamp,
};
use wakeful_host::{
    clock::VirtualClock,
    ledger::{SqliteFile, SqliteLedger},
    provider::Elsewhere,
};

use crate::shared::prompt;

/// The time in every test.
pub(crate) const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// The scheduler in the tests.
pub(crate) type Agent<L> = Scheduler<L, VirtualClock, Elsewhere>;

/// Opens the ledger of agent `id` as an observer, which records facts and starts nothing.
pub(crate) fn observed<L: Ledger>(id: &str, ledger: L) -> Agent<L> {
    Scheduler::observe(Options::new(id.into()), ledger, VirtualClock::at(NOW), Elsewhere)
        .expect("the ledger opens")
}

/// The ledger of an agent in a file.
pub(crate) fn ledger(file: &SqliteFile, id: &str) -> SqliteLedger {
    file.ledger(&AgentId::from(id))
}

/// A file with one agent `a` that has `messages` messages of its operator.
pub(crate) fn file_with(path: &Path, messages: usize) -> SqliteFile {
    let file = SqliteFile::open(path).expect("the file opens");
    let mut agent = observed("a", ledger(&file, "a"));
    for number in 0..messages {
        agent.propose(&prompt(&format!("m{number}"))).expect("it is recorded");
    }
    file
}

/// All entries of a ledger, read in pages.
pub(crate) fn entries(ledger: &mut impl Ledger) -> Vec<EntryBytes> {
    let mut all: Vec<EntryBytes> = Vec::new();
    loop {
        let page = ledger.read(Seq(all.len() as u64), 100).expect("a page");
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// The state that the whole log gives, with each entry verified.
pub(crate) fn folded(id: &str, ledger: &mut impl Ledger) -> State {
    let mut machine = Machine::new(Options::new(id.into()));
    entries(ledger).iter().for_each(|entry| machine.load(entry).expect("the chain holds"));
    machine.state().clone()
}
