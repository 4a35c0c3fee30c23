//! `cargo xtask model`: every state that the real machine can come to, as far as it is asked for.

use std::process::ExitCode;

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// Builds the native side and searches; the options are those of the program `model` of the tests.
pub(crate) fn model(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and its tests", || native::build(paths))?;
    Call::new(paths, "model", paths.model()).args(options).pass_through().map(exit_code)
}
