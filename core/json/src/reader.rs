//! Reads typed values and reports errors with their places.
//!
//! An object or array is scanned once into its raw members. Each member is then read by its type
//! when it is needed. Code that does not depend on the type is here once. Per struct, a guest
//! carries only a table of names and a call per field.
//!
//! An error is noted where it is found, and reading continues with a blank value that never leaves
//! the reader. At the end the error that shows first in the text is returned. So no call has to
//! check whether the one before it succeeded.

use alloc::{
    borrow::Cow,
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{
    cell::{Cell, RefCell},
    fmt,
    ops::{Range, RangeInclusive},
};

use super::{
    JsonError, Part, RawJson, Readable, cut,
    fields::Shape,
    scan::{self, Member, Members, Nests, Syntax},
    strict::{MOST_UNKNOWN, Met, Origin, Unknown, unknown},
};

/// Reads a typed value from a text with the function `how`.
pub(super) fn read<T>(
    text: &str,
    origin: Origin,
    how: fn(&Value<'_>) -> T,
) -> Result<T, JsonError> {
    Reader::scanned(text, origin).whole(how)
}

/// As [`read`], for a text that is known to be JSON without space around it: it was scanned before,
/// or written here.
pub(super) fn read_scanned<T>(text: &str, how: fn(&Value<'_>) -> T) -> Result<T, JsonError> {
    Reader::over(text, Origin::STORED).whole(how)
}

/// The value of `name`, if the text is an object that has it.
pub(super) fn member(text: &str, name: &str) -> Option<RawJson> {
    let reader = Reader::scanned(text, Origin::STORED);
    let root = reader.root();
    let members = root.members("an object");
    // Of two equal keys the last one counts, as in a map.
    let index = members.members.iter().rposition(|(key, _)| key == name)?;
    let found = <RawJson as Readable>::read(&members.value(index));
    reader.done().is_ok().then_some(found)
}

/// A text that is being read. It is scanned once, and then its parts are read.
pub struct Reader<'a> {
    text: &'a str,
    /// The one value in it; `None` if it is not JSON.
    value: Option<Range<usize>>,
    nests: Nests,
    origin: Origin,
    /// The members that were looked for in a strict text.
    // One object can be read as several types: its tag, what the tag names, and what they share. So
    // a member is unknown only if none of them has it.
    met: RefCell<Met>,
    /// The error that shows first in the text, of those found so far.
    // A cell, because every value holds a shared reference to the reader.
    fault: Cell<Option<Box<Fault>>>,
}

/// An error, and where it is.
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) path: String,
    /// The byte of the whole text that is reported.
    pub(super) at: usize,
    /// The byte at which a reader from left to right would notice it. The error with the smallest
    /// such byte is returned.
    pub(super) shows: usize,
}

impl<'a> Reader<'a> {
    /// A text that a ledger or another store gave back.
    #[must_use]
    pub fn stored(text: &'a str) -> Self {
        Self::scanned(text, Origin::STORED)
    }

    /// A text that is known to be one value, without space around it.
    fn over(text: &'a str, origin: Origin) -> Self {
        Self {
            text,
            value: Some(0..text.len()),
            nests: Nests::default(),
            origin,
            met: RefCell::default(),
            fault: Cell::new(None),
        }
    }

    #[inline(never)]
    fn scanned(text: &'a str, origin: Origin) -> Self {
        let mut reader = Self::over(text, origin);
        match scan::value(text) {
            Ok((value, nests)) => {
                reader.value = Some(value);
                reader.nests = nests;
            }
            Err(Syntax { message, at }) => {
                // No other part is read, so nothing can show before this.
                reader.at(0..0).note(message.to_string(), at, 0);
                reader.value = None;
            }
        }
        reader
    }

    /// Reads the value of the whole text.
    ///
    /// # Errors
    /// If the text is not JSON or not of that type.
    #[inline]
    pub fn whole<T>(&self, how: fn(&Value<'_>) -> T) -> Result<T, JsonError> {
        let value = how(&self.root());
        self.done().map(|()| value)
    }

    /// Reads a part of the text, which [`Part`] found in it. Errors name their place in the whole
    /// text.
    ///
    /// # Errors
    /// If the part is not of that type.
    pub fn part<T>(&self, part: Part, how: fn(&Value<'_>) -> T) -> Result<T, JsonError> {
        let value = how(&self.at(part.0));
        self.done().map(|()| value)
    }

    /// The whole text as a value; blank if it is not JSON.
    fn root(&self) -> Value<'_> {
        match &self.value {
            Some(place) => self.at(place.clone()),
            None => Value { form: Form::Blank, ..self.at(0..0) },
        }
    }

    /// A part of the text that is known to be a value.
    fn at(&self, place: Range<usize>) -> Value<'_> {
        let at = place.start;
        Value {
            reader: self,
            raw: cut(self.text, place),
            at,
            form: Form::Json,
            step: Step::Root,
            parent: None,
        }
    }

