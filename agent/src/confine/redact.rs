//! Removes secrets from text, in all their usual encodings.

use std::{borrow::Cow, fmt::Write, sync::Arc};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use zeroize::Zeroizing;

use crate::openai::is_distinct;

/// What replaces a secret.
pub(crate) const INSTEAD: &str = "[secret]";

/// Knows secrets and removes them from text. Its debug text does not show them.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Every encoding of every secret, longest first. Their memory is overwritten in the end.
    forms: Vec<Zeroizing<String>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} forms)", self.forms.len())
    }
}

/// What comes after a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    More,
    Nothing,
}

/// What is at a place in a text.
enum Found {
    /// A complete secret of this many bytes.
    Secret(usize),
    /// Perhaps the beginning of a secret: the text ends too early to tell.
    Beginning,
    Nothing,
}

impl Redactor {
    /// A redactor for these secrets. It ignores those that cannot be told apart from other text
    /// ([`Secret::is_distinct`](crate::openai::Secret::is_distinct)).
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut forms: Vec<Zeroizing<String>> = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref();
            if is_distinct(secret) {
                // Encoders differ in whether they write hex digits in upper or lower case.
                forms.extend(
                    [
                        secret.to_owned(),
                        in_json(secret),
                        percent(secret, true),
                        percent(secret, false),
                        hex(secret, true),
                        hex(secret, false),
                    ]
                    .map(Zeroizing::new),
                );
                // In base64 the letters of a secret depend on the number of bytes before it, modulo
                // three.
                forms.extend((0..3).flat_map(|before| {
                    [base64(&STANDARD, secret, before), base64(&URL_SAFE, secret, before)]
                        .map(Zeroizing::new)
                }));
            }
        }
        // Longest first, because `find` takes the first form that fits and one secret may begin
        // with another.
        forms.sort_by(|one, other| {
            other.len().cmp(&one.len()).then_with(|| one.as_str().cmp(other))
        });
        forms.dedup();
        Self { forms }
    }

    /// Whether it knows no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// The text without secrets.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        // Most texts hold no secret and need no copy.
        if !self.forms.iter().any(|form| text.contains(form.as_str())) {
            return Cow::Borrowed(text);
        }
        // Every form is made of whole characters, so the rest is valid UTF-8 too.
        Cow::Owned(String::from_utf8_lossy(&self.whole(text.as_bytes())).into_owned())
    }

    /// A text without secrets, if nothing comes after it.
    fn whole(&self, text: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(text.len());
        self.copy(text, Follows::Nothing, &mut clean);
        clean
    }

    /// Copies bytes without secrets, up to the possible beginning of one. Returns how many bytes of
    /// the text were used.
    fn copy(&self, text: &[u8], follows: Follows, clean: &mut Vec<u8>) -> usize {
        // Most bytes begin no secret. The table skips them without a comparison per form.
        let mut begins = [false; 256];
        self.forms.iter().for_each(|form| begins[usize::from(form.as_bytes()[0])] = true);
        let mut at = 0;
        while let Some(plain) = text[at..].iter().position(|byte| begins[usize::from(*byte)]) {
            clean.extend_from_slice(&text[at..at + plain]);
            at += plain;
            match self.find(&text[at..], follows) {
                Found::Secret(length) => {
                    clean.extend_from_slice(INSTEAD.as_bytes());
                    at += length;
                }
                Found::Beginning => return at,
                Found::Nothing => {
                    clean.push(text[at]);
                    at += 1;
                }
            }
        }
        clean.extend_from_slice(&text[at..]);
        text.len()
    }

    /// What is at the beginning of a text. If several secrets match, the longest wins.
    fn find(&self, text: &[u8], follows: Follows) -> Found {
        let forms = self.forms.iter().map(|form| form.as_bytes());
        let mut found = forms.filter_map(|form| {
            match (text.starts_with(form), follows == Follows::More && form.starts_with(text)) {
                (true, _) => Some(Found::Secret(form.len())),
                (false, true) => Some(Found::Beginning),
                (false, false) => None,
            }
        });
        // A complete secret is held back while a longer one, which comes first, may still follow.
        found.next().unwrap_or(Found::Nothing)
    }
}

/// Removes secrets from a text that arrives in pieces. A possible beginning of a secret is held
/// back until the next bytes decide.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
}

impl RedactedStream {
    /// Starts a new text.
    #[must_use]
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, held: Vec::new() }
    }

    /// Adds a piece, and returns the text that can be shown now.
    #[must_use]
    pub fn next<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if self.redactor.is_empty() {
            return Cow::Borrowed(piece);
        }
        self.held.extend_from_slice(piece);
        let mut clean = Vec::with_capacity(self.held.len());
        let shown = self.redactor.copy(&self.held, Follows::More, &mut clean);
        self.held.drain(..shown);
        Cow::Owned(clean)
    }

    /// Ends the text, and returns what was held back.
    #[must_use]
    pub fn rest(&mut self) -> Vec<u8> {
        self.redactor.whole(&std::mem::take(&mut self.held))
    }
}

