//! Reports that a tool is missing, and the line that installs it.

use std::process::ExitCode;

use crate::stage::red;

/// The exit code if a tool is missing.
const MISSING: u8 = 3;

/// Prints what is missing and how to install it.
pub fn missing(what: &str, how: &str) -> ExitCode {
    anstream::eprintln!("{}: {what} is not there; install it with {how}", red("error"));
    ExitCode::from(MISSING)
}