    #[inline(never)]
    fn done(&self) -> Result<(), JsonError> {
        let found = self.fault.take().map(|fault| *fault);
        let unknown = self.met.take().first_unknown();
        let faults = found.into_iter().chain(unknown);
        let Some(fault) = faults.min_by_key(|fault| fault.shows) else { return Ok(()) };
        let before = cut(self.text, ..fault.at);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() as u64 + 1;
        Err(JsonError {
            path: fault.path,
            line,
            column: (before.len() - line_start) as u64 + 1,
            message: fault.message,
        })
    }
}

/// A value that is being read: its raw text, and the path that led to it.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    reader: &'a Reader<'a>,
    raw: &'a str,
    /// Its first byte in the whole text.
    pub(super) at: usize,
    form: Form,
    step: Step<'a>,
    parent: Option<&'a Value<'a>>,
}

/// How the raw text of a value is to be understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As JSON.
    Json,
    /// As the key of a member: the string's content, without quotes and escapes.
    Key,
    /// Not at all: another error was noted already, and this value is not looked at.
    Blank,
}

/// The last step of the path to a value.
#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Member(&'a str),
    Index(usize),
}

/// The byte of `whole` at which its part `part` begins.
pub(super) fn begins(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

// What does not depend on the type is not inlined, so that it is compiled once and not per type.
impl<'a> Value<'a> {
    /// Notes an error at the byte `at` of the whole text that shows at the byte `shows`.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&self, message: String, at: usize, shows: usize) {
        // A blank value means that an error was noted already.
        if self.form == Form::Blank {
            return;
        }
        let before = self.reader.fault.take();
        // Of two errors at one byte, the one noted first stays.
        let first = before.filter(|before| before.shows <= shows);
        self.reader
            .fault
            .set(first.or_else(|| Some(Box::new(Fault { message, path: self.path(), at, shows }))));
    }

    /// The path to the value, as in `message.origin.kind` and `todos[2]`.
    fn path(&self) -> String {
        let before = self.parent.map(Self::path).unwrap_or_default();
        match self.step {
            Step::Root => before,
            Step::Member(name) if before.is_empty() => name.to_string(),
            Step::Member(name) => format!("{before}.{name}"),
            Step::Index(index) => format!("{before}[{index}]"),
        }
    }

    /// Notes that this value is not what it should be.
    #[cold]
    #[inline(never)]
    pub(super) fn is_not(&self, message: String) {
        self.note(message, self.at, self.at);
    }

    /// Notes that the value is well-formed in all its parts but not acceptable as a whole.
    #[cold]
    #[inline(never)]
    pub fn is_wrong(&self, why: &dyn fmt::Display) {
        self.note(why.to_string(), self.at, self.ends());
    }

    /// The last byte of the value in the whole text.
    pub(super) fn ends(&self) -> usize {
        self.at + self.raw.len().saturating_sub(1)
    }

    pub(super) fn blank(&self) -> Value<'a> {
        Value { form: Form::Blank, raw: "", ..*self }
    }

    fn first(&self) -> u8 {
        self.raw.as_bytes().first().copied().unwrap_or_default()
    }

    /// The raw text, unchanged.
    #[must_use]
    pub(super) fn raw(&self) -> &'a str {
        self.raw
    }

    /// The byte range of the raw text in the whole text.
    #[must_use]
    pub(super) fn place(&self) -> Range<usize> {
        self.at..self.at + self.raw.len()
    }

    /// Whether the value is `null` or blank.
    #[must_use]
    pub(super) fn is_none(&self) -> bool {
        self.form == Form::Blank || self.form == Form::Json && self.raw == "null"
    }

    /// Whether the text is new, and not read back from where it was stored
    /// ([`Origin`](crate::Origin)).
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.reader.origin.is_new
    }

    /// Whether the value is an array.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.first() == b'[' && self.form == Form::Json
    }

    /// Whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.first() == b'{' && self.form == Form::Json
    }

    /// Notes that the value has another type than `expected`.
    #[cold]
    #[inline(never)]
    pub fn has_wrong_type(&self, expected: &str) {
        let raw = self.raw;
        let found = match (self.form, self.first()) {
            (Form::Blank, _) => return,
            (Form::Key, _) => format!("string {}", crate::write(&raw)),
            (_, b'{') => "map".into(),
            (_, b'[') => "sequence".into(),
            (_, b't' | b'f') => format!("boolean `{raw}`"),
            (_, b'n') => "null".into(),
            (_, b'"') => match self.string() {
                Some(text) => format!("string {}", crate::write(&text)),
                // That it cannot be decoded was noted already.
                None => return,
            },
            _ if Number::parse(raw).is_some() => format!("integer `{raw}`"),
            _ => format!("number `{raw}`"),
        };
        self.is_not(format!("invalid type: {found}, expected {expected}"));
    }

    /// The content of a string, if it can be decoded.
    fn string(&self) -> Option<Cow<'a, str>> {
        scan::string(self.raw).map_err(|why| self.breaks(self.at + why.at, why.message)).ok()
    }

    /// Notes that a string of this value cannot be decoded.
    #[cold]
    #[inline(never)]
    fn breaks(&self, at: usize, message: &str) {
        self.note(message.to_string(), at, self.at);
    }

    /// Reads a string.
    #[must_use]
    #[inline(never)]
    pub fn text(&self, expected: &str) -> Cow<'a, str> {
        let text = match (self.form, self.first()) {
            (Form::Key, _) => return Cow::Borrowed(self.raw),
            (Form::Json, b'"') => self.string(),
            _ => {
                self.has_wrong_type(expected);
                None
            }
        };
        text.unwrap_or_default()
    }

    /// Reads an unsigned number of at most `most`.
    #[must_use]
    #[inline(never)]
    pub(super) fn unsigned(&self, expected: &str, most: u64) -> u64 {
        match Number::parse(self.raw) {
            Some(Number::Unsigned(number)) if number <= most => return number,
            // A number out of bounds is a wrong value; everything else is a wrong type.
            Some(Number::Unsigned(number)) => {
                self.is_not(format!("invalid value: integer `{number}`, expected {expected}"))
            }
            Some(Number::Negative(number)) => {
                self.is_not(format!("invalid value: integer `{number}`, expected {expected}"))
            }
            None => self.has_wrong_type(expected),
        }
        0
    }

    /// Reads a number that is not zero; returns zero after an error.
    #[must_use]
    #[inline(never)]
    pub(super) fn nonzero(&self) -> u64 {
        const EXPECTED: &str = "a nonzero u64";
        let number = self.unsigned(EXPECTED, u64::MAX);
        if number == 0 {
            // If it was not a number, that is noted already, and the first error wins.
            self.is_not(format!("invalid value: integer `0`, expected {EXPECTED}"));
        }
        number
    }

    /// Reads a signed number within `bounds`.
    #[must_use]
    #[inline(never)]
    pub(super) fn signed(&self, expected: &str, bounds: RangeInclusive<i64>) -> i64 {
        let number = match Number::parse(self.raw) {
            Some(Number::Negative(number)) => Some(number),
            Some(Number::Unsigned(number)) => i64::try_from(number).ok(),
            None => {
                self.has_wrong_type(expected);
                return 0;
            }
        };
        number.filter(|number| bounds.contains(number)).unwrap_or_else(|| {
            self.is_not(format!("invalid value: integer `{}`, expected {expected}", self.raw));
            0
        })
    }

    /// Reads a boolean.
    #[must_use]
    #[inline(never)]
    pub(super) fn boolean(&self) -> bool {
        // The key `true` is text.
        if !matches!(self.raw, "true" | "false") || self.form == Form::Key {
            self.has_wrong_type("a boolean");
        }
        self.raw == "true"
    }

    /// The place of a name among `names`, or the place that `also` gives it.
    #[must_use]
    #[inline(never)]
    pub fn name(&self, names: &'static [&'static str], also: &[(&str, usize)]) -> usize {
        self.known_name(names, also).unwrap_or_default()
    }

    pub(super) fn known_name(
        &self,
        names: &'static [&'static str],
        also: &[(&str, usize)],
    ) -> Option<usize> {
        let given = self.text("a name");
        let known = names.iter().position(|name| *name == given);
        let meant =
            known.or_else(|| also.iter().find(|(name, _)| *name == given).map(|(_, index)| *index));
        if meant.is_none() {
            self.is_not(unknown("variant", &given, names.iter().copied(), names));
        }
        meant
    }

    fn parts(&self) -> Members<'a> {
        Members::new(self.raw, &self.reader.nests, self.at)
    }

    /// The items of an array.
    #[must_use]
    #[inline(never)]
    pub(super) fn items(&self, expected: &str) -> Items<'_> {
        let mut members = Vec::new();
        if self.is_array() {
            for member in self.parts() {
                members.push(cut(self.raw, member.value));
            }
        } else {
            self.has_wrong_type(expected);
        }
        Items { array: self, members, read: 0 }
    }

    /// The items of an array of two.
    #[must_use]
    #[inline(never)]
    pub(super) fn pair(&self) -> Items<'_> {
        let expected = "a tuple of size 2";
        let items = self.items(expected);
        if items.members.len() < 2 {
            self.note(
                format!("invalid length {}, expected {expected}", items.members.len()),
                self.at,
                self.ends(),
            );
        }
        items
    }

    /// The members of an object.
    #[must_use]
    #[inline(never)]
    pub(super) fn members(&self, expected: &str) -> Entries<'_> {
        // Few objects have more, and to grow costs as much as to read two of them.
        let mut members = Vec::with_capacity(8);
        if self.is_object() {
            for Member { key, value } in self.parts() {
                match scan::string(cut(self.raw, key.clone())) {
                    Ok(name) => members.push((name, cut(self.raw, value))),
                    Err(why) => self.breaks(self.at + key.start + why.at, why.message),
                }
            }
        } else {
            self.has_wrong_type(expected);
        }
        Entries { object: self, members, read: 0 }
    }
}

