//! The sandbox: the guest component in wasmtime, one instance per agent, under limits.
//!
//! [`Guest`] is compiled once and shared; [`Sandbox`] is one instance of it over a ledger, a clock and a provider.

mod find;
mod guest;
mod imports;
mod instance;
mod limits;

pub(crate) use find::built;
pub use find::{NoGuest, find};
pub use guest::{Guest, GuestError, IMPORTS};
pub use imports::Calls;
pub use instance::Sandbox;
pub use limits::Limits;

#[allow(missing_docs, clippy::all)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../wasm/wit/0.1.0",
        world: "scheduler",
    });
}
