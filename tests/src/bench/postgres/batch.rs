//! Batches that are sealed before anything is measured.

use wakeful_core::{
    record::{
        Record,
        chain::Head,
        entry::{self, EntryBytes},
    },
    time::Timestamp,
};
use wakeful_host::ledger::MemoryLedger;

use crate::bench::agent;

/// The entries of a batch.
pub(super) const ENTRIES: usize = 4;

/// A batch, and the heads before and after it.
pub(super) struct Batch {
    pub(super) expected: Head,
    pub(super) becomes: Head,
    pub(super) entries: Vec<EntryBytes>,
    pub(super) rows: Rows,
}

/// The entries as columns of a table, for bare SQL.
pub(super) struct Rows {
    pub(super) seqs: Vec<i64>,
    pub(super) chains: Vec<Vec<u8>>,
    pub(super) texts: Vec<String>,
}

/// Seals batches for one agent, each after the one before.
pub(super) struct Sealer {
    head: Head,
    records: Vec<Record>,
}

impl Sealer {
    /// Every batch has the first entries of a message and its turn.
    pub(super) fn new() -> Self {
        let ledger = MemoryLedger::default();
        let mut agent = agent::native(ledger.clone());
        let opening = ledger.len();
        agent.round();
        let mut head = Head::START;
        let mut records = Vec::new();
        for line in ledger.lines_from(0) {
            let entry = EntryBytes::from_stored(line).open(&head).expect("the agent wrote it");
            head = entry.head();
            records.push(entry.record);
        }
        let records = records.into_iter().skip(opening).take(ENTRIES).collect();
        Self { head: Head::START, records }
    }

    /// A number of batches that come after all that it has sealed.
    pub(super) fn seal(&mut self, batches: u64) -> Vec<Batch> {
        (0..batches).map(|_| self.next()).collect()
    }

    fn next(&mut self) -> Batch {
        let expected = self.head;
        let at = Timestamp::from_nanos(0);
        let (sealed, entries) = entry::seal_all(expected, at, self.records.clone());
        self.head = sealed.last().map_or(expected, entry::Entry::head);
        let seq = |head: &Head| i64::try_from(head.seq.0).expect("few entries");
        let mut rows = Rows { seqs: Vec::new(), chains: Vec::new(), texts: Vec::new() };
        for (seq, bytes) in (seq(&expected) + 1..).zip(&entries) {
            let (text, chain) = bytes.split().expect("it was sealed");
            rows.seqs.push(seq);
            rows.chains.push(chain.as_bytes().to_vec());
            rows.texts.push(text);
        }
        Batch { expected, becomes: self.head, entries, rows }
    }
}
