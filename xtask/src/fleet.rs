//! `cargo xtask fleet`: agents on three servers of one store in PostgreSQL, under faults.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::{Paths, program},
    postgres,
    stage::stage,
};

/// What every test run does.
const SHARE: [&str; 12] = [
    "--agents",
    "40",
    "--rate",
    "20",
    "--quiet",
    "5",
    "--seconds",
    "50",
    "--faults-each",
    "14",
    "--primary-each",
    "20",
];

/// Builds everything in its release profile, and runs the program `fleet` of the tests with these
/// options.
pub(crate) fn fleet(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("postgres", "PostgreSQL, of which each cluster is made", || postgres::find(paths))?;
    stage("release", "the command line and this program, optimised", || {
        ["fleet", "wakeful"].iter().try_for_each(|program| native::build_released(paths, program))
    })?;
    Call::new(paths, "fleet", paths.released("fleet"))
        .arg("--program")
        .arg(paths.released("wakeful"))
        .args(options)
        .pass_through()
        .map(exit_code)
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths) -> Result<(), Failure> {
    let built = paths.target().join("debug");
    let status = Call::new(paths, "fleet", built.join(program("fleet")))
        .arg("--program")
        .arg(built.join(program("wakeful")))
        .args(SHARE)
        .pass_through()?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new("the fleet lost, doubled or ran something in vain"))
    }
}
