//! `cargo xtask crash`: processes die in scenarios, in random stories and for real, and what comes
//! of it is compared.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// The twentieth of it that every test run does.
const SHARE: [&str; 4] = ["--stories", "500", "--kills", "10"];

/// Builds the native side and lets processes die; the options are those of the program `crash` of
/// the tests.
pub(crate) fn crash(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and this program", || {
        native::build_programs(paths, &["crash", "wakeful"])
    })?;
    Call::new(paths, "crash", paths.crash()).args(options).pass_through().map(exit_code)
}

/// A share of it, on what is built.
pub(crate) fn share(paths: &Paths) -> Result<(), Failure> {
    let status = Call::new(paths, "crash", paths.crash()).args(SHARE).pass_through()?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new("a death changed what came of a story"))
    }
}