/// The secret inside a JSON string.
fn in_json(secret: &str) -> String {
    let quoted = wakeful_core::json::write(&secret);
    quoted[1..quoted.len() - 1].to_owned()
}

/// The secret in a URL or a form.
fn percent(secret: &str, upper: bool) -> String {
    let mut out = String::new();
    for byte in secret.bytes() {
        let written = match byte {
            b'-' | b'_' | b'.' | b'~' => write!(out, "{}", char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => write!(out, "{}", char::from(byte)),
            _ if upper => write!(out, "%{byte:02X}"),
            _ => write!(out, "%{byte:02x}"),
        };
        written.expect("a string takes any text");
    }
    out
}

/// The secret as hex digits.
fn hex(secret: &str, upper: bool) -> String {
    let digits = |byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
    secret.bytes().map(digits).collect()
}

/// The base64 letters that the secret alone determines, if `before` bytes (or three more, and so
/// on) precede it.
fn base64(engine: &impl Engine, secret: &str, before: usize) -> String {
    let bytes = [&[0; 2][..before], secret.as_bytes()].concat();
    let first = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    engine.encode(bytes)[first..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-\"live\"/+änd more?";

    #[test]
    fn a_secret_is_taken_out_however_it_is_written() {
        let redactor = Redactor::new([KEY]);
        let percent = "sk-%22live%22%2F%2B%C3%A4nd%20more%3F";
        for form in [
            KEY,
            r#"sk-\"live\"/+änd more?"#,
            percent,
            "736b2d226c697665222f2bc3a46e64206d6f72653f",
            "736B2D226C697665222F2BC3A46E64206D6F72653F",
            &percent.replace("%C3%A4", "%c3%a4").replace("%2F%2B", "%2f%2b").replace("%3F", "%3f"),
        ] {
            assert_eq!(
                redactor.redact(&format!("a {form} b {form}")),
                "a [secret] b [secret]",
                "{form}"
            );
        }
        for engine in [&STANDARD, &URL_SAFE] {
            for user in ["", "u", "us", "usr", "user:"] {
                let encoded = engine.encode(format!("{user}{KEY}; and so on"));
                let redacted = redactor.redact(&encoded).into_owned();
                assert!(redacted.contains(INSTEAD), "{user}: {redacted}");
                let rest = redacted.replace(INSTEAD, "");
                assert!(rest.len() + KEY.len() < encoded.len(), "{user}: {redacted}");
            }
        }
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        let redactor = Redactor::new(["short", "default", KEY]);
        assert!(matches!(redactor.redact("a short default"), Cow::Borrowed("a short default")));
        assert!(matches!(Redactor::default().redact(KEY), Cow::Borrowed(KEY)));
    }

    #[test]
    fn of_two_secrets_the_longer_one_goes_first() {
        let redactor = Redactor::new(["12345678", "12345678-and-more"]);
        assert_eq!(redactor.redact("12345678-and-more 12345678"), "[secret] [secret]");
    }

    #[test]
    fn a_text_in_pieces_loses_the_same_as_the_whole_wherever_it_is_cut() {
        let redactor = Arc::new(Redactor::new(["12345678", "12345678-and-more", KEY]));
        let text = format!(
            "1 12 1234567 12345678 12345678-and-mor 12345678-and-more {KEY} sk-\"live {} \
             1234512345678 123456",
            &KEY[..9]
        );
        let whole = redactor.redact(&text).into_owned();
        assert_eq!(whole.matches(INSTEAD).count(), 5, "{whole}");
        for size in 1..text.len() {
            let mut stream = RedactedStream::new(Arc::clone(&redactor));
            let mut shown: Vec<u8> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| stream.next(piece).into_owned())
                .collect();
            shown.extend(stream.rest());
            assert_eq!(String::from_utf8(shown).unwrap(), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn only_what_may_begin_a_secret_is_held_back() {
        let mut stream = RedactedStream::new(Arc::new(Redactor::new(["12345678"])));
        assert_eq!(&*stream.next(b"name: 1234"), b"name: ");
        assert_eq!(&*stream.next(b" "), b"1234 ");
        assert_eq!((&*stream.next(b"1"), stream.rest()), (&b""[..], b"1".to_vec()));
    }

    #[test]
    fn a_redactor_does_not_print_its_secrets() {
        assert!(!format!("{:?}", Redactor::new([KEY])).contains("live"));
    }
}
