//! Entries: what a ledger keeps, in the bytes in which it keeps them (contract 3.1, 3.4).

use alloc::{string::String, vec::Vec};
use core::{fmt::Write as _, ops::Range};

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

/// Where an entry stands, for the fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its position.
    pub seq: Seq,
    /// Whether a driver recorded it, as opposed to an import.
    pub live: bool,
}

/// A record with its place in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its position.
    pub seq: Seq,
    /// When its batch was made.
    pub at: Timestamp,
    /// What it keeps.
    pub record: Record,
    /// The chain up to and with it.
    pub chain: Chain,
}

/// An entry as a ledger stores it: one line of JSON,
/// `{"seq":..,"at":..,"class":..,"record":..,"chain":..}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EntryBytes(String);

/// The stored text ends with the chain; what stands before it, closed by a brace, are the canonical
/// bytes.
const CHAIN_PREFIX: &str = ",\"chain\":\"";

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

/// Why stored bytes are no entry of this ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// The text cannot be read.
    #[error("entry {expected} cannot be read: {why}")]
    Malformed {
        /// The position that was due.
        expected: Seq,
        /// What is wrong, and where.
        why: JsonError,
    },
    /// An entry is missing, or out of order.
    #[error("entry {found} stands where entry {expected} is due")]
    OutOfOrder {
        /// The position that was due.
        expected: Seq,
        /// The position that is there.
        found: Seq,
    },
    /// The entry does not follow from the one before it.
    #[error("entry {seq} breaks the chain: its bytes or an earlier entry were changed")]
    BrokenChain {
        /// The entry.
        seq: Seq,
    },
}

impl Entry {
    /// Makes the entry that follows `head`, with the bytes to store.
    #[must_use]
    pub fn seal(head: &Head, at: Timestamp, record: Record) -> (Self, EntryBytes) {
        let seq = head.seq.next();
        let mut text = json::write(&Canonical { seq, at, class: record.class(), record: &record });
        seeded_entry_byte(&mut text);
        let chain = head.chain.extend(&text);
        let entry = Self { seq, at, record, chain };
        (entry, EntryBytes::join(text, &chain))
    }

    /// The head of a ledger that ends with this entry.
    #[must_use]
    pub fn head(&self) -> Head {
        Head { seq: self.seq, chain: self.chain }
    }
}

impl EntryBytes {
    /// Bytes that a ledger gave back.
    #[must_use]
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The line.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The line from its canonical bytes and its chain; [`EntryBytes::split`] takes it apart again.
    #[must_use]
    pub fn join(canonical: String, chain: &Chain) -> Self {
        let mut line = canonical;
        line.truncate(line.strip_suffix('}').map_or(line.len(), str::len));
        // Writing into memory does not fail.
        write!(line, "{CHAIN_PREFIX}{chain}\"}}").ok();
        Self(line)
    }

    /// The canonical bytes and the chain, for a store that keeps them apart; none where the line
    /// does not end with a chain. Verifies nothing.
    #[must_use]
    pub fn split(&self) -> Option<(String, Chain)> {
        let (body, chain) = self.parts()?;
        Some(([body, "}"].concat(), chain))
    }

    /// The chain with which the line ends; none where it ends otherwise. Verifies nothing.
    #[must_use]
    pub fn chain(&self) -> Option<Chain> {
        self.parts().map(|(_, chain)| chain)
    }

    /// What stands before the chain, and the chain.
    fn parts(&self) -> Option<(&str, Chain)> {
        let (body, tail) = self.0.split_at_checked(self.0.len().checked_sub(CHAIN_SUFFIX_LEN)?)?;
        let chain = Chain::parse(tail.strip_prefix(CHAIN_PREFIX)?.strip_suffix("\"}")?)?;
        Some((body, chain))
    }

    /// Reads the entry that follows `head` and verifies that it does.
    ///
    /// # Errors
    /// Where the text is no entry, not the next one, or not of this history.
    pub fn open(&self, head: &Head) -> Result<Entry, EntryError> {
        let expected = head.seq.next();
        let malformed = |why| EntryError::Malformed { expected, why };
        let (canonical, chain) = self.split().ok_or_else(|| {
            malformed(JsonError::at_field("chain", "an entry ends with its chain"))
        })?;
        let stored: Stored = json::read(&canonical).map_err(malformed)?;
        if stored.seq != expected {
            return Err(EntryError::OutOfOrder { expected, found: stored.seq });
        }
        if head.chain.extend(&canonical) != chain {
            return Err(EntryError::BrokenChain { seq: expected });
        }
        let Part(Range { start, end }) = stored.record;
        let record = json::read_scanned_by(&canonical[start..end], Record::way(stored.class));
        let record = record.map_err(|why| malformed(why.shifted(start)))?;
        Ok(Entry { seq: stored.seq, at: stored.at, record, chain })
    }
}

/// Seals records one after the other, from `head` on.
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

/// The cross-check's own test builds a guest with this seed: one byte of every message text
/// differs.
#[cfg(seeded_divergence = "entry_byte")]
fn seeded_entry_byte(text: &mut String) {
    *text = text.replacen("\"text\":\"S", "\"text\":\"s", 1);
}

#[cfg(not(seeded_divergence = "entry_byte"))]
fn seeded_entry_byte(_: &mut String) {}

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
        let (canonical, chain) = bytes.split().expect("it ends with its chain");
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
    fn an_entry_of_another_place_is_refused() {
        let (entry, bytes) = sealed();
        let why = bytes.open(&entry.head()).expect_err("entry 1 after entry 1");
        assert_eq!(why, EntryError::OutOfOrder { expected: Seq(2), found: Seq(1) });
    }

    #[test]
    fn text_that_is_no_entry_says_what_is_missing() {
        let why = EntryBytes("{}".into()).open(&Head::START).expect_err("no entry");
        assert!(why.to_string().contains("ends with its chain"), "{why}");
    }
}
