//! The suite for ledgers that others write (contract 3.1, 3.2, 3.5): a correct ledger passes, and
//! each ledger with one fault gets an error that names the fault.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::{Rc, Weak},
};

use wakeful_core::{
    host::{Ledger, LedgerError, suite},
    id::{AgentId, Seq},
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_host::ledger::MemoryLedger;

/// The one thing that a ledger does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Otherwise {
    Nothing,
    HasASnapshotFromTheStart,
    LosesWhatIsNoAscii,
    CutsLongBatches,
    ForgetsWhenClosed,
    GivesWholePages,
    GivesTheLastAgain,
    AsksThePositionAlone,
    AsksNothing,
    StoresWhatItRefuses,
    SeesOnlyItself,
    MixesAgents,
    KeepsTheFirstSnapshot,
    ForgetsSnapshotsWhenClosed,
}
use Otherwise::*;

#[derive(Clone, Default)]
struct Kept {
    entries: Rc<RefCell<Vec<EntryBytes>>>,
    snapshot: Rc<RefCell<Option<String>>>,
}

/// A ledger that is right in everything except one thing.
struct Odd {
    otherwise: Otherwise,
    kept: Kept,
    /// The entries that it saw when it was opened.
    seen: Option<Vec<EntryBytes>>,
}

impl Odd {
    fn entries(&self) -> Vec<EntryBytes> {
        self.seen.clone().unwrap_or_else(|| self.kept.entries.borrow().clone())
    }
}

impl Ledger for Odd {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let entries = self.entries();
        let chain = entries.last().and_then(EntryBytes::chain).unwrap_or(Head::START.chain);
        let found = Head { seq: Seq(entries.len() as u64), chain };
        let is_next = match self.otherwise {
            AsksNothing => true,
            AsksThePositionAlone => found.seq == expected.seq,
            _ => found == *expected,
        };
        let taken =
            if self.otherwise == CutsLongBatches { batch.len().min(1_000) } else { batch.len() };
        if is_next || self.otherwise == StoresWhatItRefuses {
            self.kept.entries.borrow_mut().extend_from_slice(&batch[..taken]);
            self.seen.iter_mut().for_each(|seen| seen.extend_from_slice(batch));
        }
        if is_next { Ok(()) } else { Err(LedgerError::Conflict { found: found.seq }) }
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let after = usize::try_from(after.0).unwrap_or(usize::MAX);
        let entries = self.entries();
        let from = if self.otherwise == GivesTheLastAgain && after == entries.len() {
            after.saturating_sub(1)
        } else {
            after
        };
        let limit = if self.otherwise == GivesWholePages { usize::MAX } else { limit as usize };
        let given = entries.into_iter().skip(from).take(limit);
        Ok(match self.otherwise {
            LosesWhatIsNoAscii => given
                .map(|entry| {
                    EntryBytes::from_stored(entry.as_str().replace(|c: char| !c.is_ascii(), "?"))
                })
                .collect(),
            _ => given.collect(),
        })
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        let none = (self.otherwise == HasASnapshotFromTheStart).then(|| "{}".to_owned());
        Ok(self.kept.snapshot.borrow().clone().or(none))
    }

    fn store_snapshot(&mut self, _: &Head, write: &dyn Fn() -> String) -> Result<(), LedgerError> {
        let snapshot = &mut *self.kept.snapshot.borrow_mut();
        if self.otherwise != KeepsTheFirstSnapshot || snapshot.is_none() {
            *snapshot = Some(write());
        }
        Ok(())
    }
}

/// What the suite says about a ledger with this fault.
fn asked(otherwise: Otherwise) -> Result<(), suite::Fault> {
    let mut store: BTreeMap<String, Kept> = BTreeMap::new();
    suite::ledger(|agent_id| {
        let id = agent_id.as_str();
        // The suite's agents differ only in the last character of their ids.
        let name = if otherwise == MixesAgents { &id[..id.len() - 1] } else { id };
        let kept = store.entry(name.to_owned()).or_default();
        match otherwise {
            ForgetsWhenClosed => *kept = Kept::default(),
            ForgetsSnapshotsWhenClosed => kept.snapshot = Rc::default(),
            _ => {}
        }
        let seen = (otherwise == SeesOnlyItself).then(|| kept.entries.borrow().clone());
        Odd { otherwise, kept: kept.clone(), seen }
    })
}

