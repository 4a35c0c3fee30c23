//! Ledgers: where a host keeps entries. [`MemoryLedger`] for tests and replays, [`SqliteFile`] for
//! agents that live on. [`read_lines`] reads one that is text. [`Format::from_file`] tells files of
//! both apart.

mod format;
#[cfg(feature = "sqlite")]
mod lines;
mod memory;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use format::Format;
#[cfg(feature = "sqlite")]
pub use lines::{LinesError, read_lines};
pub use memory::MemoryLedger;
#[cfg(feature = "sqlite")]
pub use sqlite::{Anchor, ArchiveError, SqliteError, SqliteFile, SqliteLedger};
