//! A ledger that checks every batch against the invariants of contract 14 as it is appended.

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

/// A ledger in memory, and what its batches broke. Clones share both.
#[derive(Clone, Default)]
pub struct WatchedLedger {
    entries: MemoryLedger,
    seen: Rc<RefCell<Seen>>,
}

struct Seen {
    /// How many more batches are checked.
    checks: usize,
    /// One of how many is.
    one_in: usize,
    state: State,
    opened: Vec<Rc<Entry>>,
    /// How many entries there were after each append.
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
    /// Checks only so many of the batches that are still to come.
    #[must_use]
    pub fn checking(self, checks: usize) -> Self {
        self.seen.borrow_mut().checks = checks;
        self
    }

    /// Checks only one in so many batches, where a ledger grows long.
    #[must_use]
    pub fn checking_one_in(self, batches: NonZeroUsize) -> Self {
        self.seen.borrow_mut().one_in = batches.get();
        self
    }

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

    /// A ledger with these entries, which are not checked.
    ///
    /// # Errors
    /// Where they are damaged.
    pub fn holding(entries: &[EntryBytes]) -> Result<Self, LedgerError> {
        let mut ledger = Self::default().checking(0);
        ledger.append(&Head::START, entries)?;
        Ok(ledger)
    }

    /// A ledger of its own, with the first entries of this one.
    ///
    /// # Panics
    /// Never: a fresh ledger in memory takes what another one holds.
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

    /// Every entry.
    #[must_use]
    pub fn opened(&self) -> Vec<Rc<Entry>> {
        self.seen.borrow().opened.clone()
    }

    /// How many entries there were after each append.
    #[must_use]
    pub fn appends(&self) -> Vec<usize> {
        self.seen.borrow().appends.clone()
    }

    /// Looks at the state that the entries give.
    pub fn look<T>(&self, at: impl FnOnce(&State) -> T) -> T {
        at(&self.seen.borrow().state)
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
