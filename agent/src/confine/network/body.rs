//! How far the body of a request reaches.
//!
//! A connection carries one request, and the next one could be for another host. So what follows
//! the body must not reach the server.

/// The longest line of a chunk's size or of a trailer.
const LINE_BYTES: usize = 8 * 1024;

/// What follows the head of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Everything until the end of the connection.
    Endless,
    /// This many more bytes.
    Bytes(u64),
    /// Chunks, each with its size (RFC 9112, section 7.1).
    Chunked(Chunk),
}

/// The place inside a chunked body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// In the line with the size: what was read of it.
    Size(Vec<u8>),
    /// In the data: the bytes left, with the line break after them.
    Data(u64),
    /// In the trailer, of whose current line this many bytes were read.
    Trailer(usize),
}

impl Body {
    /// Whether nothing more belongs to the body.
    pub(super) fn is_over(&self) -> bool {
        *self == Self::Bytes(0)
    }

    /// How many of the bytes belong to the body. A chunk that is not valid ends it.
    pub(super) fn take(&mut self, bytes: &[u8]) -> usize {
        match self {
            Self::Endless => bytes.len(),
            Self::Bytes(left) => within(left, bytes.len()),
            Self::Chunked(chunk) => {
                let mut taken = 0;
                while taken < bytes.len() {
                    match chunk.step(&bytes[taken..]) {
                        Some(more) => taken += more,
                        None => {
                            *self = Self::Bytes(0);
                            return taken;
                        }
                    }
                    if *chunk == Chunk::END {
                        *self = Self::Bytes(0);
                        return taken;
                    }
                }
                taken
            }
        }
    }
}

impl Chunk {
    pub(super) const FIRST: Self = Self::Size(Vec::new());
    /// After the empty line of the trailer.
    const END: Self = Self::Trailer(usize::MAX);

    /// Reads a part of the chunk and returns its length; `None` if it is not valid.
    fn step(&mut self, bytes: &[u8]) -> Option<usize> {
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        let ends = bytes[..line].ends_with(b"\n");
        match self {
            Self::Data(left) => {
                let taken = within(left, bytes.len());
                if *left == 0 {
                    *self = Self::FIRST;
                }
                Some(taken)
            }
            Self::Size(read) => {
                read.extend_from_slice(&bytes[..line]);
                if read.len() > LINE_BYTES {
                    return None;
                }
                if ends {
                    let Ok(httparse::Status::Complete((_, size))) =
                        httparse::parse_chunk_size(read)
                    else {
                        return None;
                    };
                    *self = match size {
                        0 => Self::Trailer(0),
                        size => Self::Data(size.checked_add(2)?),
                    };
                }
                Some(line)
            }
            Self::Trailer(before) => {
                let length = *before + line;
                if length > LINE_BYTES {
                    return None;
                }
                // Only a line break is on the last line.
                *self = match ends {
                    true if length <= 2 => Self::END,
                    true => Self::Trailer(0),
                    false => Self::Trailer(length),
                };
                Some(line)
            }
        }
    }
}

/// Takes at most `given` from what is left.
fn within(left: &mut u64, given: usize) -> usize {
    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(given);
    *left -= taken as u64;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes belong to the body if they arrive in pieces of this length.
    fn taken(mut body: Body, text: &str, piece: usize) -> (usize, bool) {
        let taken = text.as_bytes().chunks(piece).map(|piece| body.take(piece)).sum();
        (taken, body.is_over())
    }

    #[test]
    fn a_body_ends_where_its_head_says_however_it_arrives() {
        let chunked = || Body::Chunked(Chunk::FIRST);
        let next = "GET / HTTP/1.1\r\n\r\n";
        let bodies = [
            "0\r\n\r\n",
            "3\r\nabc\r\n0\r\n\r\n",
            "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n",
            "2\r\n\r\n\r\n0\r\n\r\n",
        ];
        for body in bodies {
            for piece in 1..=body.len() + next.len() {
                let all = format!("{body}{next}");
                assert_eq!(taken(chunked(), &all, piece), (body.len(), true), "{body:?} {piece}");
            }
            assert!(!taken(chunked(), &body[..body.len() - 1], 1).1, "{body:?} is not over");
        }
        assert_eq!(taken(Body::Bytes(3), "abcdef", 2), (3, true));
        assert_eq!(taken(Body::Bytes(3), "ab", 2), (2, false));
        assert_eq!(taken(Body::Bytes(0), "ab", 2), (0, true));
        assert_eq!(taken(Body::Endless, "abcdef", 4), (6, false));
    }

    #[test]
    fn a_chunk_that_is_not_valid_ends_the_body() {
        for text in ["xyz\r\nabc", "-1\r\nabc", "\r\n\r\n", "fffffffffffffffff\r\nabc"] {
            assert!(taken(Body::Chunked(Chunk::FIRST), text, 64).1, "{text:?}");
        }
        let endless = format!("0\r\nTrailer: {}", "x".repeat(LINE_BYTES));
        assert!(taken(Body::Chunked(Chunk::FIRST), &endless, 512).1);
        let endless = format!("1;{}", "x".repeat(LINE_BYTES));
        assert!(taken(Body::Chunked(Chunk::FIRST), &endless, 512).1);
    }
}
