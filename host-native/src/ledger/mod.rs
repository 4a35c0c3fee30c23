//! Ledgers: where a host keeps entries. [`MemoryLedger`] for tests and replays, [`SqliteFile`] for agents that live on. [`read_lines`] reads one that
//! is text. [`Format::of`] tells files of both apart.

mod format;
mod lines;
mod memory;
mod sqlite;

pub use format::Format;
pub use lines::{LinesError, read_lines};
pub use memory::MemoryLedger;
pub use sqlite::{Anchor, ArchiveError, SqliteError, SqliteFile, SqliteLedger};
