//! The long checks are in the program `wakeful-proof`, so that this one compiles quickly.

use std::{env, process::ExitCode};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The commands of `wakeful-proof`.
pub const COMMANDS: [&str; 9] =
    ["coverage", "deny", "fuzz", "miri", "mutants", "night", "proof", "seeded", "semver"];

/// Builds `wakeful-proof`, then replaces this process with it.
pub(crate) fn forward(paths: &Paths, words: &[String]) -> Result<ExitCode, Failure> {
    // A path is relative to the folder in which the developer typed it.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    let call = Call::cargo(paths, "proof", "run").folder(here).args([
        "--quiet",
        "--package",
        "wakeful-proof",
        "--manifest-path",
    ]);
    call.arg(paths.at("Cargo.toml")).arg("--").args(words).become_it()
}
