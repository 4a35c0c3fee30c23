//! Ledgers: where a host keeps entries. [`MemoryLedger`] for tests and replays, [`SqliteFile`] for agents that live on. [`read_lines`] reads one that
//! is text.

mod lines;
mod memory;
mod sqlite;

pub use lines::{LinesError, looks_like_lines, read_lines};
pub use memory::MemoryLedger;
pub use sqlite::{Anchor, ArchiveError, SqliteError, SqliteFile, SqliteLedger};
