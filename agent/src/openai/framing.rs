//! Splits an answer into chunks: the events of a stream, or one whole text.

use super::sse::{Event, Splitter};

/// The form of a body, detected from its beginning. A stream begins with a field of an event or
/// with a comment; JSON, HTML and plain words begin with neither. The content type is not used,
/// because servers and proxies get it wrong.
#[derive(Debug)]
pub(super) enum Framing {
    /// What has arrived may still become either.
    Unknown(Vec<u8>),
    /// Server-sent events.
    Stream(Splitter),
    /// One text, complete when the body ends.
    Whole(Vec<u8>),
}

/// The beginnings of a stream.
const BEGINNINGS: [&[u8]; 9] =
    [b":", b"data:", b"data\n", b"data\r", b"event:", b"id:", b"retry:", b"error: {", b"error:{"];

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl Default for Framing {
    fn default() -> Self {
        Self::Unknown(Vec::new())
    }
}

impl Framing {
    /// Takes the next bytes, and returns the events that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        match self {
            Self::Stream(splitter) => splitter.push(bytes),
            Self::Whole(text) => {
                text.extend_from_slice(bytes);
                Vec::new()
            }
            Self::Unknown(held) => {
                // White space before a body is a sign of life, and may go on for hours.
                let bytes = if held.is_empty() { bytes.trim_ascii_start() } else { bytes };
                held.extend_from_slice(bytes);
                let begun = held.strip_prefix(BYTE_ORDER_MARK).unwrap_or(held).trim_ascii_start();
                let may_become = |beginning: &&[u8]| beginning.starts_with(begun);
                let is_mark = BYTE_ORDER_MARK.starts_with(held);
                if BEGINNINGS.iter().any(|beginning| begun.starts_with(beginning)) {
                    let held = std::mem::take(held);
                    *self = Self::Stream(Splitter::default());
                    return self.push(&held);
                }
                if !is_mark && !BEGINNINGS.iter().any(may_become) {
                    *self = Self::Whole(std::mem::take(held));
                }
                Vec::new()
            }
        }
    }

    /// The bytes of the part that is not complete yet.
    pub(super) fn held(&self) -> u64 {
        let held = match self {
            Self::Stream(splitter) => splitter.held(),
            Self::Unknown(text) | Self::Whole(text) => text.len(),
        };
        held as u64
    }

    /// Whether the body is one text.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// What is left at the end of the body.
    pub(super) fn rest(self) -> Rest {
        match self {
            Self::Stream(splitter) => Rest::Event(splitter.rest()),
            Self::Unknown(text) | Self::Whole(text) if !text.is_empty() => Rest::Whole(text),
            Self::Unknown(_) | Self::Whole(_) => Rest::Event(None),
        }
    }
}

/// What is left at the end of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The body is one text.
    Whole(Vec<u8>),
    /// The last event of a stream, without the empty line after it.
    Event(Option<Event>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_tells_the_form() {
        for stream in [
            "data: x\n\n",
            "\n: hello\n\ndata: x\n\n",
            "event: a\ndata: x\n\n",
            "\u{feff}data: x\n\n",
        ] {
            let mut framing = Framing::default();
            let events: Vec<Event> =
                stream.bytes().flat_map(|byte| framing.push(&[byte])).collect();
            assert_eq!(events.len(), 1, "{stream:?}");
            assert_eq!(events[0].data, b"x", "{stream:?}");
            assert_eq!(framing.rest(), Rest::Event(None));
        }
        let mut framing = Framing::default();
        assert_eq!(framing.push(b"error: {}\n\n").len(), 1, "an error of llama.cpp");
        for whole in ["{\"a\":1}", "[]", "<html>", "Bad gateway", "error: no", "database", "i"] {
            let mut framing = Framing::default();
            assert!(framing.push(b" \n").is_empty());
            assert!(whole.bytes().all(|byte| framing.push(&[byte]).is_empty()));
            assert_eq!(framing.rest(), Rest::Whole(whole.as_bytes().to_vec()));
        }
        assert_eq!(Framing::default().rest(), Rest::Event(None));
    }
}
