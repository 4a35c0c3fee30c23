//! `cargo xtask crash`: crashes processes in scenarios, in random stories and for real, and
//! compares the results.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// The twentieth that every test run does.
const SHARE: [&str; 4] = ["--stories", "500", "--kills", "10"];

/// Builds the native side and runs the program `crash` of the tests with these options.
pub(crate) fn crash(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and this program", || {
        native::build_programs(paths, &["crash", "wakeful"])
    })?;
    Call::new(paths, "crash", paths.crash()).args(options).pass_through().map(exit_code)
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths) -> Result<(), Failure> {
    let status = Call::new(paths, "crash", paths.crash()).args(SHARE).pass_through()?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new("a death changed what came of a story"))
    }
}
