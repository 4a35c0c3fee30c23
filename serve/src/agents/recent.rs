//! The newest entries that this process appended to an agent, for those who follow it. Otherwise
//! each stream would read each of them from the store, on a thread that may block.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use wakeful_core::{
    host::{Ledger, LedgerError},
    id::Seq,
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_host::ledger::StoreLedger;

use super::Cell;

/// The most entries, and the most bytes of them, that are kept of an agent.
const ENTRIES: usize = 32;
const BYTES: usize = 32 << 10;

/// The newest entries of an agent, without a gap.
#[derive(Default)]
pub(crate) struct Recent(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// The position of the newest.
    newest: Seq,
    entries: VecDeque<Arc<EntryBytes>>,
    bytes: usize,
}

impl Recent {
    /// A batch was appended after this entry.
    fn push(&self, after: Seq, batch: &[EntryBytes]) {
        let mut kept = self.kept();
        if kept.newest != after {
            // Another process appended in between.
            *kept = Kept { newest: after, ..Kept::default() };
        }
        for entry in batch {
            kept.newest = kept.newest.next();
            kept.bytes += entry.as_str().len();
            kept.entries.push_back(Arc::new(entry.clone()));
        }
        while kept.entries.len() > ENTRIES || kept.bytes > BYTES {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.bytes -= oldest.as_str().len();
        }
    }

    /// All entries after this one; `None` if not all of them are kept.
    pub(crate) fn after(&self, seq: Seq) -> Option<VecDeque<Arc<EntryBytes>>> {
        let kept = self.kept();
        let missing = usize::try_from(kept.newest.0.checked_sub(seq.0)?).ok()?;
        let skipped = kept.entries.len().checked_sub(missing)?;
        (missing > 0).then(|| kept.entries.iter().skip(skipped).cloned().collect())
    }

    pub(crate) fn clear(&self) {
        *self.kept() = Kept::default();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic between two statements would leave a list that does not fit its numbers.
        self.0.lock().unwrap_or_else(|poisoned| {
            self.0.clear_poison();
            let mut kept = PoisonError::into_inner(poisoned);
            *kept = Kept::default();
            kept
        })
    }
}

/// A ledger that tells its agent's followers what is appended.
pub(crate) struct Telling {
    ledger: StoreLedger,
    /// The agent has this ledger in its state.
    cell: Weak<Cell>,
    withholds: bool,
    /// What is to be stored at once; `None` if each batch is stored when it comes.
    held: Option<Held>,
}

/// Batches that are not stored yet, and a snapshot that comes after them.
#[derive(Default)]
struct Held {
    batches: Vec<(Head, Vec<EntryBytes>)>,
    snapshot: Option<(Head, String)>,
}

impl Telling {
    pub(crate) fn new(ledger: StoreLedger, cell: &Arc<Cell>) -> Self {
        Self { ledger, cell: Arc::downgrade(cell), withholds: false, held: None }
    }

    /// From now on batches are held back, until [`Telling::store`] stores all of them with one
    /// sync. Until then nobody may learn of them. Only a file can do so.
    pub(crate) fn hold(&mut self) {
        if let StoreLedger::Sqlite(_) = self.ledger {
            self.held = Some(Held::default());
        }
    }

    /// Stores what was held back, all or nothing. After an error its scheduler must be dropped,
    /// because it is ahead of the ledger.
    pub(crate) fn store(&mut self) -> Result<(), LedgerError> {
        let Some(Held { batches, snapshot }) = self.held.take() else { return Ok(()) };
        let StoreLedger::Sqlite(ledger) = &mut self.ledger else { return Ok(()) };
        ledger.append_batches(&batches)?;
        for (expected, batch) in &batches {
            self.tell(expected, batch);
        }
        if let Some((head, text)) = snapshot {
            // Nothing is lost without it: the next opening folds more.
            let _ = self.ledger.store_snapshot(&head, &|| text.clone());
        }
        Ok(())
    }

    /// Tells the followers of the agent what was stored.
    fn tell(&self, expected: &Head, batch: &[EntryBytes]) {
        if let Some(cell) = self.cell.upgrade()
            && !batch.is_empty()
        {
            cell.recent.push(expected.seq, batch);
            let newest = Seq(expected.seq.0 + batch.len() as u64);
            // The others hear of it when the call ends (`Agents::settle`): each of them is then
            // woken once for a message and its decision.
            if newest.0 - cell.head().0.min(newest.0) > ENTRIES as u64 / 2 {
                cell.heard(newest);
            }
        }
    }

    /// Whether nothing is appended from now on: what would be is refused as if another writer had
    /// been first.
    pub(crate) fn withhold(&mut self, withholds: bool) {
        self.withholds = withholds;
    }

    /// The ledger itself.
    pub(crate) fn stored(&mut self) -> &mut StoreLedger {
        &mut self.ledger
    }
}

