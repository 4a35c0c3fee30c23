//! The durable ledger, with real files and real processes.

mod agent;
mod archive;
mod child;
mod commands;
mod denied;
mod doctor;
mod failing;
mod files;
mod lines;
mod processes;
mod snapshots;
mod storing;
