//! The host's own tests: the sandbox, with hostile guests too, and the durable ledger.

mod asking;
mod cache;
mod driver;
mod limits;
mod lying;
mod shared;
mod sqlite;
mod worlds;
