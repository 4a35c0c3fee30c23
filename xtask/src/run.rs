//! `cargo xtask run`: everything is built, then the engines are compared.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure, exit_code},
    guests, native,
    paths::Paths,
    set_up,
    stage::stage,
    tools,
};

/// Builds everything and compares the engines; the exit code is that of the comparison.
pub(crate) fn run(paths: &Paths) -> Result<ExitCode, Failure> {
    build(paths)?;
    let call = Call::new(paths, "crosscheck", paths.wakeful()).arg("crosscheck");
    call.args(["--engines", "native,wasmtime,pulley,winch,node"]).pass_through().map(exit_code)
}

/// The stages that both `run` and `serve` begin with.
pub(crate) fn build(paths: &Paths) -> Result<(), Failure> {
    stage("set-up", "checking Node and the wasm targets", || set_up::set_up(paths))?;
    stage("tools", "building wasm-bindgen and wit-component (once)", || tools::build(paths))?;
    stage("guests", "building the component and the web module", || guests::build(paths))?;
    stage("native", "building the native host and its tests", || native::build(paths))
}
