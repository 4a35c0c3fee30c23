//! Entries: records with their place in the ledger, as the bytes that a ledger stores (contract
//! 3.1, 3.4).

use alloc::{string::String, vec::Vec};

use serde::Serialize;

use crate::{
    id::Seq,
    record::{
        Class, Record,
        chain::{Chain, Head},
    },
    time::Timestamp,
};
use wakeful_json::{self as json, JsonError, Part, Readable};

/// The place of an entry, for the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The entry's position.
    pub seq: Seq,
    /// Whether a driver recorded it; false for an import.
    pub live: bool,
}

/// A record with its place in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The position in the ledger, from 1.
    pub seq: Seq,
    /// The time of its batch.
    pub at: Timestamp,
    /// The record.
    pub record: Record,
    /// The chain up to and including this entry.
    pub chain: Chain,
}

/// An entry as a ledger stores it: one line of JSON,
/// `{"seq":..,"at":..,"class":..,"record":..,"chain":..}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryBytes(String);

/// The start of the chain at the end of the stored text. The text before it, closed by a brace, is
/// the canonical bytes.
const CHAIN_PREFIX: &str = ",\"chain\":\"";

// The chain is at a fixed place, so verification hashes stored text and needs no second serialiser.
const CHAIN_SUFFIX_LEN: usize = CHAIN_PREFIX.len() + 64 + "\"}".len();

#[derive(Serialize)]
struct Canonical<'a> {
    seq: Seq,
    at: Timestamp,
    class: Class,
    record: &'a Record,
}

#[derive(Readable)]
struct Stored {
    seq: Seq,
    at: Timestamp,
    class: Class,
    record: Part,
}

/// Why stored bytes are not the next entry of this ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The text is not an entry.
    #[error("entry {expected} cannot be read: {why}")]
    Malformed {
        /// The position that was expected.
        expected: Seq,
        /// The error, with its place.
        why: JsonError,
    },
    /// An entry is missing, or entries are out of order.
    #[error("found entry {found}, expected entry {expected}")]
    OutOfOrder {
        /// The position that was expected.
        expected: Seq,
        /// The position in the text.
        found: Seq,
    },
    /// The chain of the entry does not follow from the entry before it.
    #[error("entry {seq} breaks the chain: its bytes or an earlier entry were changed")]
    BrokenChain {
        /// The entry's position.
        seq: Seq,
    },
}

impl Entry {
    /// Makes the entry that follows `head`, and the bytes to store.
    #[must_use]
    pub fn seal(head: &Head, at: Timestamp, record: Record) -> (Self, EntryBytes) {
        let seq = head.seq.next();
        let text = json::write(&Canonical { seq, at, class: record.class(), record: &record });
        let chain = head.chain.extend(&text);
        let entry = Self { seq, at, record, chain };
        (entry, EntryBytes::join(text, &chain))
    }

    /// The head of a ledger whose last entry is this one.
    #[must_use]
    pub fn head(&self) -> Head {
        Head { seq: self.seq, chain: self.chain }
    }
}

impl EntryBytes {
    /// The bytes that a ledger returned. They are not verified here.
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The stored line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Joins canonical bytes and chain into a line; the inverse of [`EntryBytes::split`].
    #[must_use]
    pub fn join(canonical: String, chain: &Chain) -> Self {
        let mut line = canonical;
        line.truncate(line.strip_suffix('}').map_or(line.len(), str::len));
        // Once per entry, so without the machinery of `format!`.
        line.push_str(CHAIN_PREFIX);
        line.push_str(chain.digits(&mut [0; 64]));
        line.push_str("\"}");
        Self(line)
    }

    /// Splits the line into canonical bytes and chain, for a store that keeps them apart. `None` if
    /// the line does not end with a chain. Verifies nothing.
    #[must_use]
    pub fn split(&self) -> Option<(String, Chain)> {
        let (body, chain) = self.parts()?;
        Some(([body, "}"].concat(), chain))
    }

    /// The chain at the end of the line; `None` if there is none. Verifies nothing.
    #[must_use]
    pub fn chain(&self) -> Option<Chain> {
        self.parts().map(|(_, chain)| chain)
    }

