//! Real PostgreSQL servers for tests: started from the programs of the system, in folders of their
//! own, on ports of the loopback.

mod server;

pub use server::{Guard, NoServer, Server};
