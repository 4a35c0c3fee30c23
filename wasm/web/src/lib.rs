//! The Wakeful scheduler for browsers, Node and bundlers. This shell only carries values between
//! JavaScript and the core.
//!
//! [`Scheduler`] is the short loop over a JavaScript host with synchronous storage. [`Machine`] is
//! the outbox for hosts with asynchronous storage. Facts come in as JSON text or as objects.
//! Methods whose name ends in `Text` return the core's own text, for comparisons and storage. Their
//! namesakes return the same value as an object.
//!
//! The feature `questions` answers why not, the past and foreign folders; without it these calls
//! throw an error. The feature `workbench` adds what only the workbench and the cross-check need:
//! `Player`, which plays a story, and more questions about the past.

mod crossing;
mod error;
mod folder;
mod host;
mod machine;
mod mistake;
#[cfg(feature = "workbench")]
mod player;
mod question;
mod scheduler;
mod steady;
mod types;
#[cfg(feature = "workbench")]
mod workbench;

pub use folder::agent_of;
pub use host::{
    JsClock, JsHost, JsLedger, JsProvider, ledger_failure, provider_failure, read_clock,
};
pub use machine::Machine;
#[cfg(feature = "workbench")]
pub use player::Player;
pub use scheduler::Scheduler;
pub use steady::Steady;

use wasm_bindgen::prelude::wasm_bindgen;

/// Runs once when the module is instantiated, so that a panic throws its message and not only
/// "unreachable executed".
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|defect| wasm_bindgen::throw_str(&defect.to_string())));
}

/// The allocator. It needs no lock, because the guest has one thread.
#[cfg(target_family = "wasm")]
#[global_allocator]
static MEMORY: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();
