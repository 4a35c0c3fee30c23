//! A key that is sent and never shown.

use std::fmt;

use zeroize::Zeroizing;

use super::options::OptionsError;

/// What replaces the key.
const INSTEAD: &str = "[key]";

/// The length from which a key is found by chance nowhere, in bytes.
const SHORTEST_SURE: usize = 7;

/// The length from which even a key of small letters is not a word of some text, in bytes.
const LONGER_THAN_WORDS: usize = 16;

/// The fewest different characters of a key that is found by chance nowhere. Rows of zeros and
/// dashes are in many texts.
const FEWEST_DIFFERENT: usize = 4;

/// An API key. Its debug text does not show it, and its memory is overwritten when it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Creates a key, without the surrounding white space that files and shells add.
    ///
    /// # Errors
    ///
    /// If it is empty, or contains a letter that no HTTP header can carry.
    pub fn new(key: &str) -> Result<Self, OptionsError> {
        let key = key.trim();
        if key.is_empty() {
            return Err(OptionsError::EmptyKey);
        }
        if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(OptionsError::KeyUnfit);
        }
        Ok(Self(Zeroizing::new(key.to_owned())))
    }

    /// The value of the header `Authorization`.
    pub(super) fn bearer(&self) -> Zeroizing<String> {
        // With its whole length at once: growing would leave copies behind.
        let mut bearer = Zeroizing::new(String::with_capacity("Bearer ".len() + self.0.len()));
        bearer.push_str("Bearer ");
        bearer.push_str(&self.0);
        bearer
    }

    /// Whether the key can be told apart from other text, so that it can be removed from texts. A
    /// key of fewer than 7 bytes cannot, and neither can a plain word such as `default` or one of
    /// fewer than 4 different characters. Local servers that need no key often get such a
    /// placeholder.
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        is_distinct(&self.0)
    }

    /// The text with every occurrence of the key replaced. A short key may also be a part of a
    /// word by chance, so only whole words are replaced.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        if is_distinct(&self.0) {
            return text.replace(self.0.as_str(), INSTEAD);
        }
        let mut hidden = String::with_capacity(text.len());
        let mut copied = 0;
        for (at, _) in text.match_indices(self.0.as_str()) {
            let end = at + self.0.len();
            let is_in_a_word = text[..at].ends_with(is_of_a_word)
                && self.0.starts_with(is_of_a_word)
                || text[end..].starts_with(is_of_a_word) && self.0.ends_with(is_of_a_word);
            if !is_in_a_word {
                hidden.push_str(&text[copied..at]);
                hidden.push_str(INSTEAD);
                copied = end;
            }
        }
        hidden.push_str(&text[copied..]);
        hidden
    }
}

/// As [`Secret::is_distinct`].
pub(crate) fn is_distinct(key: &str) -> bool {
    let is_word = key.len() < LONGER_THAN_WORDS
        && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut bytes = Zeroizing::new(key.as_bytes().to_vec());
    bytes.sort_unstable();
    bytes.dedup();
    key.len() >= SHORTEST_SURE && !is_word && bytes.len() >= FEWEST_DIFFERENT
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([key])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_trimmed_and_never_printed() {
        let key = Secret::new(" sk-12345\n").unwrap();
        assert_eq!(*key.bearer(), "Bearer sk-12345");
        assert_eq!(format!("{key:?}"), "Secret([key])");
        assert_eq!(key.hidden_in("wrong key sk-12345."), "wrong key [key].");
    }

    #[test]
    fn a_short_key_is_hidden_as_a_whole_word_only() {
        for (key, text, hidden) in [
            ("k", "wrong token `k`", "wrong token `[key]`"),
            ("k", "k: k, k", "[key]: [key], [key]"),
            ("none", "none of nonesuch", "[key] of nonesuch"),
            ("abc", "abcabc abc_d (abc)", "abcabc abc_d ([key])"),
            ("a-b!", "xa-b! a-b!x", "xa-b! [key]x"),
            ("lm-studio", "lm-studio-2", "[key]-2"),
        ] {
            assert_eq!(Secret::new(key).unwrap().hidden_in(text), hidden, "{key}");
        }
    }

    #[test]
    fn a_key_is_distinct_if_no_text_has_it_by_chance() {
        for (key, is_distinct) in [
            ("k", false),
            ("none", false),
            ("ollama", false),
            ("sk-123", false),
            ("sk-1234", true),
            ("12345678", true),
            ("lm-studio", true),
            ("not-needed", true),
            // Names of the ledger's own format: without them no fact can be read.
            ("default", false),
            ("completed", false),
            ("message_queued", false),
            ("correcthorsebatterystaple", true),
            ("00000000", false),
            ("1212121212", false),
            ("--------", false),
        ] {
            assert_eq!(Secret::new(key).unwrap().is_distinct(), is_distinct, "{key}");
        }
    }

    #[test]
    fn what_no_header_can_carry_is_refused() {
        assert!(matches!(Secret::new(" \n"), Err(OptionsError::EmptyKey)));
        for unfit in ["sk\n1", "sk 1", "schlüssel"] {
            let why = Secret::new(unfit).unwrap_err();
            assert!(matches!(why, OptionsError::KeyUnfit));
            assert!(!why.to_string().contains(unfit));
        }
    }
}
