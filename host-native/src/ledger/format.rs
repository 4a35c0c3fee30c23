//! The format of a ledger file, read from its first bytes.

use std::{fs::File, io::Read, path::Path};

/// A format in which a file holds ledgers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A SQLite file, which [`SqliteFile`](super::SqliteFile) opens. Opening it shows whether it
    /// holds ledgers.
    Sqlite,
    /// Text, which [`read_lines`](super::read_lines) reads: the ledger of one agent, for
    /// inspection.
    Lines,
}

/// The first bytes of each format.
const BEGINNINGS: [(Format, &[u8]); 2] =
    [(Format::Sqlite, b"SQLite format 3\0"), (Format::Lines, br#"{"seq":"#)];

impl Format {
    /// The format of a file; `None` if it begins with neither, or cannot be read.
    #[must_use]
    pub fn from_file(path: &Path) -> Option<Self> {
        let longest = BEGINNINGS.iter().map(|(_, beginning)| beginning.len() as u64).max()?;
        let mut begins = Vec::new();
        File::open(path).and_then(|file| file.take(longest).read_to_end(&mut begins)).ok()?;
        BEGINNINGS
            .iter()
            .find(|(_, beginning)| begins.starts_with(beginning))
            .map(|(format, _)| *format)
    }
}
