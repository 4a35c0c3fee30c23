//! Reading typed values with places.
//!
//! An object or an array is scanned once into its raw members, and each member is read by its type
//! when its turn comes. What does not depend on the type is here, once for all types: a guest
//! carries no code per struct but a table of names and a call per field.
//!
//! What is wrong is noted where it is found, and reading goes on with something blank, which nobody
//! sees: at the end the first thing that is wrong in the text is the answer. So no call has to look
//! whether the one before it went well.

use alloc::{
    borrow::Cow,
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::{
    cell::Cell,
    fmt,
    ops::{Range, RangeInclusive},
};

use super::{
    JsonError, RawJson, Readable,
    fields::one_of,
    scan::{self, Member, Syntax},
};

/// Reads a typed value from a text in this way.
pub(super) fn read<T>(text: &str, how: fn(&Value<'_>) -> T) -> Result<T, JsonError> {
    let reader = Reader { whole: text, fault: Cell::new(None) };
    let value = how(&reader.root());
    reader.done().map(|()| value)
}

/// The same with a text of which it is known that it is JSON, with nothing around it: it was
/// scanned, or written here.
pub(super) fn read_scanned<T>(text: &str, how: fn(&Value<'_>) -> T) -> Result<T, JsonError> {
    let reader = Reader { whole: text, fault: Cell::new(None) };
    let value = how(&reader.scanned(0..text.len()));
    reader.done().map(|()| value)
}

/// The value of a key, where a text is an object that has it.
pub(super) fn member(text: &str, name: &str) -> Option<RawJson> {
    let reader = Reader { whole: text, fault: Cell::new(None) };
    let root = reader.root();
    let members = root.members("an object");
    // Of two the last one counts, as in a map.
    let index = members.members.iter().rposition(|(key, _)| key == name)?;
    let found = <RawJson as Readable>::read(&members.value(index));
    reader.done().is_ok().then_some(found)
}

/// A text that is read.
struct Reader<'a> {
    whole: &'a str,
    /// What is wrong, as far as it is known; the first of it in the text.
    fault: Cell<Option<Box<Fault>>>,
}

/// What is wrong.
struct Fault {
    message: String,
    path: String,
    /// The byte of the whole text at which it is.
    at: usize,
    /// The byte at which it shows; of all that is wrong what shows first is said.
    shows: usize,
}

impl<'a> Reader<'a> {
    /// The whole text as a value.
    #[inline(never)]
    fn root(&'a self) -> Value<'a> {
        match scan::value(self.whole) {
            Ok(place) => self.scanned(place),
            Err(Syntax { message, at }) => {
                self.fault.set(Some(Box::new(Fault {
                    message: message.to_string(),
                    path: String::new(),
                    at,
                    shows: 0,
                })));
                Value { form: Form::Blank, ..self.scanned(0..0) }
            }
        }
    }

    /// A part of the text as a value, of which it is known that it is one.
    fn scanned(&'a self, place: Range<usize>) -> Value<'a> {
        let at = place.start;
        Value {
            reader: self,
            raw: &self.whole[place],
            at,
            form: Form::Json,
            step: Step::Root,
            parent: None,
        }
    }

    #[inline(never)]
    fn done(&self) -> Result<(), JsonError> {
        let Some(fault) = self.fault.take() else { return Ok(()) };
        let before = &self.whole[..fault.at];
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

/// A value that is read: its raw text, and how it was come to.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    reader: &'a Reader<'a>,
    raw: &'a str,
    /// Where it begins in the whole text, in bytes.
    pub(super) at: usize,
    form: Form,
    step: Step<'a>,
    parent: Option<&'a Value<'a>>,
}

/// As what a value stands there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As JSON.
    Json,
    /// As the key of a member: a string, or what its text stands for.
    Key,
    /// As nothing: something else is wrong, and this is not looked at.
    Blank,
}

/// The last step of the way to a value.
#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Member(&'a str),
    Index(usize),
}

/// Where a part begins in the whole text, in bytes.
pub(super) fn begins(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

// What does not depend on the type that is read is not inlined: it is there once, and not once for
// each type.
impl<'a> Value<'a> {
    /// Notes what is wrong at a byte of the whole text, and where it shows.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&self, message: String, at: usize, shows: usize) {
        if self.form == Form::Blank {
            return;
        }
        let before = self.reader.fault.take();
        let first = before.filter(|before| before.shows <= shows);
        self.reader
            .fault
            .set(first.or_else(|| Some(Box::new(Fault { message, path: self.path(), at, shows }))));
    }

    /// The fields and members on the way to it, as in `message.origin.kind` and `todos[2]`.
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

    /// Notes that this value is read well in all its parts and still means nothing.
    #[cold]
    #[inline(never)]
    pub fn is_wrong(&self, why: &dyn fmt::Display) {
        self.note(why.to_string(), self.at, self.ends());
    }

    /// Its last byte.
    pub(super) fn ends(&self) -> usize {
        self.at + self.raw.len().saturating_sub(1)
    }

    pub(super) fn blank(&self) -> Value<'a> {
        Value { form: Form::Blank, raw: "", ..*self }
    }

    fn first(&self) -> u8 {
        self.raw.as_bytes().first().copied().unwrap_or_default()
    }

    /// The raw text, without change.
    #[must_use]
    pub(super) fn raw(&self) -> &'a str {
        self.raw
    }

    /// Where the raw text is in the whole one, in bytes.
    #[must_use]
    pub(super) fn place(&self) -> Range<usize> {
        self.at..self.at + self.raw.len()
    }

    /// Whether nothing stands here.
    #[must_use]
    pub(super) fn is_none(&self) -> bool {
        self.form == Form::Blank || self.form == Form::Json && self.raw == "null"
    }

    /// Whether an array stands here.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.first() == b'[' && self.form == Form::Json
    }

    /// Whether an object stands here.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.first() == b'{' && self.form == Form::Json
    }

    /// Notes that it has another type than is expected.
    #[cold]
    #[inline(never)]
    pub fn has_wrong_type(&self, expected: &str) {
        let raw = self.raw;
        let found = match (self.form, self.first()) {
            (Form::Blank, _) => return,
            (Form::Key, _) => format!("string {raw:?}"),
            (_, b'{') => "map".into(),
            (_, b'[') => "sequence".into(),
            (_, b't' | b'f') => format!("boolean `{raw}`"),
            (_, b'n') => "null".into(),
            (_, b'"') => match self.string() {
                Some(text) => format!("string {text:?}"),
                None => return,
            },
            _ if Number::parse(raw).is_some() => format!("integer `{raw}`"),
            _ => format!("number `{raw}`"),
        };
        self.is_not(format!("invalid type: {found}, expected {expected}"));
    }

    /// A string's content, where it can be read.
    fn string(&self) -> Option<Cow<'a, str>> {
        scan::string(self.raw).map_err(|why| self.breaks(self.at + why.at, why.message)).ok()
    }

    /// Notes that a string in it cannot be said.
    #[cold]
    #[inline(never)]
    fn breaks(&self, at: usize, message: &str) {
        self.note(message.to_string(), at, self.at);
    }

    /// A string.
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

    /// A whole number up to this one.
    #[must_use]
    #[inline(never)]
    pub(super) fn unsigned(&self, expected: &str, most: u64) -> u64 {
        match Number::parse(self.raw) {
            Some(Number::Unsigned(number)) if number <= most => return number,
            // What is no number is of another type; a number that is out of bounds is another
            // value.
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

    /// A whole number that is not zero, or zero.
    #[must_use]
    #[inline(never)]
    pub(super) fn nonzero(&self) -> u64 {
        const EXPECTED: &str = "a nonzero u64";
        let number = self.unsigned(EXPECTED, u64::MAX);
        if number == 0 {
            // Where it was no number that is noted already.
            self.is_not(format!("invalid value: integer `0`, expected {EXPECTED}"));
        }
        number
    }

    /// A whole number of either sign.
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

    /// True or false.
    #[must_use]
    #[inline(never)]
    pub(super) fn boolean(&self) -> bool {
        if !matches!(self.raw, "true" | "false") || self.form == Form::Key {
            self.has_wrong_type("a boolean");
        }
        self.raw == "true"
    }

    /// One of these names, or of those that stand for one: its place.
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
            self.is_not(format!("unknown variant `{given}`, {}", one_of(names)));
        }
        meant
    }

    /// The members of an array.
    #[must_use]
    #[inline(never)]
    pub(super) fn items(&self, expected: &str) -> Items<'_> {
        let mut members = Vec::new();
        if self.is_array() {
            members =
                scan::members(self.raw).into_iter().map(|member| &self.raw[member.value]).collect();
        } else {
            self.has_wrong_type(expected);
        }
        Items { array: self, members, read: 0 }
    }

    /// The members of an array of two.
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
        let mut members = Vec::new();
        if self.is_object() {
            for Member { key, value } in scan::members(self.raw) {
                match scan::string(&self.raw[key.clone()]) {
                    Ok(name) => members.push((name, &self.raw[value])),
                    Err(why) => self.breaks(self.at + key.start + why.at, why.message),
                }
            }
        } else {
            self.has_wrong_type(expected);
        }
        Entries { object: self, members, read: 0 }
    }
}

