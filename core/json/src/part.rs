//! Parts of a text that are not read: where they are, and whether they are JSON.

use core::{ops::Range, slice::SliceIndex};

use super::{Readable, Value, reader, scan};

/// The byte range of a value in the text that is read.
pub struct Part(pub Range<usize>);

impl Readable for Part {
    fn read(value: &Value<'_>) -> Self {
        Self(value.place())
    }
}

/// A part of a text at places that are known to lie between characters. Indexing would do the same,
/// but its message about a wrong place would be 2 kB of what a page downloads.
#[must_use]
pub fn cut(text: &str, place: impl SliceIndex<str, Output = str>) -> &str {
    text.get(place).unwrap_or_default()
}

/// Whether a text is valid JSON.
pub fn is_json(text: &str) -> bool {
    scan::value(text).is_ok()
}

/// Whether a text is an object with the member `name`.
pub fn has_member(text: &str, name: &str) -> bool {
    reader::member(text, name).is_some()
}
