//! A fleet for tests: real PostgreSQL, started from the programs of the system in folders of their
//! own, and servers of the program over one store, which are killed and paused.

mod cluster;
mod judged;
mod leftovers;
mod model;
mod network;
mod patroni;
mod probe;
mod processes;
mod server;
mod workers;
mod world;

pub(crate) use cluster::{Cluster, Nodes, address as address_of};
pub(crate) use model::Model;
pub(crate) use network::Network;
pub(crate) use processes::{children, stat};
pub use server::{Guard, NoServer, Server};
pub(crate) use workers::Worker;
pub use world::{Programs, Size, run};
pub(crate) use world::{make_one, token};
