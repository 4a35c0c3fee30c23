//! What wasmtime generates for the world.

#![allow(missing_docs, unused, clippy::all)]

wasmtime::component::bindgen!({
    path: "../wasm/wit/0.2.0",
    world: "scheduler",
    imports: { default: trappable },
});
