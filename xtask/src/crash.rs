//! `cargo xtask crash`: processes die in scenarios, in random stories and for real, and what comes of it is compared.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// The tenth of it that every test run does.
const TENTH: [&str; 4] = ["--stories", "1000", "--kills", "20"];

/// Builds the native side and lets processes die; the options are those of the program `crash` of the tests.
pub(crate) fn crash(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and its tests", || native::build(paths))?;
    Call::new(paths, "crash", paths.crash()).args(options).pass_through().map(exit_code)
}

/// A tenth of it, on what is built.
pub(crate) fn tenth(paths: &Paths) -> Result<(), Failure> {
    let status = Call::new(paths, "crash", paths.crash()).args(TENTH).pass_through()?;
    if status.success() { Ok(()) } else { Err(Failure::new("a death changed what came of a story")) }
}
