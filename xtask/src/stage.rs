//! Shows a stage: one line when it begins, and one with its duration.
//!
//! These lines go to standard error, so that standard output has only the output of the command
//! itself.

use std::{
    fmt,
    time::{Duration, Instant},
};

use anstyle::{AnsiColor, Style};

use crate::call::{self, Failure};

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

/// How long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Took {
    /// By the clock.
    pub clock: Duration,
    /// Of the processors. It is the same on a busy machine.
    pub processor: Duration,
}

/// Runs one stage, and prints its duration.
pub fn timed<T>(
    name: &str,
    does: &str,
    work: impl FnOnce() -> Result<T, Failure>,
) -> (Result<T, Failure>, Took) {
    anstream::eprintln!("{}: {does}", bold(name));
    let (start, before) = (Instant::now(), call::spent());
    let done = work();
    let took = Took { clock: start.elapsed(), processor: call::spent().saturating_sub(before) };
    let clock = seconds(took.clock);
    match &done {
        Ok(_) => anstream::eprintln!("{}: {} in {clock}", bold(name), green("done")),
        Err(_) => anstream::eprintln!("{}: {} after {clock}", bold(name), red("failed")),
    }
    (done, took)
}

/// `12.3 s`.
pub fn seconds(took: Duration) -> String {
    let tenths = took.as_millis() / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}