impl Ledger for Telling {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        if self.withholds {
            return Err(LedgerError::Conflict { found: expected.seq });
        }
        if let Some(held) = &mut self.held {
            held.batches.push((*expected, batch.to_vec()));
            return Ok(());
        }
        self.ledger.append(expected, batch)?;
        self.tell(expected, batch);
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        // A reader would miss what is held back, and the scheduler is ahead of the ledger until
        // then. It reads nothing meanwhile, since nothing that is held back meets a conflict.
        if self.held.as_ref().is_some_and(|held| !held.batches.is_empty()) {
            return Err(LedgerError::Failed { message: "a batch is held back".to_owned() });
        }
        self.ledger.read(after, limit)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        self.ledger.load_snapshot()
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        if let Some(held) = &mut self.held {
            held.snapshot = Some((*head, write()));
            return Ok(());
        }
        self.ledger.store_snapshot(head, write)
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::{
        id::AgentId,
        record::{
            Record,
            control::{ControlRecord, Marker},
            entry::seal_all,
        },
        time::Timestamp,
    };
    use wakeful_host::ledger::Store;

    use super::*;

    fn entries(texts: &[&str]) -> Vec<EntryBytes> {
        texts.iter().map(|text| EntryBytes::from_stored((*text).into())).collect()
    }

    fn after(recent: &Recent, seq: u64) -> Option<Vec<String>> {
        let found = recent.after(Seq(seq))?;
        Some(found.iter().map(|entry| entry.as_str().to_owned()).collect())
    }

    #[test]
    fn the_newest_entries_are_kept_without_a_gap() {
        let recent = Recent::default();
        assert_eq!(after(&recent, 0), None);
        recent.push(Seq(4), &entries(&["5", "6"]));
        recent.push(Seq(6), &entries(&["7"]));
        assert_eq!(after(&recent, 4), Some(vec!["5".into(), "6".into(), "7".into()]));
        assert_eq!(after(&recent, 6), Some(vec!["7".into()]));
        for seq in [0, 3, 7, 8] {
            assert_eq!(after(&recent, seq), None, "{seq}");
        }
        // Another process appended entry 8.
        recent.push(Seq(8), &entries(&["9"]));
        assert_eq!((after(&recent, 6), after(&recent, 8)), (None, Some(vec!["9".into()])));
        let long = "x".repeat(BYTES / 2);
        recent.push(Seq(9), &entries(&[&long, &long, "12"]));
        assert_eq!(after(&recent, 9), None);
        assert_eq!(after(&recent, 10), Some(vec![long, "12".into()]));
        recent.push(Seq(12), &entries(&["y"; ENTRIES + 1]));
        assert_eq!(
            (after(&recent, 12), after(&recent, 13).map(|it| it.len())),
            (None, Some(ENTRIES))
        );
        recent.clear();
        assert_eq!(after(&recent, 13), None);
    }

    #[test]
    fn what_is_held_back_is_stored_together_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("a.sqlite")).expect("a store");
        let agent = AgentId::from("a");
        let cell = Cell::new(0, agent.clone(), (Head::START, Head::START), None, Arc::default());
        let cell = Arc::new(cell);
        let marker = || Record::Control(ControlRecord::StartRequested(Marker {}));
        let batch = |after: Head, count: usize| {
            let records = (0..count).map(|_| marker()).collect();
            let (entries, batch) = seal_all(after, Timestamp::from_nanos(0), records);
            (entries[count - 1].head(), batch)
        };
        let (first, one) = batch(Head::START, 2);
        let (second, two) = batch(first, 1);
        let mut ledger = Telling::new(store.ledger(&agent), &cell);
        ledger.hold();
        ledger.append(&Head::START, &one).expect("it is held back");
        ledger.append(&first, &two).expect("it is held back");
        assert_eq!(store.ledger(&agent).head(), Ok(Head::START));
        assert_eq!(after(&cell.recent, 0), None, "nobody learns of it");
        ledger.store().expect("it is stored");
        let stored = store.ledger(&agent).read_with_batches(Seq(0), 9).expect("entries");
        let begins: Vec<_> = stored.iter().map(|(_, batch)| batch.0).collect();
        assert_eq!(begins, [1, 1, 3], "each batch stays one");
        assert_eq!(after(&cell.recent, 0).map(|it| it.len()), Some(3));

        ledger.hold();
        let (third, three) = batch(second, 1);
        ledger.append(&second, &three).expect("it is held back");
        ledger.append(&third, &batch(third, 1).1).expect("it is held back");
        // Another process is first.
        store.ledger(&agent).append(&second, &batch(second, 2).1).expect("it is stored");
        assert_eq!(ledger.store(), Err(LedgerError::Conflict { found: Seq(5) }));
        assert_eq!(store.ledger(&agent).head().map(|head| head.seq), Ok(Seq(5)));
    }
}