/// A whole number; the core reads no others.
enum Number {
    Unsigned(u64),
    Negative(i64),
}

impl Number {
    fn parse(raw: &str) -> Option<Self> {
        if !matches!(raw.as_bytes().first(), Some(b'-' | b'0'..=b'9')) {
            return None;
        }
        // Minus zero is a float in JSON.
        raw.parse()
            .map(Self::Unsigned)
            .ok()
            .or_else(|| raw.parse().ok().filter(|number| *number < 0).map(Self::Negative))
    }
}

/// The members of an array, which are read one after the other.
pub(super) struct Items<'a> {
    array: &'a Value<'a>,
    members: Vec<&'a str>,
    read: usize,
}

impl<'a> Items<'a> {
    #[inline(never)]
    pub(super) fn next(&mut self) -> Option<Value<'a>> {
        let raw = *self.members.get(self.read)?;
        let at = begins(self.array.reader.whole, raw);
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
    /// The next member; one that is not there is noted already.
    #[inline(never)]
    pub(super) fn next_or_blank(&mut self) -> Value<'_> {
        let blank = self.array.blank();
        self.next().unwrap_or(blank)
    }
}

/// The members of an object, which are read one after the other.
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

    /// Where a key stands. A key with escapes is not where it was read from; the object is.
    pub(super) fn key_at(&self, index: usize) -> usize {
        match &self.members[index].0 {
            Cow::Borrowed(text) => begins(self.object.reader.whole, text).saturating_sub(1),
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

    pub(super) fn value(&self, index: usize) -> Value<'_> {
        let (key, raw) = &self.members[index];
        let at = begins(self.object.reader.whole, raw);
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
