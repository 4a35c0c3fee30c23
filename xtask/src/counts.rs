//! What the hot paths of the native core cost, counted by Callgrind.

use crate::{
    call::{Call, Failure},
    debian,
    paths::{self, Paths},
};

/// Counts every path, and compares with what is recorded, or records it.
pub(crate) fn check(paths: &Paths, bless: bool) -> Result<(), Failure> {
    if !cfg!(target_os = "linux") {
        anstream::eprintln!("counts: not counted, because Callgrind is taken from Linux alone");
        return Ok(());
    }
    if paths::on_path("valgrind").is_none() {
        let missing = "valgrind missing; install it: apt-get install valgrind";
        debian::install(paths, "counts", &["valgrind"], missing)?;
    }
    // A selection of its own: with the others it would wait for wasmtime to be optimised.
    Call::cargo(paths, "counts-build", "build")
        .args(["--release", "-p", "wakeful-counts"])
        .build()?;
    let call = Call::new(paths, "counts", paths.released("counts"));
    let call = call.arg("check").arg(paths.at("tests/counts/native.txt"));
    if bless { call.arg("--bless") } else { call }.build()
}
