//! Faults at every import. The ledger fails before or after it has stored a batch, or another
//! writer is first. Snapshots are lost, old or damaged. The provider does not do what it is asked.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use serde_json::json;
use wakeful_core::{
    host::{Ledger, LedgerError, Provider, ProviderError},
    id::{Seq, TaskId},
    record::{
        Record,
        chain::Head,
        effect::Effect,
        entry::{Entry, EntryBytes},
        event::{EventKind, EventRecord},
    },
};

use crate::{dice::Dice, watched::WatchedLedger};

/// Decides what fails and when, and counts it. Clones share it.
#[derive(Clone)]
pub(super) struct Fate(Rc<Shared>);

struct Shared {
    dice: RefCell<Dice>,
    is_calm: Cell<bool>,
    befell: RefCell<BTreeMap<&'static str, u64>>,
    /// The number of entries that were appended in this world.
    entries: Cell<u64>,
}

impl Fate {
    pub(super) fn of_seed(seed: u64) -> Self {
        let dice = RefCell::new(Dice::of_seed(seed));
        Self(Rc::new(Shared {
            dice,
            is_calm: Cell::new(false),
            befell: RefCell::default(),
            entries: Cell::new(0),
        }))
    }

    /// Ends the wild days: from now on nothing fails.
    pub(super) fn calm_down(&self) {
        self.0.is_calm.set(true);
    }

    pub(super) fn is_calm(&self) -> bool {
        self.0.is_calm.get()
    }

    /// Whether this fault happens now; it does once in `once_in` calls on average, and is counted.
    pub(super) fn befalls(&self, what: &'static str, once_in: u64) -> bool {
        let befalls = !self.is_calm() && self.0.dice.borrow_mut().one_in(once_in);
        if befalls {
            self.count(what);
        }
        befalls
    }

    /// Counts a fault.
    pub(super) fn count(&self, what: &'static str) {
        *self.0.befell.borrow_mut().entry(what).or_default() += 1;
    }

    pub(super) fn below(&self, end: u64) -> u64 {
        self.0.dice.borrow_mut().below(end)
    }

    /// The place of the next entry among the entries of all ledgers of this world.
    fn next_entry(&self) -> u64 {
        self.0.entries.replace(self.0.entries.get() + 1)
    }

    pub(super) fn befell(&self) -> BTreeMap<&'static str, u64> {
        self.0.befell.borrow().clone()
    }
}

/// A ledger that checks its batches, keeps its newest snapshot, and fails as its fate decides.
#[derive(Clone)]
pub(super) struct Store {
    pub(super) watched: WatchedLedger,
    snapshot: Rc<RefCell<Option<String>>>,
    /// The places of its entries among the entries of all ledgers of its world.
    places: Rc<RefCell<Vec<u64>>>,
    fate: Fate,
    /// The process dies with the next call: what it has written is there, what it still wants to
    /// write is not.
    pub(super) is_dying: Rc<Cell<bool>>,
    /// The number of calls for which another process still holds the ledger.
    held: Rc<Cell<u64>>,
    /// The length of the older copy that is in place of the ledger, if one is.
    replaced: Rc<Cell<Option<u64>>>,
}

impl Store {
    pub(super) fn new(fate: &Fate) -> Self {
        let watched =
            WatchedLedger::default().checking_one_in(std::num::NonZeroUsize::MIN.saturating_add(4));
        Self {
            watched,
            snapshot: Rc::default(),
            places: Rc::default(),
            fate: fate.clone(),
            is_dying: Rc::default(),
            held: Rc::default(),
            replaced: Rc::default(),
        }
    }

    /// Its entries as they are stored, each with its place among the entries of all ledgers of its
    /// world.
    pub(super) fn history(&self) -> Vec<(u64, String)> {
        self.places.borrow().iter().copied().zip(self.watched.entries().lines_from(0)).collect()
    }

    fn stored(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.watched.append(expected, batch)?;
        self.places.borrow_mut().extend(batch.iter().map(|_| self.fate.next_entry()));
        Ok(())
    }

    /// The ledger is put back in its place.
    pub(super) fn restore(&self) {
        self.replaced.set(None);
    }

    /// Whether another process holds the ledger now.
    fn is_held(&self) -> bool {
        if self.held.get() == 0 && self.fate.befalls("ledgers that were held for a while", 300) {
            self.held.set(1 + self.fate.below(20));
        }
        let is_held = self.held.get() > 0 && !self.fate.is_calm();
        self.held.set(self.held.get().saturating_sub(1));
        is_held
    }

