//! The Wakeful scheduler for browsers, Node and bundlers: a thin shell that carries values between
//! JavaScript and the core.
//!
//! [`Scheduler`] is the short loop over a JavaScript host with synchronous storage, [`Machine`] the
//! outbox for hosts whose storage answers later. Facts come in as JSON text, or as objects. What
//! the core's own text must decide (comparisons, storage) goes out as that text, by the methods
//! whose name ends in `Text`; their namesakes give the same value as an object. The feature
//! `workbench` adds what only the workbench and the cross-check need: `Player`, which plays a
//! story, and more to ask of the past.

mod crossing;
mod error;
mod folder;
mod host;
mod machine;
#[cfg(feature = "workbench")]
mod player;
mod scheduler;
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

use wasm_bindgen::prelude::wasm_bindgen;

/// Runs once when the module is instantiated: a defect then throws its own sentence, not only
/// "unreachable executed".
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|defect| wasm_bindgen::throw_str(&defect.to_string())));
}

/// The memory of the guest, which has one thread.
#[cfg(target_family = "wasm")]
#[global_allocator]
static MEMORY: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();
