//! Shows a stage: one line when it begins, and one with its duration.
//!
//! These lines go to standard error, so that standard output has only the output of the command
//! itself.

use std::{
    fmt,
    time::{Duration, Instant},
};

use anstyle::{AnsiColor, Style};

use crate::call::Failure;

const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default().bold();
const BOLD: Style = Style::new().bold();

/// The text in bold red, if colours are shown.
pub fn red(text: impl fmt::Display) -> impl fmt::Display {
    format!("{RED}{text}{RED:#}")
}

/// The text in bold green, if colours are shown.
pub fn green(text: impl fmt::Display) -> impl fmt::Display {
    format!("{GREEN}{text}{GREEN:#}")
}

/// The text in bold, if colours are shown.
pub fn bold(text: impl fmt::Display) -> impl fmt::Display {
    format!("{BOLD}{text}{BOLD:#}")
}

/// Runs one stage of a command that stops at the first failure.
pub fn stage<T>(
    name: &str,
    does: &str,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (done, _) = timed(name, does, work);
    done
}

/// Runs one stage, and prints its duration.
pub fn timed<T>(
    name: &str,
    does: &str,
    work: impl FnOnce() -> Result<T, Failure>,
) -> (Result<T, Failure>, Duration) {
    anstream::eprintln!("{}: {does}", bold(name));
    let start = Instant::now();
    let done = work();
    let took = start.elapsed();
    match &done {
        Ok(_) => anstream::eprintln!("{}: {} in {}", bold(name), green("done"), seconds(took)),
        Err(_) => anstream::eprintln!("{}: {} after {}", bold(name), red("failed"), seconds(took)),
    }
    (done, took)
}

/// `12.3 s`.
pub fn seconds(took: Duration) -> String {
    let tenths = took.as_millis() / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}
