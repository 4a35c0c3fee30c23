//! How the chunks of an answer are told apart: as events of a stream, or as one whole text.

use super::sse::Splitter;

/// The form of a body. Its first letter tells: a field of an event or a comment begins a stream,
/// and neither JSON nor a page begins so. The content type is not asked, since servers and what
/// stands before them get it wrong.
#[derive(Debug, Default)]
pub(super) enum Framing {
    /// Nothing has come yet but white space.
    #[default]
    Unknown,
    /// Server-sent events.
    Stream(Splitter),
    /// One text, whole when the body ends.
    Whole(Vec<u8>),
}

impl Framing {
    /// Takes the next bytes; gives the chunks that they end.
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

    /// The body has ended: the text, where it is one.
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
