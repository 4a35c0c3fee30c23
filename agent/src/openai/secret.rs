//! A key that is sent and never shown.

use std::fmt;

use super::options::OptionsError;

/// An API key. Its debug text does not show it.
#[derive(Clone)]
pub struct Secret(String);

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
        Ok(Self(key.to_owned()))
    }

    /// The value of the header `Authorization`.
    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// The text with every occurrence of the key replaced.
    pub(super) fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
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
        assert_eq!(key.bearer(), "Bearer sk-12345");
        assert_eq!(format!("{key:?}"), "Secret([key])");
        assert_eq!(key.hidden_in("wrong key sk-12345."), "wrong key [key].");
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
