//! `cargo xtask load`: many agents behind one server, under load and under kills.

use std::{env, process::ExitCode};

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
    released(paths, "load", options)
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths) -> Result<(), Failure> {
    built(paths, "load", &SHARE, "the server lost, doubled or refused something")
}

/// Builds a program of the tests that starts servers, and the command line, in the release profile,
/// and runs it with these options.
pub(crate) fn released(
    paths: &Paths,
    name: &'static str,
    options: &[String],
) -> Result<ExitCode, Failure> {
    stage("release", "the command line and this program, optimised", || {
        [name, "wakeful"].iter().try_for_each(|program| native::build_released(paths, program))
    })?;
    // A path among the options is relative to the folder in which the developer typed it.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    Call::new(paths, name, paths.released(name))
        .folder(here)
        .arg("--program")
        .arg(paths.released("wakeful"))
        .args(options)
        .pass_through()
        .map(exit_code)
}

/// Runs such a program as it is built for tests. `wrong` says what it means if it fails.
pub(crate) fn built(
    paths: &Paths,
    name: &'static str,
    options: &[&str],
    wrong: &str,
) -> Result<(), Failure> {
    let built = paths.target().join("debug");
    let status = Call::new(paths, name, built.join(program(name)))
        .arg("--program")
        .arg(built.join(program("wakeful")))
        .args(options)
        .pass_through()?;
    if status.success() { Ok(()) } else { Err(Failure::new(wrong)) }
}
