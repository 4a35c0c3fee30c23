//! A fleet for tests: real PostgreSQL, started from the programs of the system in folders of their
//! own, and servers of the program over one store, which are killed and paused.

mod cluster;
mod model;
mod network;
mod server;
mod workers;
mod world;

pub(crate) use cluster::{Cluster, address as address_of};
pub use server::{Guard, NoServer, Server};
pub use world::{Size, run};
