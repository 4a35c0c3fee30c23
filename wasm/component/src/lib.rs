//! The component shell. It carries text across the WIT boundary and does nothing else. The world is
//! `wasm/wit/0.2.0`.

mod agent;
mod imports;

#[allow(missing_docs, unsafe_code, unreachable_pub, clippy::all)]
mod bindings {
    wit_bindgen::generate!({ path: "../wit/0.2.0", world: "scheduler" });

    use super::agent::Component;
    export!(Component);
}

/// The allocator. It needs no lock, because the guest has one thread.
#[cfg(target_family = "wasm")]
#[global_allocator]
static MEMORY: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();
