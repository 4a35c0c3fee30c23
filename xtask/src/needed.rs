//! A program that measures and is not installed: which, and the line that installs it.

use std::process::ExitCode;

use crate::stage::red;

/// The exit code where such a program is missing.
const MISSING: u8 = 3;

/// Says what is missing and how to install it.
pub fn missing(what: &str, how: &str) -> ExitCode {
    anstream::eprintln!("{}: {what} is not there; install it with {how}", red("error"));
    ExitCode::from(MISSING)
}