#[test]
fn a_ledger_that_does_as_it_must_passes() {
    assert_eq!(asked(Nothing), Ok(()));
    let mut store: BTreeMap<AgentId, MemoryLedger> = BTreeMap::new();
    assert_eq!(
        suite::ledger(|agent_id| store.entry(agent_id.clone()).or_default().clone()),
        Ok(())
    );
}

#[test]
fn what_a_ledger_does_otherwise_is_told_in_words() {
    let told = [
        (
            HasASnapshotFromTheStart,
            "a ledger is empty before something is appended: this ledger has the snapshot `{}` \
             instead of none",
        ),
        (
            LosesWhatIsNoAscii,
            "entries come back as they were appended, to the byte and in order: this ledger gives \
             7 entries",
        ),
        (
            CutsLongBatches,
            "a batch may have thousands of entries, and an entry a megabyte: this ledger answers, \
             given a batch after its last entry,",
        ),
        (
            ForgetsWhenClosed,
            "a ledger that is opened again has what was appended: this ledger gives no entry \
             instead of 2 entries from `{\"seq\":1,",
        ),
        (
            GivesWholePages,
            "and none at the end: this ledger gives, asked for 0 after 0, 5 entries from",
        ),
        (
            GivesTheLastAgain,
            "entries come back as they were appended, to the byte and in order: this ledger gives \
             8 entries from `{\"seq\":1,",
        ),
        (
            AsksNothing,
            "answers, given a batch after the beginning, that it is stored instead of a conflict \
             at entry 3",
        ),
        (
            AsksThePositionAlone,
            "answers, given a batch after the last entry of another history of the same length, \
             that it is stored instead of",
        ),
        (
            StoresWhatItRefuses,
            "which names the last entry and stores nothing: this ledger answers, given a batch \
             after an entry before the last, a conflict at entry 4",
        ),
        (
            SeesOnlyItself,
            "and the second to append is refused: this ledger gives the other no entry instead of \
             1 entry",
        ),
        (
            MixesAgents,
            "a ledger has only the entries of its own agent: this ledger answers, given a batch \
             after its last entry, a conflict at entry 1",
        ),
        (
            KeepsTheFirstSnapshot,
            "the newest snapshot comes back as it was written, or no snapshot does: this ledger \
             gives `{\"of\":\"one\"}` instead of",
        ),
        (
            ForgetsSnapshotsWhenClosed,
            "or no snapshot does: this ledger keeps some snapshots but loses others",
        ),
    ];
    for (otherwise, says) in told {
        let said = asked(otherwise).expect_err("the ledger has a fault").to_string();
        assert!(said.contains(says), "{otherwise:?}: {said}");
    }
}

/// A handle that holds its ledger until it is dropped.
struct Handle {
    ledger: MemoryLedger,
    _holds: Rc<()>,
}

impl Ledger for Handle {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.ledger.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.ledger.read(after, limit)
    }
}

/// What the suite says about a ledger that a second handle is refused, or is not.
fn asked_of_one_holder(refuses: bool) -> Result<(), suite::Fault> {
    let mut store: BTreeMap<AgentId, (MemoryLedger, Weak<()>)> = BTreeMap::new();
    suite::exclusive_ledger(|agent_id| {
        let (ledger, holder) = store.entry(agent_id.clone()).or_default();
        if refuses && holder.upgrade().is_some() {
            return Err("another holds it");
        }
        let holds = Rc::new(());
        *holder = Rc::downgrade(&holds);
        Ok(Handle { ledger: ledger.clone(), _holds: holds })
    })
}

#[test]
fn a_ledger_of_one_holder_refuses_a_second() {
    assert_eq!(asked_of_one_holder(true), Ok(()));
    let said = asked_of_one_holder(false).expect_err("a second is refused").to_string();
    assert_eq!(
        said,
        "while one holds the ledger, a second is refused, and afterwards it opens: this ledger \
         opens a second time; test it with `ledger` if several may hold it"
    );
    let closed = suite::exclusive_ledger(|_| Err::<MemoryLedger, _>("the disk is gone"));
    assert!(closed.is_err_and(|fault| fault.to_string().contains("the disk is gone")));
}

#[test]
fn a_store_that_was_used_before_is_told_from_a_wrong_ledger() {
    let mut store: BTreeMap<AgentId, MemoryLedger> = BTreeMap::new();
    let mut open = |agent_id: &AgentId| store.entry(agent_id.clone()).or_default().clone();
    assert_eq!(suite::ledger(&mut open), Ok(()));
    let said = suite::ledger(open).expect_err("it has entries").to_string();
    assert!(said.starts_with("the suite gets a new, empty store each time: this ledger"), "{said}");
}
