//! A ledger that checks every batch against the invariants of contract 14 as it is appended.

use std::{cell::RefCell, rc::Rc};

use wakeful::ledger::MemoryLedger;
use wakeful_core::{
    check::{self, Breach},
    entry::{EntryBytes, Head},
    host::{Ledger, LedgerError},
    id::Seq,
    state::State,
};

/// A ledger in memory, and what its batches broke. Clones share both.
#[derive(Clone, Default)]
pub struct WatchedLedger {
    entries: MemoryLedger,
    seen: Rc<RefCell<Seen>>,
}

#[derive(Default)]
struct Seen {
    state: State,
    breaches: Vec<Breach>,
    batches: usize,
}

impl WatchedLedger {
    /// The entries.
    #[must_use]
    pub fn entries(&self) -> &MemoryLedger {
        &self.entries
    }

    /// What was broken, in order; empty where all held.
    #[must_use]
    pub fn breaches(&self) -> Vec<Breach> {
        self.seen.borrow().breaches.clone()
    }

    /// How many batches were checked.
    #[must_use]
    pub fn batches(&self) -> usize {
        self.seen.borrow().batches
    }

    /// The state that the entries give.
    #[must_use]
    pub fn state(&self) -> State {
        self.seen.borrow().state.clone()
    }
}

impl Ledger for WatchedLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.entries.append(expected, batch)?;
        let mut seen = self.seen.borrow_mut();
        let before = seen.state.clone();
        let mut entries = Vec::new();
        for bytes in batch {
            let entry = bytes.open(&seen.state.head).map_err(|why| LedgerError::Failed { message: why.to_string() })?;
            seen.state.apply(&entry);
            entries.push(entry);
        }
        let broken = check::breaches(&before, &entries, &seen.state);
        seen.breaches.extend(broken);
        seen.batches += 1;
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.entries.read(after, limit)
    }
}
