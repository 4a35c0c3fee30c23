//! `cargo xtask sim`: simulates families of agents over virtual days, with faults at every import.

use std::{env, process::ExitCode};

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// Builds the native side and runs the program `sim` of the tests with these options.
pub(crate) fn sim(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and this program", || {
        native::build_programs(paths, &["sim"])
    })?;
    // A path is relative to the folder in which the developer typed it.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    Call::new(paths, "sim", paths.sim()).folder(here).args(options).pass_through().map(exit_code)
}