    /// The end of the copy that is in place of the ledger, if one is.
    fn copy(&self, head: Seq) -> Option<Seq> {
        if self.fate.is_calm() {
            return None;
        }
        if self.replaced.get().is_none()
            && head > Seq(3)
            && self.fate.befalls("ledgers that were replaced by an older copy", 500)
        {
            self.replaced.set(Some(head.0 - 1 - self.fate.below(head.0 - 2)));
        }
        self.replaced.get().map(Seq)
    }

    fn failed<T>(message: &str) -> Result<T, LedgerError> {
        Err(LedgerError::Failed { message: message.to_owned() })
    }

    /// Another writer appends an entry that changes nothing.
    fn intrude(&mut self) {
        let (head, at) = self.watched.look(|state| (state.head(), state.at()));
        let note = EventRecord::new(
            EventKind::FactIgnored,
            at,
            &json!({ "fact": "noted elsewhere", "reason": "unknown", "because": 1 }),
        );
        let (_, bytes) = Entry::seal(&head, at, Record::Event(note));
        // It follows the last entry, so the ledger accepts it.
        drop(self.stored(&head, &[bytes]));
    }
}

impl Ledger for Store {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        if self.is_dying.get() || self.fate.befalls("appends that failed", 150) {
            return Self::failed("the disk is full");
        }
        if self.is_held() {
            return Self::failed("another process holds the ledger");
        }
        if let Some(found) = self.copy(expected.seq) {
            return Err(LedgerError::Conflict { found });
        }
        if self.fate.befalls("kills before an append", 400) {
            self.is_dying.set(true);
            return Self::failed("killed");
        }
        if expected.seq > Seq(1) && self.fate.befalls("other writers that were first", 200) {
            self.intrude();
        }
        self.stored(expected, batch)?;
        if self.fate.befalls("appends that were stored and not acknowledged", 200) {
            return Self::failed("the connection was lost");
        }
        if self.fate.befalls("kills after an append", 400) {
            self.is_dying.set(true);
            return Self::failed("killed");
        }
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        if self.is_dying.get() || self.fate.befalls("reads that failed", 200) {
            return Self::failed("the disk does not answer");
        }
        if self.is_held() {
            return Self::failed("another process holds the ledger");
        }
        if let Some(end) = self.replaced.get().filter(|_| !self.fate.is_calm()) {
            let most = u32::try_from(end.saturating_sub(after.0)).unwrap_or(limit).min(limit);
            return if most == 0 { Ok(Vec::new()) } else { self.watched.read(after, most) };
        }
        let limit = if self.fate.befalls("reads that gave less than was asked for", 20) {
            limit.div_ceil(2)
        } else {
            limit
        };
        self.watched.read(after, limit)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        if self.fate.befalls("snapshots that could not be read", 10) {
            return Self::failed("no snapshot");
        }
        let snapshot = self.snapshot.borrow().clone();
        if snapshot.is_some() && self.fate.befalls("snapshots that were damaged", 10) {
            return Ok(snapshot.map(|text| text.replacen('1', "2", 3)));
        }
        Ok(snapshot)
    }

    fn store_snapshot(&mut self, _: &Head, write: &dyn Fn() -> String) -> Result<(), LedgerError> {
        if self.fate.befalls("snapshots that could not be stored", 5) {
            return Self::failed("no room");
        }
        *self.snapshot.borrow_mut() = Some(write());
        Ok(())
    }
}

/// A provider that notes what it is asked, and sometimes fails.
#[derive(Clone)]
pub(super) struct Asked {
    effects: Rc<RefCell<VecDeque<Effect>>>,
    alive: Rc<RefCell<Vec<TaskId>>>,
    fate: Fate,
}

impl Asked {
    pub(super) fn new(fate: &Fate) -> Self {
        Self { effects: Rc::default(), alive: Rc::default(), fate: fate.clone() }
    }

    pub(super) fn take(&self) -> Option<Effect> {
        self.effects.borrow_mut().pop_front()
    }

    /// The process is gone: what it was asked is forgotten. The tasks in `alive` live on.
    pub(super) fn forget(&self, alive: Vec<TaskId>) {
        self.effects.borrow_mut().clear();
        *self.alive.borrow_mut() = alive;
    }
}

impl Provider for Asked {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        if self.fate.befalls("calls that the provider refused", 60) {
            return Err(ProviderError { message: "the provider does not answer".to_owned() });
        }
        self.effects.borrow_mut().push_back(effect.clone());
        Ok(())
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        if self.fate.befalls("providers that could not say what is alive", 30) {
            return Err(ProviderError { message: "who knows".to_owned() });
        }
        let alive = self.alive.borrow();
        Ok(active.into_iter().filter(|task| alive.contains(task)).collect())
    }
}
