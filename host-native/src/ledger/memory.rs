//! A ledger in memory: for tests, replays and cross-checks.

use std::{cell::RefCell, rc::Rc};

use wakeful_core::{
    entry::{EntryBytes, Head},
    host::{Ledger, LedgerError},
    id::Seq,
};

/// A ledger in memory. Clones share the entries.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger {
    entries: Rc<RefCell<Vec<EntryBytes>>>,
}

impl MemoryLedger {
    /// The stored lines from position `from` on, counted from 0.
    #[must_use]
    pub fn lines_from(&self, from: usize) -> Vec<String> {
        let entries = self.entries.borrow();
        entries.iter().skip(from).map(|entry| entry.as_str().to_owned()).collect()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.borrow().len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.borrow().is_empty()
    }
}

impl Ledger for MemoryLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let mut entries = self.entries.borrow_mut();
        // One process holds this ledger, so the position alone tells whether another writer was first.
        let found = Seq(entries.len() as u64);
        if found != expected.seq {
            return Err(LedgerError::Conflict { found });
        }
        entries.extend_from_slice(batch);
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let skip = usize::try_from(after.0).unwrap_or(usize::MAX);
        Ok(self.entries.borrow().iter().skip(skip).take(limit as usize).cloned().collect())
    }
}
