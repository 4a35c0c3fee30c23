//! What wasmtime generates for each version of the world.
//!
//! The imports have the same types in all versions, so the host implements those of the newest.

#![allow(missing_docs, unused, clippy::all)]

pub(super) mod v0_1 {
    wasmtime::component::bindgen!({ path: "../wasm/wit/0.1.0", world: "scheduler" });
}

pub(super) mod v0_2 {
    wasmtime::component::bindgen!({
        path: "../wasm/wit/0.2.0",
        world: "scheduler",
        imports: { default: trappable },
    });
}
