//! `cargo xtask model`: every state that the real machine can come to, as far as it is asked for.

use std::{env, process::ExitCode};

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// Builds the native side and searches; the options are those of the program `model` of the tests.
pub(crate) fn model(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and this program", || {
        native::build_programs(paths, &["model"])
    })?;
    // A folder that is named is one from where the developer stands.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    Call::new(paths, "model", paths.model())
        .folder(here)
        .args(options)
        .pass_through()
        .map(exit_code)
}