/// A whole number. The core reads no other numbers.
enum Number {
    Unsigned(u64),
    Negative(i64),
}

impl Number {
    fn parse(raw: &str) -> Option<Self> {
        if !matches!(raw.as_bytes().first(), Some(b'-' | b'0'..=b'9')) {
            return None;
        }
        // `-0` is a float in serde_json, so it is not a whole number here.
        raw.parse()
            .map(Self::Unsigned)
            .ok()
            .or_else(|| raw.parse().ok().filter(|number| *number < 0).map(Self::Negative))
    }
}

/// The items of an array, read one after the other.
pub(super) struct Items<'a> {
    array: &'a Value<'a>,
    members: Vec<&'a str>,
    read: usize,
}

impl<'a> Items<'a> {
    #[inline(never)]
    pub(super) fn next(&mut self) -> Option<Value<'a>> {
        let raw = *self.members.get(self.read)?;
        let at = begins(self.array.reader.text, raw);
        self.read += 1;
        Some(Value {
            raw,
            at,
            form: Form::Json,
            step: Step::Index(self.read - 1),
            parent: Some(self.array),
            ..*self.array
        })
    }
}

impl Items<'_> {
    /// The next item. If it is missing, that is noted already, and a blank value is returned.
    #[inline(never)]
    pub(super) fn next_or_blank(&mut self) -> Value<'_> {
        let blank = self.array.blank();
        self.next().unwrap_or(blank)
    }
}