    /// The text before the chain, and the chain.
    fn parts(&self) -> Option<(&str, Chain)> {
        let (body, tail) = self.0.split_at_checked(self.0.len().checked_sub(CHAIN_SUFFIX_LEN)?)?;
        let chain = Chain::parse(tail.strip_prefix(CHAIN_PREFIX)?.strip_suffix("\"}")?)?;
        Some((body, chain))
    }

    /// Reads the entry and verifies that it follows `head`.
    ///
    /// # Errors
    /// If the text is not an entry, not the next one, or not of this history.
    pub fn open(&self, head: &Head) -> Result<Entry, EntryError> {
        let expected = head.seq.next();
        let malformed = |why| EntryError::Malformed { expected, why };
        let (canonical, chain) = self
            .split()
            .ok_or_else(|| malformed(JsonError::at_field("chain", "missing chain at the end")))?;
        // One reader for both, because scanning is much of what opening a ledger costs.
        let reader = json::Reader::stored(&canonical);
        let stored = reader.whole(Stored::read).map_err(malformed)?;
        // Before the chain is checked: a missing entry breaks the chain too, and this error names
        // the cause.
        if stored.seq != expected {
            return Err(EntryError::OutOfOrder { expected, found: stored.seq });
        }
        if head.chain.extend(&canonical) != chain {
            return Err(EntryError::BrokenChain { seq: expected });
        }
        // Hashed first: the record is read only when its bytes are known to be right.
        let record = reader.part(stored.record, Record::way(stored.class)).map_err(malformed)?;
        Ok(Entry { seq: stored.seq, at: stored.at, record, chain })
    }
}

/// Seals several records, starting after `head`.
#[must_use]
pub fn seal_all(
    mut head: Head,
    at: Timestamp,
    records: Vec<Record>,
) -> (Vec<Entry>, Vec<EntryBytes>) {
    records
        .into_iter()
        .map(|record| {
            let (entry, bytes) = Entry::seal(&head, at, record);
            head = entry.head();
            (entry, bytes)
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::record::control::ControlRecord;
    use crate::record::control::Marker;

    fn sealed() -> (Entry, EntryBytes) {
        let record = Record::Control(ControlRecord::StartRequested(Marker {}));
        Entry::seal(&Head::START, Timestamp::from_nanos(0), record)
    }

    #[test]
    fn an_entry_reads_back_as_it_was_sealed() {
        let (entry, bytes) = sealed();
        assert_eq!(bytes.open(&Head::START), Ok(entry));
    }

    #[test]
    fn a_line_is_taken_apart_and_put_together_again() {
        let (entry, bytes) = sealed();
        let (canonical, chain) = bytes.split().expect("the line ends with its chain");
        assert_eq!((chain, Chain::START.extend(&canonical)), (entry.chain, entry.chain));
        assert_eq!(
            EntryBytes::join(canonical.clone(), &Chain::from_bytes(*chain.as_bytes())),
            bytes
        );
        for text in ["", "{}", "\u{e9}\"}"] {
            assert_eq!(EntryBytes(text.into()).split(), None, "`{text}`");
        }
    }

    #[test]
    fn a_changed_byte_breaks_the_chain() {
        let (_, bytes) = sealed();
        let changed = EntryBytes(bytes.0.replace("1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"));
        assert_eq!(changed.open(&Head::START), Err(EntryError::BrokenChain { seq: Seq(1) }));
    }

    #[test]
    fn an_entry_with_another_position_is_refused() {
        let (entry, bytes) = sealed();
        let why = bytes.open(&entry.head()).expect_err("entry 1 after entry 1");
        assert_eq!(why, EntryError::OutOfOrder { expected: Seq(2), found: Seq(1) });
    }

    #[test]
    fn a_text_without_a_chain_is_not_an_entry() {
        let why = EntryBytes("{}".into()).open(&Head::START).expect_err("not an entry");
        assert!(why.to_string().contains("missing chain"), "{why}");
    }
}
