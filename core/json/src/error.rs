//! The place of an error in a text.
use alloc::string::String;

use serde::Serialize;

use crate::Readable;

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Readable)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorPlace {
    /// The file, if the text came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    pub line: u64,
    /// The column in bytes, from 1.
    pub column: u64,
    /// The path of the field, as in `message.origin.kind`; empty for the whole text.
    pub path: String,
}
