//! Entries as rows of a table.

use wakeful_core::{Chain, EntryBytes, Head, LedgerError, Seq};

/// An entry in the form of its table row.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) seq: i64,
    /// The first entry of its batch.
    pub(super) batch: i64,
    pub(super) chain: Chain,
    pub(super) canonical: String,
}

impl Row {
    /// Splits an entry for its place; its batch begins at `batch`.
    pub(super) fn new(bytes: &EntryBytes, seq: Seq, batch: Seq) -> Result<Self, LedgerError> {
        let failed = |what: &str| LedgerError::Failed {
            message: format!("entry {seq} of the batch {what}: nothing was stored"),
        };
        let (canonical, chain) =
            bytes.split().ok_or_else(|| failed("does not end with its chain"))?;
        let place = |seq: Seq| {
            i64::try_from(seq.0)
                .map_err(|_| failed("is beyond the last position that a table can hold"))
        };
        Ok(Self { seq: place(seq)?, batch: place(batch)?, chain, canonical })
    }
}

/// A batch as rows, which come after the expected head.
pub(super) fn rows(expected: &Head, batch: &[EntryBytes]) -> Result<Vec<Row>, LedgerError> {
    let first = expected.seq.next();
    (first.0..).map(Seq).zip(batch).map(|(seq, bytes)| Row::new(bytes, seq, first)).collect()
}
