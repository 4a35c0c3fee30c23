//! The commands that prove things are a program of their own, `wakeful-proof`; so this one stays
//! quick to compile.

use std::{env, process::ExitCode};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The commands of that program.
pub const COMMANDS: [&str; 9] =
    ["coverage", "deny", "fuzz", "miri", "mutants", "night", "proof", "seeded", "semver"];

/// Builds the program if need be, and becomes it with this command line.
pub(crate) fn forward(paths: &Paths, words: &[String]) -> Result<ExitCode, Failure> {
    // A file that is named is one from where the developer stands.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    let call = Call::cargo(paths, "proof", "run").folder(here).args([
        "--quiet",
        "--package",
        "wakeful-proof",
        "--manifest-path",
    ]);
    call.arg(paths.at("Cargo.toml")).arg("--").args(words).become_it()
}
