//! The chain: a hash that names a whole history (contract 3.4).

use core::fmt;

use serde::{Serialize, Serializer};

use crate::id::Seq;
use wakeful_json::{self as json, Readable, Value, through_readable};

/// A BLAKE3 hash over the whole history: equal chains mean equal entries (contract 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain(blake3::Hash);

impl Chain {
    /// The chain before the first entry: all zeros.
    pub const START: Self = Self(blake3::Hash::from_bytes([0; 32]));

    /// The chain after an entry with the canonical bytes `canonical`.
    #[must_use]
    pub fn extend(self, canonical: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.0.as_bytes());
        hasher.update(canonical.as_bytes());
        Self(hasher.finalize())
    }

    /// A chain from its 32 bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// The chain as 32 bytes, for storage.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The 64 lower-case hexadecimal digits, in this buffer.
    pub(super) fn digits<'a>(&self, buffer: &'a mut [u8; 64]) -> &'a str {
        let digit = |number: u8| b"0123456789abcdef"[usize::from(number)];
        for (digits, byte) in buffer.chunks_exact_mut(2).zip(self.0.as_bytes()) {
            digits.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        // INVARIANT: digits are ASCII.
        str::from_utf8(buffer).unwrap_or_default()
    }

    /// Parses 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // Without a branch: the digits of a hash are random, so a branch would be mispredicted.
        // In ASCII, letters have bit 6 set, and their low four bits count from 1 for `a`.
        let number = |digit: u8| (digit & 0xF) + 9 * (digit >> 6);
        let is_digit = |digit: u8| digit.is_ascii_digit() | (b'a'..=b'f').contains(&digit);
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        let mut are_digits = true;
        for (byte, digits) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            are_digits &= is_digit(digits[0]) & is_digit(digits[1]);
            *byte = number(digits[0]) << 4 | number(digits[1]) & 0xF;
        }
        are_digits.then(|| Self::from_bytes(bytes))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.digits(&mut [0; 64]))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Chain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The name lets `shape` recognise a chain, which it leaves out.
        serializer.serialize_newtype_struct("Chain", &json::Printed(self))
    }
}

impl Readable for Chain {
    fn read(value: &Value<'_>) -> Self {
        Self::parse(&value.text("a string")).unwrap_or_else(|| {
            value.is_wrong(&"a chain is 64 lower-case hexadecimal digits");
            Self::START
        })
    }
}

through_readable!(Chain);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Chain {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Chain".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
            "description": "BLAKE3 of the history"
        })
    }
}

/// The position and chain of the newest entry, which together name the whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Head {
    /// The position of the newest entry; 0 for an empty ledger.
    pub seq: Seq,
    /// The chain up to and including that entry.
    pub chain: Chain,
}

impl Head {
    /// The head of an empty ledger.
    pub const START: Self = Self { seq: Seq(0), chain: Chain::START };
}

impl Default for Head {
    fn default() -> Self {
        Self::START
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.seq, self.chain)
    }
}
