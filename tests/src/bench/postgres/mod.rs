//! A store in PostgreSQL, beside bare SQL on the same server.
//!
//! *Bare* is the least that does the same durably: a prepared statement that compares and moves the
//! row of a head and inserts the same entries, in two tables without anything else
//! ([`bare`]). Both sides get their batches ready-made, so neither seals or hashes.

mod appends;
mod bare;
mod batch;
mod polls;
mod reading;
mod together;

use wakeful_host::ledger::PostgresStore;

use super::{Depth, Figure};
use crate::fleet::{NoServer, Server};

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let server = there(Server::start());
    [
        appends::figures(depth, &server),
        together::figures(depth, &server),
        reading::figures(depth, &server),
        polls::figures(depth, &server),
    ]
    .concat()
}

/// A server, or the end with what to install.
fn there<T>(started: Result<T, NoServer>) -> T {
    started.unwrap_or_else(|why| panic!("the store cannot be measured: {why}"))
}

/// A new store in a schema of its own.
fn store(server: &Server, schema: &str) -> PostgresStore {
    PostgresStore::open(&server.address(schema)).expect("a new store")
}
