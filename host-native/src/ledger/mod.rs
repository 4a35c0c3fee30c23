//! Ledgers: where a host stores entries. [`MemoryLedger`] is for tests and replays, [`SqliteFile`]
//! for agents that must survive the process. [`read_lines`] reads a ledger in text form.
//! [`Format::from_file`] tells the two file formats apart.

mod format;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod group;
#[cfg(feature = "sqlite")]
mod lines;
mod memory;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod moving;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
mod store;

/// Whether a name is the address of a store in PostgreSQL, and not the path of a file.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
fn is_address(name: &str) -> bool {
    name.starts_with("postgres://") || name.starts_with("postgresql://")
}

/// The bytes at which a page ends. An entry that is longer is a page of its own. A reader that asks
/// for a whole ledger must not make the host load all of it.
const PAGE_BYTES: usize = 4 << 20;

pub use format::Format;
#[cfg(feature = "sqlite")]
pub use lines::{LinesError, read_lines};
pub use memory::MemoryLedger;
#[cfg(all(feature = "postgres", feature = "sqlite"))]
pub use moving::{Belongings, MoveError, Moved, move_agent};
#[cfg(feature = "postgres")]
pub use postgres::{
    Address, Arrived, Claim, ClaimError, Fate, Fault, Placed, PostgresError, PostgresLedger,
    PostgresStore, StoreClock, Worker, WorkerInfo, WorkerOptions,
};
#[cfg(feature = "sqlite")]
pub use sqlite::{
    Anchor, ArchiveError, Holder, Obstacle, OwnError, Owned, Owner, Patience, SqliteError,
    SqliteFile, SqliteLedger, Wait,
};
#[cfg(all(feature = "postgres", feature = "sqlite"))]
pub use store::{DrivenBy, Own, OwningError, Store, StoreError, StoreLedger, StoreTime};
