//! Many agents behind one door: an HTTP API over a store of ledgers, a stream of entries that a
//! client can verify, and addresses that wake agents.
//!
//! The routes stand in one table ([`ROUTES`]), from which the router and the OpenAPI document are
//! made. A request is let in by its token (`auth`), answered by a function that may block (`api`),
//! and looked after by the supervisor of the store (`agents`). The server decides for agents whose
//! turns a host runs elsewhere, and has a [`Runner`] drive those whose turns are run in this
//! process. Agents that another process drives are observed.

mod access;
mod agents;
mod api;
mod asked;
mod auth;
mod cursors;
mod forward;
mod hooks;
mod limits;
mod listen;
mod metrics;
#[cfg(target_os = "linux")]
mod model;
mod openapi;
mod outgoing;
mod page;
mod problem;
mod random;
mod route;
mod routes;
mod runner;
mod server;
mod signing;
mod traces;

pub use access::{AccessError, Grant, Scope, grant, grants, revoke};
pub use agents::{Notice, Turns, belongings, kinds};
pub use hooks::HookOptions;
pub use limits::Limits;
pub use listen::{Socket, Tls, TlsError};
#[cfg(target_os = "linux")]
pub use model::{Folders, Models};
pub use openapi::document;
pub use page::{Page, PageError};
pub use problem::Problem;
pub use route::{Parameter, Route};
pub use routes::ROUTES;
pub use runner::{Hear, Runner, RunnerError, Watch};
pub use server::{Options, Running, ServeError, start};
pub use traces::{CONVENTIONS, TraceError, TraceOptions};
