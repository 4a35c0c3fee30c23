//! In which format a file has ledgers, as its beginning says.

use std::{fs::File, io::Read, path::Path};

/// A format of files of ledgers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A file of SQLite, which [`SqliteFile`](super::SqliteFile) opens. Whether it is one of
    /// ledgers is seen then.
    Sqlite,
    /// Text, which [`read_lines`](super::read_lines) reads: the ledger of one agent, to look at.
    Lines,
}

/// With what files of each format begin.
const BEGINNINGS: [(Format, &[u8]); 2] =
    [(Format::Sqlite, b"SQLite format 3\0"), (Format::Lines, br#"{"seq":"#)];

impl Format {
    /// That of the file at a path; none where it begins otherwise, or cannot be read.
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
