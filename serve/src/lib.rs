//! Many agents behind one door: an HTTP API over a store of ledgers, a stream of entries that a
//! client can verify, and addresses that wake agents.
//!
//! The routes stand in one [`routes`] table, from which the router and the OpenAPI document are
//! made. A request is carried out beside whatever drives the agent: what it says is appended at the
//! expected head, and another writer's entries are read first.

mod access;
mod auth;
mod entries;
mod ingress;
mod problem;
mod read;
mod routes;
mod server;
mod store;
mod write;

pub use access::{Access, AccessError, Grant, Scope};
pub use problem::Problem;
pub use routes::{ROUTES, Route};
pub use server::{Options, Running, ServeError, start};
