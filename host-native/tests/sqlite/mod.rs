//! The durable ledger, with real files and real processes.

mod agent;
mod files;
mod snapshots;
mod storing;
