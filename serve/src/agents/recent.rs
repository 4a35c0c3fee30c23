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
}

impl Telling {
    pub(crate) fn new(ledger: StoreLedger, cell: &Arc<Cell>) -> Self {
        Self { ledger, cell: Arc::downgrade(cell), withholds: false }
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
        self.ledger.append(expected, batch)?;
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
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
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
        self.ledger.store_snapshot(head, write)
    }
}

#[cfg(test)]
mod tests {
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
}
