//! Names that are not known: a member that no type has, in a text that is read strictly, and a name
//! that is none of an enum's. The error names the nearest name that there is.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::mem;

use super::{fields::Shape, reader::Fault};

/// The origin of a text, which decides what is refused in it.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Whether the text was not stored before. Types can refuse in it what they must still read
    /// from old texts ([`Value::is_new`](crate::Value::is_new)).
    pub is_new: bool,
    /// Whether a member that no type has is an error.
    pub is_strict: bool,
}

impl Origin {
    pub(super) const STORED: Self = Self { is_new: false, is_strict: false };
}

/// The members of a strict text, each by the byte of the whole text at which its value begins.
///
/// One object can be read as several types: its tag, what the tag names, and what they share. So a
/// member is unknown only if none of them has it.
#[derive(Default)]
pub(super) struct Met {
    pub(super) known: Vec<usize>,
    pub(super) unknown: Vec<Unknown>,
}

/// More unknown members than this are not kept. The first ones are enough for an error, and each is
/// looked for among all that are known.
pub(super) const MOST_UNKNOWN: usize = 1_000;

/// A member that a type does not have.
pub(super) struct Unknown {
    pub(super) value: usize,
    pub(super) name: String,
    pub(super) shape: &'static Shape,
    pub(super) path: String,
    /// The byte at which the key begins.
    pub(super) at: usize,
}

impl Met {
    /// The error of the first member that no type has.
    #[inline(never)]
    pub(super) fn first_unknown(self) -> Option<Fault> {
        let unknown = self.unknown.iter().filter(|member| !self.known.contains(&member.value));
        let first = unknown.min_by_key(|member| member.at)?;
        let same = self.unknown.iter().filter(|member| member.value == first.value);
        let shapes: Vec<_> = same.map(|member| member.shape).collect();
        let message = unknown_field(&first.name, &shapes);
        Some(Fault { message, path: first.path.clone(), at: first.at, shows: first.at })
    }
}

/// An error text about a field that none of these types has. The last one is the object's own.
pub(super) fn unknown_field(key: &str, shapes: &[&'static Shape]) -> String {
    let own = shapes.last().map(|shape| shape.names()).unwrap_or_default();
    unknown("field", key, shapes.iter().flat_map(|shape| shape.names()), &own)
}

/// An error text about a name that is not known: with the nearest of `all` if one is near, else
/// with those of `own`.
pub(super) fn unknown<'a>(
    what: &str,
    given: &str,
    all: impl Iterator<Item = &'a str>,
    own: &[&str],
) -> String {
    let near = all.filter_map(|name| {
        let distance = distance(given, name);
        let is_begun = given.len() > 2 && name.starts_with(given);
        (is_begun || distance * 3 <= name.len().max(3)).then_some((distance, name))
    });
    let expected = match near.min() {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => one_of(own),
    };
    format!("unknown {what} `{given}`, {expected}")
}

/// The expected names.
fn one_of(names: &[&str]) -> String {
    match names {
        [] => "there are no fields".to_string(),
        [one] => format!("expected `{one}`"),
        [one, other] => format!("expected `{one}` or `{other}`"),
        names => format!("expected one of `{}`", names.join("`, `")),
    }
}

/// The number of bytes to insert, remove, replace or swap with the next to make one name of the
/// other. A name that is far too long is as far as can be.
fn distance(given: &str, name: &str) -> usize {
    if given.len() > 2 * name.len() {
        return given.len();
    }
    let (given, name) = (given.as_bytes(), name.as_bytes());
    let mut row: Vec<usize> = (0..=name.len()).collect();
    let mut before = row.clone();
    for (index, byte) in given.iter().enumerate() {
        let mut next = Vec::from([index + 1]);
        for (at, other) in name.iter().enumerate() {
            let replaced = row[at] + usize::from(byte != other);
            let mut least = replaced.min(row[at + 1] + 1).min(next[at] + 1);
            let is_swapped =
                index > 0 && at > 0 && *byte == name[at - 1] && given[index - 1] == *other;
            if is_swapped {
                least = least.min(before[at - 1] + 1);
            }
            next.push(least);
        }
        before = mem::replace(&mut row, next);
    }
    row[name.len()]
}
