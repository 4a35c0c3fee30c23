//! The shell's tests in Node.
#![cfg(target_arch = "wasm32")]

mod shell;
