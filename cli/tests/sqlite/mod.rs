//! Commands that read and write the durable ledger.

#[path = "../../../host-native/tests/sqlite/agent.rs"]
pub(crate) mod agent;
mod archive;
mod commands;
mod doctor;
mod heads;
mod lines;
