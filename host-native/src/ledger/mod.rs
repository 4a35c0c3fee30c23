//! Ledgers: where a host keeps entries.

mod memory;

pub use memory::MemoryLedger;
