//! The sandbox: the guest component in wasmtime, one instance per agent, under limits.
//!
//! A [`Runtime`] compiles a [`Guest`] once. A [`Plugin`] is that guest linked to one kind of host.
//! A [`Sandbox`] is one instance over a ledger, a clock and a provider. An instance that reaches
//! one of its [`Limits`] is gone. Its ledger stays consistent, so another instance opens it and
//! continues.

mod bindings;
mod find;
mod function;
mod guest;
mod imports;
mod instance;
mod limits;
mod meter;
mod runtime;
mod world;

pub use find::{NoGuest, built, file, find};
pub use function::Function;
pub use guest::{Guest, GuestError};
pub use imports::Calls;
pub use instance::{Plugin, Sandbox};
pub use limits::{Breach, Limit, Limits, Pool};
pub use runtime::{Compiler, Runtime};
pub use world::{IMPORTS, WORLD_VERSION};
