//! The durable ledger, with real files and real processes.

mod agent;
mod child;
mod denied;
mod failing;
mod files;
mod owning;
mod processes;
mod snapshots;
mod storing;
