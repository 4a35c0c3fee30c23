//! The npm package `@wakeful/scheduler` in npm/: its tarball, and its tests.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure},
    guests, packages,
    paths::Paths,
    set_up,
    stage::stage,
    tools,
};

/// Builds the guest, packs the tarball, and prints the sizes.
pub(crate) fn npm(paths: &Paths) -> Result<ExitCode, Failure> {
    stage("set-up", "checking Node and the wasm targets", || set_up::set_up(paths))?;
    stage("tools", "building wasm-bindgen and wit-component (once)", || tools::build(paths))?;
    stage("guest", "building the web module", || guests::build_package(paths))?;
    stage("packages", "installing what the package is built with", || {
        packages::install(paths, &paths.npm())
    })?;
    let weight = stage("package", "compiling and packing it", || build(paths))?;
    anstream::print!("{weight}");
    Ok(ExitCode::SUCCESS)
}

/// Compiles the package over the web module and packs it. Returns its output, the sizes.
pub(crate) fn build(paths: &Paths) -> Result<String, Failure> {
    Call::new(paths, "npm-build", "node").arg("npm/build.mjs").answer()
}

/// A script of npm/package.json.
pub(crate) fn script(paths: &Paths, name: &str) -> Call {
    packages::npm(paths, &format!("npm-{name}"), &paths.npm()).args(["run", name])
}
