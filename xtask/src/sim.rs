//! `cargo xtask sim`: families of agents live through virtual days, with faults at every import.

use std::{env, process::ExitCode};

use crate::{
    call::{Call, Failure, exit_code},
    native,
    paths::Paths,
    stage::stage,
};

/// Builds the native side and lets families live; the options are those of the program `sim` of the
/// tests.
pub(crate) fn sim(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("native", "building the native host and this program", || {
        native::build_programs(paths, &["sim"])
    })?;
    // A folder that is named is one from where the developer stands.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    Call::new(paths, "sim", paths.sim()).folder(here).args(options).pass_through().map(exit_code)
}
