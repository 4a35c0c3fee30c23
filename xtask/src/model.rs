//! `cargo xtask model`: model checking of the real machine.

use std::{env, process::ExitCode};

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// Builds the native side and runs the program `model` of the tests with these options.
pub(crate) fn model(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and this program", || {
        native::build_programs(paths, &["model"])
    })?;
    // A path is relative to the folder in which the developer typed it.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    Call::new(paths, "model", paths.model())
        .folder(here)
        .args(options)
        .pass_through()
        .map(exit_code)
}
