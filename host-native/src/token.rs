//! Tokens of external triggers. A host makes a token, gives it away once, and keeps its hash: the
//! token itself is in no ledger, log or snapshot (contract 15.1).

use std::fmt::{self, Write};

use sha2::{Digest, Sha256};
use wakeful_core::TokenHash;

/// A token. Those who have it can deliver, so its debug text does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// The beginning of every token, by which people and scanners know one.
const BEGINS: &str = "wkt_";

/// The random bytes of a token. It cannot be guessed.
const BYTES: usize = 32;

/// The system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes for a token: {0}")]
pub struct NoRandomBytes(getrandom::Error);

impl Token {
    /// A new token.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn random() -> Result<Self, NoRandomBytes> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(NoRandomBytes)?;
        Ok(Self(format!("{BEGINS}{}", hex(&bytes))))
    }

    /// The token that someone shows. Any text can be one: the ledger knows only hashes, and other
    /// hosts may make other tokens.
    #[must_use]
    pub fn shown(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether a text has the form of a token that a host made, so that it is kept out of a ledger.
    #[must_use]
    pub fn is_like(text: &str) -> bool {
        let digits = text.strip_prefix(BEGINS).unwrap_or_default();
        digits.len() == 2 * BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    }

    /// The token as text. Show it only to the one who may deliver.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its hash, for the ledger: SHA-256, as the reference runtime keeps it.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        let digits = hex(&Sha256::digest(self.0.as_bytes()));
        // INVARIANT: the digest has 32 bytes, so these are 64 digits.
        TokenHash::parse(&digits).unwrap_or_else(|| unreachable!("{digits}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing into memory cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_reference_runtime() {
        assert_eq!(
            Token::shown("abc").hash().as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn tokens_differ_and_do_not_show_themselves() {
        let (one, other) = (Token::random().expect("bytes"), Token::random().expect("bytes"));
        assert_ne!(one, other);
        assert_eq!((one.as_str().len(), &one.as_str()[..4]), (68, BEGINS));
        assert_eq!(format!("{one:?}"), "Token");
        assert!(Token::is_like(one.as_str()));
        for other in ["wkt_4be1", "build", "", &one.as_str()[..67], &format!("{}0", one.as_str())] {
            assert!(!Token::is_like(other), "{other}");
        }
    }
}