/// The members of an object, read one after the other.
pub(super) struct Entries<'a> {
    pub(super) object: &'a Value<'a>,
    pub(super) members: Vec<(Cow<'a, str>, &'a str)>,
    read: usize,
}

impl<'a> Entries<'a> {
    /// The next key with its value.
    #[inline(never)]
    pub(super) fn next(&mut self) -> Option<(Value<'_>, Value<'_>)> {
        let index = self.read;
        self.members.get(index)?;
        self.read += 1;
        Some((self.key(index), self.value(index)))
    }

    /// The byte at which a key begins. A key with escapes was decoded into a copy and has lost its
    /// place, so its object's place is returned.
    pub(super) fn key_at(&self, index: usize) -> usize {
        match &self.members[index].0 {
            Cow::Borrowed(text) => begins(self.object.reader.text, text).saturating_sub(1),
            Cow::Owned(_) => self.object.at,
        }
    }

    pub(super) fn key(&self, index: usize) -> Value<'_> {
        let key = &*self.members[index].0;
        Value {
            raw: key,
            at: self.key_at(index),
            form: Form::Key,
            step: Step::Member(key),
            parent: Some(self.object),
            ..*self.object
        }
    }

    /// Notes in a strict text that this type has a member, or that it does not.
    #[inline(never)]
    pub(super) fn met(&self, index: usize, shape: &'static Shape, is_known: bool) {
        let reader = self.object.reader;
        // A blank value means that an error was noted already.
        if !reader.origin.is_strict || self.object.form == Form::Blank {
            return;
        }
        let (name, raw) = &self.members[index];
        let value = begins(reader.text, raw);
        let mut met = reader.met.borrow_mut();
        if is_known {
            met.known.push(value);
        } else if met.unknown.len() < MOST_UNKNOWN {
            let key = self.key(index);
            let (name, path) = (name.to_string(), key.path());
            met.unknown.push(Unknown { value, name, shape, path, at: key.at });
        }
    }

    pub(super) fn value(&self, index: usize) -> Value<'_> {
        let (key, raw) = &self.members[index];
        let at = begins(self.object.reader.text, raw);
        Value {
            raw,
            at,
            form: Form::Json,
            step: Step::Member(key),
            parent: Some(self.object),
            ..*self.object
        }
    }
}
