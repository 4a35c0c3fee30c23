//! The native side: the core, the host with the command line, and the tests.

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The one selection of packages that build, clippy and test share. Cargo unifies features per
/// selection, so with another one it would compile wasmtime again.
pub const SELECTION: [&str; 22] = [
    "-p",
    "wakeful",
    "-p",
    "wakeful-agent",
    "-p",
    "wakeful-serve",
    "-p",
    "wakeful-host",
    "-p",
    "wakeful-core",
    "-p",
    "wakeful-json",
    "-p",
    "wakeful-json-derive",
    "-p",
    "wakeful-tests",
    "-p",
    "plugin-host",
    "-p",
    "first-story",
    "-p",
    "life",
];

/// Builds the command line and all tests.
pub fn build(paths: &Paths) -> Result<(), Failure> {
    Call::cargo(paths, "native", "build").args(SELECTION).arg("--all-targets").build()
}

/// Builds only these programs and their dependencies. It keeps the selection, so that nothing is
/// compiled twice.
pub fn build_programs(paths: &Paths, names: &[&str]) -> Result<(), Failure> {
    let named = names.iter().flat_map(|name| ["--bin", name]);
    Call::cargo(paths, "native-programs", "build").args(SELECTION).args(named).build()
}

/// Builds one program as it is released.
pub fn build_released(paths: &Paths, name: &str) -> Result<(), Failure> {
    Call::cargo(paths, "native-released", "build")
        .arg("--release")
        .args(SELECTION)
        .args(["--bin", name])
        .build()
}
