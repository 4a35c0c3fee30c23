//! The JSON boundary: typed reading with error places, canonical writing, and free JSON that is
//! carried byte for byte.
//!
//! There is no JSON value type in the core. Builds unify its features differently, and JavaScript
//! engines change numbers. What the core reads is typed; what it only carries is [`RawJson`].

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
// The derive macro names this crate, and this crate uses the macro too.
extern crate self as wakeful_json;

mod error;
mod fields;
pub mod map;
mod part;
mod plain;
mod readable;
mod reader;
mod scan;
pub mod sort;
mod strict;
mod writer;

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
};
use core::fmt;

#[doc(hidden)]
pub use serde;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error, ser::SerializeStruct};
use serde_json::value::RawValue;

pub use wakeful_json_derive::Readable;

pub use self::part::{Part, cut, has_member, is_json};
pub use self::{
    error::ErrorPlace,
    fields::{Fields, Shape},
    map::Map,
    readable::{Readable, deserialize},
    reader::{Reader, Value},
    strict::Origin,
};

/// Free JSON: validated, without white space between tokens, otherwise byte for byte as given.
#[derive(Clone)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text of a value that the core itself writes.
    #[must_use]
    pub fn from_value<T: Serialize>(value: &T) -> Self {
        Self(write(value).into())
    }

    /// As [`RawJson::from_value`], in at most this many bytes. `None` if it needs more.
    #[must_use]
    pub fn from_value_within<T: Serialize>(value: &T, most: usize) -> Option<Self> {
        write_within(value, most).map(|text| Self(text.into()))
    }

    /// The object that `value` is written as, with the member `tag: name` before its own.
    pub fn tagged<T: Serialize>(tag: &str, name: &str, value: &T) -> Self {
        let members = write(value);
        // An object without members must not end in a comma.
        let comma = if members == "{}" { "" } else { "," };
        Self(format!("{{\"{tag}\":\"{name}\"{comma}{}", cut(&members, 1..)).into())
    }

    /// An object with one member.
    #[must_use]
    pub fn noting<T: Serialize>(key: &str, value: &T) -> Self {
        Self::from_value(&Map::from([(key, value)]))
    }

    /// The value of `key`, if this is an object that has it; `null` counts as a value.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<Self> {
        reader::member(self.as_str(), key)
    }

    /// Reads this text as a typed value.
    ///
    /// # Errors
    /// If the value is not of that type; see [`read`]. The place is relative to this text.
    pub fn read<T: Readable>(&self) -> Result<T, JsonError> {
        reader::read_scanned(self.as_str(), T::read)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The name lets a serializer recognise free JSON; serde_json ignores it.
        serializer.serialize_newtype_struct(writer::RAW_JSON, &AsIs(&self.0))
    }
}

/// A text that serde_json writes unchanged. It looks like serde_json's own raw value to a
/// serializer.
struct AsIs<'a>(&'a str);

impl Serialize for AsIs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut raw = serializer.serialize_struct(writer::AS_IS, 1)?;
        raw.serialize_field(writer::AS_IS, self.0)?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A raw value keeps the white space of its text, which `read` removes.
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        read(raw.get()).map_err(Error::custom)
    }
}

impl Readable for RawJson {
    fn read(value: &Value<'_>) -> Self {
        let text = value.raw();
        let text = if has_space(text) { without_space(text) } else { text.to_owned() };
        // A value with an error has a blank text, which never leaves the reader.
        Self(text.into())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RawJson {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "AnyJson".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "description": "any JSON value, carried byte for byte" })
    }
}

/// Whether a count is zero, for fields that are not written then.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Serializes a value as its `Display` text.
pub struct Printed<'a, T>(pub &'a T);

impl<T: fmt::Display> Serialize for Printed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

/// Whether there is white space between the tokens of a JSON text.
fn has_space(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => return true,
            b'"' => {
                // Skip the string: white space inside it is content.
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    false
}

fn without_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_string = false;
    let mut escaped = false;
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = c == '"';
        }
        out.push(c);
    }
    out
}

/// An error in a JSON text, with its place (contract 2.3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{message} at {path}line {line} column {column}", path = PathPrefix(path))]
pub struct JsonError {
    /// The path of the field, as in `message.origin.kind`; empty for the whole text.
    pub path: String,
    /// The line in the text that was read, from 1.
    pub line: u64,
    /// The column in that line, in bytes, from 1.
    pub column: u64,
    /// What is wrong and what was expected.
    pub message: String,
}

