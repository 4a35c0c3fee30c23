//! The grammar of JSON: whether a text is JSON, where its parts are, and what its strings contain.
//!
//! Messages and places are those of `serde_json`, which hosts use beside the core; a test compares
//! the two. The core has its own scanner because a guest that only looks for parts need not carry
//! serde's reader of floats and the rest.

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::ops::Range;

use super::{part::cut, plain::plain};

/// A syntax error, and the byte at which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    pub(super) message: &'static str,
    pub(super) at: usize,
}

/// The byte ranges of a member: its key with quotes (empty in an array), and its value.
pub(super) struct Member {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

/// The byte range of the one value in a text, and where its objects and arrays are.
pub(super) fn value(text: &str) -> Result<(Range<usize>, Nests), Syntax> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0 };
    let mut nests = Nests::default();
    scanner.next_token();
    let start = scanner.at;
    let end = scanner.value(&mut nests).map(|()| scanner.at);
    let done = end.and_then(|end| match scanner.next_token() {
        None => Ok((start..end, nests)),
        Some(_) => Err(scanner.at_next("trailing characters")),
    });
    done.map_err(|why| why.on_char(text))
}

/// Where the objects and arrays of a text begin and end, in the order in which they begin. So a
/// reader of one of them steps over those inside it, and each byte is looked at twice, however deep
/// it is.
#[derive(Default)]
pub(super) struct Nests(Vec<(usize, usize)>);

/// The most objects and arrays that are noted: a megabyte, however long the text is. A reader scans
/// over those after them. In unit tests it is small, so that both happen.
const MOST_NESTS: usize = if cfg!(test) { 16 } else { 1 << 16 };

impl Nests {
    /// The end of the object or array that begins at this byte, if it was noted.
    fn end(&self, start: usize) -> Option<usize> {
        let place = self.0.binary_search_by_key(&start, |(start, _)| *start).ok()?;
        Some(self.0[place].1)
    }
}

/// The members of an object or array that is known to be JSON.
pub(super) struct Members<'a> {
    scanner: Scanner<'a>,
    nests: &'a Nests,
    /// The byte of the whole text at which the object or array begins.
    begins: usize,
}

impl<'a> Members<'a> {
    /// The members of `raw`, which begins at this byte of the text of the nests.
    pub(super) fn new(raw: &'a str, nests: &'a Nests, begins: usize) -> Self {
        Self { scanner: Scanner { text: raw.as_bytes(), at: 1 }, nests, begins }
    }

    /// The next value or key. What separates them needs no check, as the text is known to be JSON.
    fn part(&mut self) -> Option<Range<usize>> {
        let scanner = &mut self.scanner;
        while let b',' | b':' | b']' | b'}' = scanner.next_token()? {
            scanner.at += 1;
        }
        let start = scanner.at;
        // Only objects and arrays are noted.
        let is_nest = matches!(scanner.peek(), Some(b'[' | b'{'));
        match is_nest.then(|| self.nests.end(self.begins + start)).flatten() {
            Some(end) => scanner.at = end - self.begins,
            None => scanner.skip(),
        }
        Some(start..scanner.at)
    }
}

impl Iterator for Members<'_> {
    type Item = Member;

    #[inline(never)]
    fn next(&mut self) -> Option<Member> {
        let is_object = self.scanner.text.first() == Some(&b'{');
        let key = if is_object { self.part()? } else { 0..0 };
        Some(Member { key, value: self.part()? })
    }
}

