//! The queued input of a command.

use std::collections::VecDeque;

/// The most bytes that may wait.
// A command that never reads its input must not fill the memory of the host.
const CAPACITY: usize = 1024 * 1024;

/// Why a command did not take input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The command was started without input.
    #[error("the command takes no input; start it with `accepts_input`")]
    NotAccepted,
    /// Its input was ended, the command closed it, or the command has ended.
    #[error("the command takes no more input: its input is closed, or it has ended")]
    Closed,
    /// The command does not read its input.
    #[error(
        "the command has not read {waiting} bytes of its input, and at most {CAPACITY} may wait; \
         write less, or later"
    )]
    Full {
        /// The number of bytes that wait.
        waiting: usize,
    },
}

/// The input of a command.
#[derive(Debug)]
pub(super) enum Input {
    NotAccepted,
    Open {
        waiting: VecDeque<u8>,
        /// Whether the input ends after the bytes that wait.
        ends: bool,
        /// The last byte that was queued. On a terminal, the end-of-file character has another
        /// meaning in the middle of a line.
        last: Option<u8>,
    },
    Closed,
}

impl Input {
    pub(super) fn open() -> Self {
        Self::Open { waiting: VecDeque::new(), ends: false, last: None }
    }

    /// Whether there are bytes to write, or an end to signal.
    pub(super) fn is_due(&self) -> bool {
        matches!(self, Self::Open { waiting, ends, .. } if *ends || !waiting.is_empty())
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<usize, InputError> {
        match self {
            Self::NotAccepted => Err(InputError::NotAccepted),
            Self::Closed | Self::Open { ends: true, .. } => Err(InputError::Closed),
            Self::Open { waiting, .. } if waiting.len() + bytes.len() > CAPACITY => {
                Err(InputError::Full { waiting: waiting.len() })
            }
            Self::Open { waiting, last, .. } => {
                waiting.extend(bytes);
                *last = bytes.last().copied().or(*last);
                Ok(bytes.len())
            }
        }
    }

    /// Ends the input after the bytes that wait.
    pub(super) fn close(&mut self) -> Result<(), InputError> {
        // An empty push makes the checks of `push`, with the same errors.
        self.push(&[])?;
        if let Self::Open { ends, .. } = self {
            *ends = true;
        }
        Ok(())
    }

    /// Ends the input at once.
    pub(super) fn shut(&mut self) {
        // `NotAccepted` stays as it is, so that a later write gets the error that says how to start
        // the command.
        if matches!(self, Self::Open { .. }) {
            *self = Self::Closed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_that_nobody_reads_is_refused_when_too_much_waits() {
        let mut input = Input::open();
        assert_eq!(input.push(&vec![0; CAPACITY]), Ok(CAPACITY));
        assert_eq!(input.push(&[0]), Err(InputError::Full { waiting: CAPACITY }));
        assert_eq!(input.push(&[]), Ok(0));
    }

    #[test]
    fn input_is_closed_once() {
        let mut input = Input::open();
        assert_eq!((input.push(b"a"), input.close()), (Ok(1), Ok(())));
        assert!(input.is_due());
        assert_eq!(
            (input.push(b"b"), input.close()),
            (Err(InputError::Closed), Err(InputError::Closed))
        );
        input.shut();
        assert!(!input.is_due());
        assert_eq!(Input::NotAccepted.close(), Err(InputError::NotAccepted));
    }
}
