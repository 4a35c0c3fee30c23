//! The build tools of xtask/tools, which make guests of compiled modules, and the runner of
//! wasm-bindgen's tests.

use std::path::PathBuf;

use crate::{
    call::{Call, Failure},
    native,
    paths::{Paths, program},
};

/// Builds the tools. They are in the native selection, because wasmtime has crates in common with
/// them.
pub fn build(paths: &Paths) -> Result<(), Failure> {
    native::build_programs(paths, &["wakeful-tools"])
}

/// Builds the runner that cargo starts for a test of the web module.
pub(crate) fn build_runner(paths: &Paths) -> Result<(), Failure> {
    Call::cargo(paths, "test-runner", "build").args(["-p", "wakeful-test-runner"]).build()
}

/// The runner's program.
pub(crate) fn runner(paths: &Paths) -> PathBuf {
    paths.target().join("debug").join(program("wakeful-test-runner"))
}
