//! How a command ended.

use std::time::Duration;

/// The exit of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The number of the signal that ended it; `None` if it exited.
    pub signal: Option<i32>,
    /// Why it ended.
    pub cause: Cause,
    /// The number of bytes that it wrote.
    pub output_bytes: u64,
    /// The number of those bytes that are not in its output file.
    pub left_out_bytes: u64,
    /// Why the output file is incomplete; `None` if writing never failed.
    pub output_fault: Option<String>,
    /// The time from its start to the end of its own process.
    pub duration: Duration,
}

impl Exit {
    /// Whether it exited on its own with code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.cause == Cause::Exited && self.code == Some(0)
    }
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// On its own, or by a signal that the host did not send.
    Exited,
    /// It was told to stop.
    Stopped,
    /// It reached its time limit.
    TimedOut,
    /// It used too much disk.
    DiskUsed,
}

impl Cause {
    /// Why the host ended the command, after "it"; `None` if the host did not, or was told to.
    #[must_use]
    pub fn of_limits(self) -> Option<&'static str> {
        match self {
            Self::Exited | Self::Stopped => None,
            Self::TimedOut => Some("ran past its time limit and was ended"),
            Self::DiskUsed => Some("used more disk than the policy allows and was killed"),
        }
    }
}
