//! Ledgers: where a host keeps entries. [`MemoryLedger`] for tests and replays, [`SqliteFile`] for agents that live on.

mod memory;
mod sqlite;

pub use memory::MemoryLedger;
pub use sqlite::{Anchor, ArchiveError, SqliteError, SqliteFile, SqliteLedger};
