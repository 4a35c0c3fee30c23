//! Splits an answer into chunks: the events of a stream, or one whole text.

use super::sse::Splitter;

/// The form of a body, detected from its first letter. A stream begins with a field of an event or
/// with a comment; JSON and HTML begin with neither. The content type is not used, because servers
/// and proxies get it wrong.
#[derive(Debug, Default)]
pub(super) enum Framing {
    /// Only white space has arrived.
    #[default]
    Unknown,
    /// Server-sent events.
    Stream(Splitter),
    /// One text, complete when the body ends.
    Whole(Vec<u8>),
}

impl Framing {
    /// Takes the next bytes, and returns the chunks that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        if let Self::Unknown = self {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                // The fields data, event, id and retry; a comment; a byte order mark.
                Some(b'd' | b'e' | b'i' | b'r' | b':' | 0xef) => {
                    *self = Self::Stream(Splitter::default())
                }
                Some(_) => *self = Self::Whole(Vec::new()),
                None => return Vec::new(),
            }
        }
        match self {
            Self::Stream(splitter) => splitter.push(bytes),
            Self::Whole(text) => {
                text.extend_from_slice(bytes);
                Vec::new()
            }
            Self::Unknown => Vec::new(),
        }
    }

    /// Called at the end of the body. Returns the text, or `None` for a stream.
    pub(super) fn into_whole(self) -> Option<Vec<u8>> {
        match self {
            Self::Whole(text) => Some(text),
            Self::Unknown | Self::Stream(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_letter_tells_the_form() {
        for stream in [
            "data: x\n\n",
            "\n: hello\n\ndata: x\n\n",
            "event: a\ndata: x\n\n",
            "\u{feff}data: x\n\n",
        ] {
            let mut framing = Framing::default();
            let chunks: Vec<Vec<u8>> =
                stream.bytes().flat_map(|byte| framing.push(&[byte])).collect();
            assert_eq!(chunks, [b"x"], "{stream:?}");
            assert_eq!(framing.into_whole(), None);
        }
        for whole in ["{\"a\":1}", "[]", "<html>", "Bad gateway"] {
            let mut framing = Framing::default();
            assert!(framing.push(b" \n").is_empty());
            assert!(whole.bytes().all(|byte| framing.push(&[byte]).is_empty()));
            assert_eq!(framing.into_whole().unwrap(), whole.as_bytes());
        }
        assert_eq!(Framing::default().into_whole(), None);
    }
}
