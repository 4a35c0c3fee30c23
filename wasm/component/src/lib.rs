//! The component shell. It carries text across the WIT boundary and does nothing else. The world is
//! `wasm/wit/0.2.0`.

mod agent;
mod imports;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::all, clippy::unwrap_used)]
mod bindings;

#[allow(unsafe_code, unreachable_pub, clippy::all)]
mod exported {
    crate::bindings::export!(Component with_types_in crate::bindings);

    use super::Component;
}

use agent::Component;

/// The allocator. It needs no lock, because the guest has one thread.
#[cfg(target_family = "wasm")]
#[global_allocator]
static MEMORY: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();
