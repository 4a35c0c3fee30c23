//! Parts of a text that are not read: where they stand, and whether they are JSON at all.

use core::ops::Range;

use super::{Readable, Value, reader, scan};

/// Where the text of a value stands in the text that is read, in bytes.
pub struct Part(pub Range<usize>);

impl Readable for Part {
    fn read(value: &Value<'_>) -> Self {
        Self(value.place())
    }
}

/// Whether a text is JSON.
pub fn is_json(text: &str) -> bool {
    scan::value(text).is_ok()
}

/// Whether a text is an object with this member.
pub fn has_member(text: &str, name: &str) -> bool {
    reader::member(text, name).is_some()
}