/// The content of a string that is known to be JSON, given with its quotes. The only error left is
/// half a surrogate pair.
pub(super) fn string(raw: &str) -> Result<Cow<'_, str>, Syntax> {
    let content = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    // The string is known to be JSON, so only a backslash stops `plain`.
    let escape = plain(content.as_bytes());
    if escape == content.len() {
        return Ok(Cow::Borrowed(content));
    }
    let mut scanner = Scanner { text: raw.as_bytes(), at: escape + 1 };
    let mut said = String::from(cut(content, ..escape));
    while scanner.at + 1 < raw.len() {
        // The scanner is at a backslash.
        scanner.at += 2;
        let escaped = match raw.as_bytes()[scanner.at - 1] {
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => scanner.unicode()?,
            other => char::from(other),
        };
        said.push(escaped);
        let rest = cut(raw, scanner.at..raw.len() - 1);
        let length = plain(rest.as_bytes());
        said.push_str(cut(rest, ..length));
        scanner.at += length;
    }
    Ok(Cow::Owned(said))
}

impl Syntax {
    /// Moves the error to the first byte of the character that it is in.
    fn on_char(mut self, text: &str) -> Self {
        while !text.is_char_boundary(self.at) {
            self.at -= 1;
        }
        self
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    #[inline(always)]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Skips white space; returns the byte after it.
    #[inline(never)]
    fn next_token(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    /// An error at the byte that was read last.
    #[inline(never)]
    fn at_last(&self, message: &'static str) -> Syntax {
        // serde_json counts columns from the last line break. Before the first byte of a line it
        // has no column to go back to.
        let is_first = self.at == 0 || self.text[self.at - 1] == b'\n';
        Syntax { message, at: if is_first { self.at } else { self.at - 1 } }
    }

    /// An error at the byte that would be read next.
    #[inline(never)]
    fn at_next(&self, message: &'static str) -> Syntax {
        Scanner { text: self.text, at: self.text.len().min(self.at + 1) }.at_last(message)
    }

    /// Skips the value that begins here, which is known to be JSON. It ends with the bracket or
    /// quote that closes it, or before the byte that ends a number or word.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                // INVARIANT: the text was scanned whole before.
                b'"' if self.text().is_err() => self.at = self.text.len(),
                b'"' => {}
                b'[' | b'{' => {
                    self.at += 1;
                    depth += 1;
                    continue;
                }
                b']' | b'}' if depth > 0 => {
                    self.at += 1;
                    depth -= 1;
                }
                b',' | b']' | b'}' | b' ' | b'\n' | b'\t' | b'\r' if depth == 0 => break,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                break;
            }
        }
    }

    /// Skips one value, without recursion: open brackets are on a stack of their own.
    fn value(&mut self, nests: &mut Nests) -> Result<(), Syntax> {
        let mut open = Vec::new();
        // The places of those open brackets that are noted. They are the outer ones, because they
        // were opened before those that are not.
        let mut noted = Vec::new();
        loop {
            let mut is_first = false;
            match self.next_token() {
                None => return Err(self.at_next("EOF while parsing a value")),
                Some(b'n') => self.word(b"null")?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b'"') => self.text()?,
                Some(bracket @ (b'[' | b'{')) => {
                    if nests.0.len() < MOST_NESTS {
                        noted.push(nests.0.len());
                        nests.0.push((self.at, 0));
                    }
                    self.at += 1;
                    open.push(bracket);
                    is_first = true;
                }
                Some(_) => return Err(self.at_next("expected value")),
            }
            loop {
                let Some(is_list) = open.last().map(|bracket| *bracket == b'[') else {
                    return Ok(());
                };
                match self.next_token() {
                    Some(b',') if !is_first => {
                        self.at += 1;
                        break;
                    }
                    Some(b']') if is_list => {}
                    Some(b'}') if !is_list => {}
                    Some(_) if is_first => break,
                    Some(_) => {
                        return Err(self.at_next(if is_list {
                            "expected `,` or `]`"
                        } else {
                            "expected `,` or `}`"
                        }));
                    }
                    None => {
                        return Err(self.at_next(if is_list {
                            "EOF while parsing a list"
                        } else {
                            "EOF while parsing an object"
                        }));
                    }
                }
                self.at += 1;
                open.pop();
                if open.len() < noted.len()
                    && let Some(place) = noted.pop()
                {
                    nests.0[place].1 = self.at;
                }
                is_first = false;
            }
            if open.last() == Some(&b'{') {
                self.key()?;
            }
        }
    }

    /// Skips a key and its colon.
    fn key(&mut self) -> Result<(), Syntax> {
        match self.next_token() {
            Some(b'"') => self.text()?,
            Some(_) => return Err(self.at_next("key must be a string")),
            None => return Err(self.at_next("EOF while parsing an object")),
        }
        match self.next_token() {
            Some(b':') => self.at += 1,
            Some(_) => return Err(self.at_next("expected `:`")),
            None => return Err(self.at_next("EOF while parsing an object")),
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Syntax> {
        for due in word {
            match self.take() {
                Some(byte) if byte == *due => {}
                Some(_) => return Err(self.at_last("expected ident")),
                None => return Err(self.at_last("EOF while parsing a value")),
            }
        }
        Ok(())
    }

    /// Skips digits; returns whether there were any.
    fn digits(&mut self) -> bool {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at > start
    }

    fn number(&mut self) -> Result<(), Syntax> {
        const INVALID: &str = "invalid number";
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.take() {
            Some(b'0') if matches!(self.peek(), Some(b'0'..=b'9')) => {
                return Err(self.at_next(INVALID));
            }
            Some(b'0') => {}
            Some(b'1'..=b'9') => drop(self.digits()),
            _ => return Err(self.at_last(INVALID)),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.digits() {
                return Err(self.at_next(INVALID));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !matches!(self.take(), Some(b'0'..=b'9')) {
                return Err(self.at_last(INVALID));
            }
            self.digits();
        }
        Ok(())
    }

    /// Skips a string.
    fn text(&mut self) -> Result<(), Syntax> {
        self.at += 1;
        loop {
            self.at += plain(&self.text[self.at..]);
            match self.peek() {
                None => return Err(self.at_last("EOF while parsing a string")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => {
                    return Err(self.at_last(
                        "control character (\\u0000-\\u001F) found while parsing a string",
                    ));
                }
            }
        }
    }

    /// Skips the part of an escape after the backslash.
    fn escape(&mut self) -> Result<(), Syntax> {
        match self.take() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(()),
            Some(b'u') => self.hex().map(drop),
            Some(_) => Err(self.at_last("invalid escape")),
            None => Err(self.at_last("EOF while parsing a string")),
        }
    }

    /// Reads four hexadecimal digits.
    fn hex(&mut self) -> Result<u32, Syntax> {
        let Some(digits) = self.text.get(self.at..self.at + 4) else {
            // As in serde_json, the error is at the end of the text.
            self.at = self.text.len();
            return Err(self.at_last("EOF while parsing a string"));
        };
        self.at += 4;
        let digit =
            |number: Option<u32>, digit: &u8| Some(number? * 16 + char::from(*digit).to_digit(16)?);
        digits.iter().fold(Some(0), digit).ok_or_else(|| self.at_last("invalid escape"))
    }

    /// Reads the character of a `\u` escape; two escapes may form one surrogate pair.
    fn unicode(&mut self) -> Result<char, Syntax> {
        const LONE: &str = "lone leading surrogate in hex escape";
        let mut code = self.hex()?;
        if (0xD800..0xDC00).contains(&code) {
            for due in *b"\\u" {
                if self.take() != Some(due) {
                    return Err(self.at_last("unexpected end of hex escape"));
                }
            }
            let trail = self.hex()?;
            if !(0xDC00..0xE000).contains(&trail) {
                return Err(self.at_last(LONE));
            }
            code = 0x1_0000 + ((code - 0xD800) << 10) + (trail - 0xDC00);
        }
        // Only a trailing surrogate without a leading one is left without a character.
        char::from_u32(code).ok_or_else(|| self.at_last(LONE))
    }
}
