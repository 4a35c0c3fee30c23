//! `cargo xtask load`: many agents behind one server, under load and under kills.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::{Paths, program},
    stage::stage,
};

/// What every test run does. It judges counts only, because other things run beside it.
const SHARE: [&str; 13] = [
    "--counts",
    "--agents",
    "300",
    "--active",
    "30",
    "--rate",
    "100",
    "--seconds",
    "5",
    "--streams",
    "60",
    "--kills",
    "8",
];

/// Builds everything in its release profile, and runs the program `load` of the tests with these
/// options.
pub(crate) fn load(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("release", "the command line and this program, optimised", || {
        ["load", "wakeful"].iter().try_for_each(|program| native::build_released(paths, program))
    })?;
    Call::new(paths, "load", paths.released("load"))
        .arg("--program")
        .arg(paths.released("wakeful"))
        .args(options)
        .pass_through()
        .map(exit_code)
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths) -> Result<(), Failure> {
    let built = paths.target().join("debug");
    let status = Call::new(paths, "load", built.join(program("load")))
        .arg("--program")
        .arg(built.join(program("wakeful")))
        .args(SHARE)
        .pass_through()?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new("the server lost, doubled or refused something"))
    }
}
