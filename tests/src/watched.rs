//! A ledger that checks every appended batch against the invariants of contract 14.

use std::{cell::RefCell, num::NonZeroUsize, rc::Rc};

use wakeful_core::{
    check::{self, Breach},
    host::{Ledger, LedgerError},
    id::Seq,
    record::{
        chain::Head,
        entry::{Entry, EntryBytes},
    },
    state::State,
};
use wakeful_host::ledger::MemoryLedger;

/// A ledger in memory, and the breaches of its batches. Clones share both.
#[derive(Clone, Default)]
pub struct WatchedLedger {
    entries: MemoryLedger,
    seen: Rc<RefCell<Seen>>,
}

struct Seen {
    /// The number of batches that are still to be checked.
    checks: usize,
    /// Every n-th batch is checked.
    one_in: usize,
    state: State,
    opened: Vec<Rc<Entry>>,
    /// The number of entries after each append.
    appends: Vec<usize>,
    breaches: Vec<Breach>,
    batches: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            checks: usize::MAX,
            one_in: 1,
            state: State::default(),
            opened: Vec::new(),
            appends: Vec::new(),
            breaches: Vec::new(),
            batches: 0,
        }
    }
}

impl WatchedLedger {
    /// Checks only the next `checks` batches.
    #[must_use]
    pub fn checking(self, checks: usize) -> Self {
        self.seen.borrow_mut().checks = checks;
        self
    }

    /// Checks only every n-th batch, for long ledgers: a check clones the whole state.
    #[must_use]
    pub fn checking_one_in(self, batches: NonZeroUsize) -> Self {
        self.seen.borrow_mut().one_in = batches.get();
        self
    }

    /// The entries as they are stored.
    #[must_use]
    pub fn entries(&self) -> &MemoryLedger {
        &self.entries
    }

    /// The breaches that were found, in order; empty if every invariant held.
    #[must_use]
    pub fn breaches(&self) -> Vec<Breach> {
        self.seen.borrow().breaches.clone()
    }

    /// The number of batches that were checked.
    #[must_use]
    pub fn batches(&self) -> usize {
        self.seen.borrow().batches
    }

    /// A ledger with these entries, whose batches are not checked.
    ///
    /// # Errors
    /// If an entry is damaged.
    pub fn holding(entries: &[EntryBytes]) -> Result<Self, LedgerError> {
        let mut ledger = Self::default().checking(0);
        ledger.append(&Head::START, entries)?;
        Ok(ledger)
    }

    /// A separate ledger with the first `len` entries of this one.
    ///
    /// # Panics
    /// Never: a fresh ledger in memory accepts what another one holds.
    #[must_use]
    pub fn upto(&self, len: usize) -> Self {
        let held = self
            .entries
            .clone()
            .read(Seq(0), u32::try_from(len).unwrap_or(u32::MAX))
            .expect("a ledger in memory");
        let mut part = Self::default();
        part.entries.append(&Head::START, &held).expect("a fresh ledger");
        let opened: Vec<_> = self.seen.borrow().opened.iter().take(len).cloned().collect();
        let mut state = State::default();
        opened.iter().for_each(|entry| state.apply(entry));
        *part.seen.borrow_mut() = Seen { state, opened, ..Seen::default() };
        part
    }

    /// All entries, decoded.
    #[must_use]
    pub fn opened(&self) -> Vec<Rc<Entry>> {
        self.seen.borrow().opened.clone()
    }

    /// The number of entries after each append.
    #[must_use]
    pub fn appends(&self) -> Vec<usize> {
        self.seen.borrow().appends.clone()
    }

    /// Passes the state that the entries give, without a copy of it.
    pub fn look<T>(&self, at: impl FnOnce(&State) -> T) -> T {
        at(&self.seen.borrow().state)
    }

    /// A copy of the state that the entries give.
    #[must_use]
    pub fn state(&self) -> State {
        self.seen.borrow().state.clone()
    }
}

impl Ledger for WatchedLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.entries.append(expected, batch)?;
        let mut seen = self.seen.borrow_mut();
        // Only a check needs the state before the batch, and the copy is large.
        let before = (seen.checks > 0 && seen.appends.len().is_multiple_of(seen.one_in))
            .then(|| seen.state.clone());
        let mut entries = Vec::new();
        for bytes in batch {
            let entry = bytes
                .open(&seen.state.head())
                .map_err(|why| LedgerError::Failed { message: why.to_string() })?;
            seen.state.apply(&entry);
            entries.push(entry);
        }
        if let Some(before) = before {
            let broken = check::breaches(&before, &entries, &seen.state);
            seen.breaches.extend(broken);
            seen.batches += 1;
            seen.checks -= 1;
        }
        seen.opened.extend(entries.into_iter().map(Rc::new));
        let len = seen.opened.len();
        seen.appends.push(len);
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.entries.read(after, limit)
    }
}
