//! Text from files and other inputs. It must be UTF-8, and an error names the line and the byte
//! that is not.

use std::{
    fs,
    io::{self, BufRead, ErrorKind},
    path::Path,
    str::Utf8Error,
};

/// A byte that is not part of valid UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, byte {column}: {byte:#04x} is not valid UTF-8; save the text as UTF-8")]
pub struct NotUtf8 {
    /// The line, from 1.
    pub line: usize,
    /// The position in the line, in bytes from 1.
    pub column: usize,
    /// The byte.
    pub byte: u8,
}

impl NotUtf8 {
    /// The place in `bytes`, which begin in line `first`.
    fn find(bytes: &[u8], why: Utf8Error, first: usize) -> Self {
        let at = why.valid_up_to();
        let before = &bytes[..at];
        let begins = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = before.iter().filter(|byte| **byte == b'\n').count();
        Self { line: first + lines, column: at - begins + 1, byte: bytes[at] }
    }
}

impl From<NotUtf8> for io::Error {
    fn from(why: NotUtf8) -> Self {
        Self::new(ErrorKind::InvalidData, why)
    }
}

/// Reads a file as text.
///
/// # Errors
/// If the file cannot be read, or with a [`NotUtf8`] inside if it is not text.
pub fn read(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(fs::read(path)?);
    text.map_err(|why| NotUtf8::find(why.as_bytes(), why.utf8_error(), 1).into())
}

/// Reads a file of JSON lines. A writer that died in the middle of a character leaves a part of it
/// at the end. Each byte of that part becomes a `?`, so that the unfinished line is dropped like
/// any other one, with its length (contract 3.5).
///
/// # Errors
/// As for [`read`].
pub fn read_json_lines(path: &Path) -> io::Result<String> {
    let text = String::from_utf8(fs::read(path)?).or_else(|why| {
        let utf8 = why.utf8_error();
        let mut bytes = why.into_bytes();
        if utf8.error_len().is_none() {
            bytes[utf8.valid_up_to()..].fill(b'?');
        }
        String::from_utf8(bytes)
    });
    text.map_err(|why| NotUtf8::find(why.as_bytes(), why.utf8_error(), 1).into())
}

/// The lines of an input, without their ends. After a line that is not text, the next ones follow.
pub fn lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    (1..).map_while(move |number| {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(why) => return Some(Err(why)),
        }
        if line.last() == Some(&b'\n') {
            line.pop();
            line.pop_if(|last| *last == b'\r');
        }
        let text = String::from_utf8(line);
        Some(text.map_err(|why| NotUtf8::find(why.as_bytes(), why.utf8_error(), number).into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that are not UTF-8, and where.
    const WRONG: [(&[u8], usize, usize, u8); 7] = [
        (b"\xff", 1, 1, 0xff),
        (b"a\nb\xff\n", 2, 2, 0xff),
        (b"a\r\n\r\n\xc3\xa9\x80x", 3, 3, 0x80),
        // UTF-16, with its mark.
        (b"\xff\xfea\0\n\0", 1, 1, 0xff),
        // Latin-1.
        (b"one\ntwo\ncaf\xe9 au lait\n", 3, 4, 0xe9),
        // A surrogate, and a character that ends too early.
        (b"\n\xed\xa0\x80", 2, 1, 0xed),
        (b"\n\nx\xf0\x9f\xa6\ny", 3, 2, 0xf0),
    ];

    fn place(why: &io::Error) -> Option<(usize, usize, u8)> {
        let why = why.get_ref()?.downcast_ref::<NotUtf8>()?;
        Some((why.line, why.column, why.byte))
    }

    #[test]
    fn what_is_not_utf_8_is_named_with_its_line_and_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for (bytes, line, column, byte) in WRONG {
            let found = Some((line, column, byte));
            fs::write(&path, bytes).unwrap();
            assert_eq!(place(&read(&path).unwrap_err()), found);
            assert_eq!(place(&read_json_lines(&path).unwrap_err()), found);
            let why = lines(bytes).find_map(Result::err).unwrap();
            assert_eq!(place(&why), found);
        }
        assert_eq!(
            NotUtf8 { line: 3, column: 4, byte: 0xe9 }.to_string(),
            "line 3, byte 4: 0xe9 is not valid UTF-8; save the text as UTF-8"
        );
    }

    #[test]
    fn lines_are_those_of_the_standard_library_and_go_on_after_a_wrong_one() {
        for text in ["", "\n", "a", "a\n", "a\r\nb\n\nc\r", "\r\n\r\n", "\u{e9}\n\u{1f980}"] {
            let ours: Vec<_> = lines(text.as_bytes()).map(Result::unwrap).collect();
            let theirs: Vec<_> = text.as_bytes().lines().map(Result::unwrap).collect();
            assert_eq!(ours, theirs, "{text:?}");
        }
        let read: Vec<_> = lines(&b"a\n\xff\nb"[..]).map(Result::ok).collect();
        assert_eq!(read, [Some("a".into()), None, Some("b".into())]);
    }

    #[test]
    fn a_character_that_a_writer_did_not_finish_keeps_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.jsonl");
        for cut in 1..4 {
            let whole = "{\"a\":1}\n{\"b\":\"x\u{1f980}".as_bytes();
            fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let text = format!("{{\"a\":1}}\n{{\"b\":\"x{}", "?".repeat(4 - cut));
            assert_eq!(read_json_lines(&path).unwrap(), text);
            assert_eq!(place(&read(&path).unwrap_err()), Some((2, 8, 0xf0)));
        }
    }
}
