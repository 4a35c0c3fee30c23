//! What waits to be read by a command.

use std::collections::VecDeque;

/// How much may wait, in bytes.
const CAPACITY: usize = 1024 * 1024;

/// Why a command did not take input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// It was started without.
    #[error("the command takes no input; start it with `accepts_input`")]
    NotAccepted,
    /// Its end was told already, the command closed it, or the command has ended.
    #[error("the command takes no more input: its input is closed, or it has ended")]
    Closed,
    /// It does not read what it was given.
    #[error(
        "the command has not read {waiting} bytes that it was given, and no more than {CAPACITY} \
         may wait; write less, or later"
    )]
    Full {
        /// How many bytes wait.
        waiting: usize,
    },
}

/// The input of a command, on its way.
#[derive(Debug)]
pub(super) enum Input {
    NotAccepted,
    Open {
        waiting: VecDeque<u8>,
        /// Whether it ends behind what waits.
        ends: bool,
        /// The last byte that was written; on a terminal the end of input means something else in
        /// the middle of a line.
        last: Option<u8>,
    },
    Closed,
}

impl Input {
    pub(super) fn open() -> Self {
        Self::Open { waiting: VecDeque::new(), ends: false, last: None }
    }

    /// Whether there is something to hand over.
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

    /// Ends it behind what waits.
    pub(super) fn close(&mut self) -> Result<(), InputError> {
        self.push(&[])?;
        if let Self::Open { ends, .. } = self {
            *ends = true;
        }
        Ok(())
    }

    /// Ends it at once.
    pub(super) fn shut(&mut self) {
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
