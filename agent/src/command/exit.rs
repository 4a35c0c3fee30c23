//! How a command ended.

use std::time::Duration;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The exit code, where it ended by itself or took a signal to end with one.
    pub code: Option<i32>,
    /// The number of the signal that ended it, where one did.
    pub signal: Option<i32>,
    /// Why it ended.
    pub cause: Cause,
    /// How many bytes it wrote.
    pub output_bytes: u64,
    /// How many of them are not in its output file.
    pub left_out_bytes: u64,
    /// Why the output file could not be written to the end, where it could not.
    pub output_fault: Option<String>,
    /// From its start until its own process ended.
    pub duration: Duration,
}

impl Exit {
    /// Whether it ended by itself, with exit code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.cause == Cause::Exited && self.code == Some(0)
    }
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// By itself, or by a signal that was not ours.
    Exited,
    /// It was told to stop.
    Stopped,
    /// It ran longer than it may.
    TimedOut,
}
