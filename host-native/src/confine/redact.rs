//! Takes secrets out of text, also where they are written another way.

use std::{borrow::Cow, fmt::Write};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};

/// What stands in the place of a secret.
const INSTEAD: &str = "[secret]";

/// The shortest secret: what is shorter also stands in texts that are none.
const SHORTEST: usize = 8;

/// Knows secrets, and takes them out of text. What it prints of itself does not show them.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Every way in which a secret may be written; longer ones first.
    forms: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} forms)", self.forms.len())
    }
}

impl Redactor {
    /// Of these secrets; those shorter than eight bytes are left alone.
    pub fn new(secrets: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut forms: Vec<String> = Vec::new();
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() >= SHORTEST {
                forms.extend([secret.to_owned(), in_json(secret), percent(secret, true), percent(secret, false)]);
                forms.extend((0..3).flat_map(|before| [base64(&STANDARD, secret, before), base64(&URL_SAFE, secret, before)]));
            }
        }
        forms.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        forms.dedup();
        Self { forms }
    }

    /// The text without the secrets.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for form in &self.forms {
            if text.contains(form) {
                text = Cow::Owned(text.replace(form, INSTEAD));
            }
        }
        text
    }
}

/// As it stands in a JSON string.
fn in_json(secret: &str) -> String {
    let quoted = wakeful_core::json::write(&secret);
    quoted[1..quoted.len() - 1].to_owned()
}

/// As it stands in a URL or a form.
fn percent(secret: &str, upper: bool) -> String {
    let mut out = String::new();
    for byte in secret.bytes() {
        let written = match byte {
            b'-' | b'_' | b'.' | b'~' => write!(out, "{}", char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => write!(out, "{}", char::from(byte)),
            _ if upper => write!(out, "%{byte:02X}"),
            _ => write!(out, "%{byte:02x}"),
        };
        written.expect("a string takes all");
    }
    out
}

/// The part of base64 that the secret alone decides where `before` bytes, or three more, and so on, stand before it.
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
            &percent.replace("%C3%A4", "%c3%a4").replace("%2F%2B", "%2f%2b").replace("%3F", "%3f"),
        ] {
            assert_eq!(redactor.redact(&format!("a {form} b {form}")), "a [secret] b [secret]", "{form}");
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
        let redactor = Redactor::new(["short", KEY]);
        assert!(matches!(redactor.redact("a short text"), Cow::Borrowed("a short text")));
        assert!(matches!(Redactor::default().redact(KEY), Cow::Borrowed(KEY)));
    }

    #[test]
    fn of_two_secrets_the_longer_one_goes_first() {
        let redactor = Redactor::new(["12345678", "12345678-and-more"]);
        assert_eq!(redactor.redact("12345678-and-more 12345678"), "[secret] [secret]");
    }

    #[test]
    fn a_redactor_does_not_print_its_secrets() {
        assert!(!format!("{:?}", Redactor::new([KEY])).contains("live"));
    }
}