impl JsonError {
    /// An error at the field `path` of a text that is valid JSON but not acceptable.
    #[must_use]
    pub fn at_field(path: &str, message: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), line: 1, column: 1, message: message.to_string() }
    }

    /// The same error for a text that starts `bytes` bytes into its line.
    #[must_use]
    pub fn shifted(mut self, bytes: usize) -> Self {
        // Only the first line of the text starts in the middle of another one.
        if self.line == 1 {
            self.column += bytes as u64;
        }
        self
    }
}

struct PathPrefix<'a>(&'a str);

impl fmt::Display for PathPrefix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "`{}`, ", self.0)
    }
}

/// Reads a typed value from JSON text.
///
/// # Errors
/// If the text is not JSON or not of that type. The error has the field, line, column, and what was
/// expected.
pub fn read<T: Readable>(text: &str) -> Result<T, JsonError> {
    reader::read(text, Origin::STORED, T::read)
}

/// As [`read`], for a text of another origin.
///
/// # Errors
/// As [`read`]. In a strict text a member that no type has is an error too; it names the nearest
/// name that there is.
pub fn read_from<T: Readable>(origin: Origin, text: &str) -> Result<T, JsonError> {
    reader::read(text, origin, T::read)
}

/// Reads a value with the function `how`, for types that are read in several ways.
///
/// # Errors
/// As [`read`].
pub fn read_by<T>(text: &str, how: fn(&Value<'_>) -> T) -> Result<T, JsonError> {
    reader::read(text, Origin::STORED, how)
}

/// Writes the canonical text of a typed value: fields in the order of their type, no white space.
#[must_use]
pub fn write<T: Serialize>(value: &T) -> String {
    writer::write(value, writer::Layout::Line)
}

/// Writes a typed value as [`write()`] does, in at most this many bytes. `None` if it needs more.
#[must_use]
pub fn write_within<T: Serialize>(value: &T, most: usize) -> Option<String> {
    writer::write_within(value, most)
}

/// Writes a typed value with line breaks, for files that people read. The text ends with a line
/// break.
#[must_use]
pub fn write_indented<T: Serialize>(value: &T) -> String {
    let mut text = writer::write(value, writer::Layout::Indented);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn free_json_keeps_numbers_keys_and_escapes_as_given() {
        let text = r#" { "b" : 1.0 , "a":[1e2, 9223372036854775808], "b": "\ud800 \" x" } "#;
        let raw: RawJson = read(text).expect("valid");
        assert_eq!(raw.as_str(), r#"{"b":1.0,"a":[1e2,9223372036854775808],"b":"\ud800 \" x"}"#);
        assert_eq!(write(&raw), raw.as_str());
    }

    #[test]
    fn a_text_that_needs_more_bytes_than_it_may_have_is_not_written() {
        let value = vec![vec!["one", "t\"o"], vec![], vec!["three"]];
        let text = write(&value);
        assert_eq!(write_within(&value, text.len()).as_deref(), Some(text.as_str()));
        assert!((0..text.len()).all(|most| write_within(&value, most).is_none()));
    }

    #[test]
    fn parts_are_found_also_after_those_whose_ends_are_noted() {
        let rows: alloc::vec::Vec<_> =
            (0..40_u64).map(|at| vec![vec![at], vec![], vec![1, 2]]).collect();
        let text = write_indented(&rows);
        assert_eq!(read(&text), Ok(rows));
        let why = read::<alloc::vec::Vec<alloc::vec::Vec<u64>>>("[[1],[2],[3,[4]]]");
        assert_eq!(why.expect_err("not a number").path, "[2][1]");
    }

    #[test]
    fn errors_name_the_field_and_the_place() {
        #[derive(Debug, Readable)]
        struct Outer {
            #[allow(dead_code)]
            inner: Inner,
        }
        #[derive(Debug, Readable)]
        struct Inner {
            #[allow(dead_code)]
            n: u8,
        }
        let why = read::<Outer>("{\"inner\":\n {\"n\": 1.5}}").expect_err("a float is not a u8");
        assert_eq!((why.path.as_str(), why.line), ("inner.n", 2));
        assert!(why.message.contains("expected u8"), "{}", why.message);
        assert!(read::<Inner>(r#"{"n":1} x"#).is_err(), "trailing text is an error");
    }
}
