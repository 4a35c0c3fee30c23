//! Writes typed values: a serde serializer that makes canonical text, with or without line breaks.
//!
//! It writes into memory, and keys of the core's types are always text, so nothing can fail. Its
//! error type has no values, so the compiler removes the error paths from the code that serde
//! derives. That makes a guest smaller than with `serde_json`, and the text is the same byte for
//! byte.

use alloc::string::String;
use core::fmt::{self, Write as _};

use serde::{
    Serialize, Serializer,
    ser::{
        self, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

use super::{part::cut, plain::plain};

/// The newtype name that marks free JSON.
pub(super) const RAW_JSON: &str = "RawJson";

/// The field by which serde_json recognises a raw value.
pub(super) const AS_IS: &str = "$serde_json::private::RawValue";

/// The field by which serde_json recognises a number as text, in builds with its feature
/// `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";

/// The initial capacity of a text. Most entries, receipts and reports fit into it.
const USUAL_BYTES: usize = 1024;

/// Whether a text is indented.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Without white space.
    Line,
    /// With one line per member.
    Indented,
}

/// Writes a typed value.
pub(super) fn write<T: Serialize + ?Sized>(value: &T, layout: Layout) -> String {
    written(value, layout, usize::MAX)
}

/// Writes a typed value in at most this many bytes. `None` if it needs more; then not much more
/// memory than that is used.
pub(super) fn write_within<T: Serialize + ?Sized>(value: &T, most: usize) -> Option<String> {
    Some(written(value, Layout::Line, most)).filter(|text| text.len() <= most)
}

fn written<T: Serialize + ?Sized>(value: &T, layout: Layout, most: usize) -> String {
    let text = String::with_capacity(USUAL_BYTES);
    let mut text = Text { text, layout, most, depth: 0, as_is: false };
    match value.serialize(&mut text) {
        Ok(()) => text.text,
        Err(never) => match never {},
    }
}

/// An error that cannot happen.
#[derive(Debug)]
pub(super) enum Never {}

impl fmt::Display for Never {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl core::error::Error for Never {}

impl ser::Error for Never {
    fn custom<T: fmt::Display>(message: T) -> Self {
        // INVARIANT: no type of the core returns an error when it is serialized.
        unreachable!("a core type failed to serialize: {message}")
    }
}

/// The text so far.
struct Text {
    text: String,
    layout: Layout,
    /// The length after which the text is too long, so that the rest of it does not matter.
    most: usize,
    /// The number of open brackets.
    depth: usize,
    /// Whether the next string is written without quotes and escapes.
    as_is: bool,
}

// What does not depend on the type is not inlined, so that it is compiled once and not per type.
impl Text {
    #[inline(never)]
    fn put(&mut self, text: &str) {
        if self.text.len() <= self.most {
            self.text.push_str(text);
        }
    }

    #[inline(never)]
    fn unsigned(&mut self, number: u64) {
        // Writing into memory cannot fail.
        write!(self.text, "{number}").ok();
    }

    /// Writes a float; `null` for infinities and NaN, which JSON cannot express.
    fn number(&mut self, is_finite: bool, number: &dyn fmt::Debug) {
        if is_finite {
            write!(self.text, "{number:?}").ok();
        } else {
            self.put("null");
        }
    }

    #[inline(never)]
    fn string(&mut self, text: &str) {
        if self.as_is {
            return self.put(text);
        }
        if self.text.len() > self.most {
            return;
        }
        self.text.push('"');
        self.escaped(text);
        self.text.push('"');
    }

    fn escaped(&mut self, text: &str) {
        let mut rest = text;
        loop {
            let at = plain(rest.as_bytes());
            self.text.push_str(cut(rest, ..at));
            let Some(special) = rest.as_bytes().get(at) else { return };
            match *special {
                b'\x08' => self.text.push_str("\\b"),
                b'\x0c' => self.text.push_str("\\f"),
                b'\n' => self.text.push_str("\\n"),
                b'\r' => self.text.push_str("\\r"),
                b'\t' => self.text.push_str("\\t"),
                byte @ ..0x20 => drop(write!(self.text, "\\u{byte:04x}")),
                byte => {
                    self.text.push('\\');
                    self.text.push(char::from(byte));
                }
            }
            rest = cut(rest, at + 1..);
        }
    }

    fn new_line(&mut self) {
        if self.layout == Layout::Indented {
            self.text.push('\n');
            (0..self.depth).for_each(|_| self.text.push_str("  "));
        }
    }

    #[inline(never)]
    fn open(&mut self, bracket: char) -> Open<'_> {
        self.text.push(bracket);
        self.depth += 1;
        Open { text: self, is_empty: true, ends: if bracket == '{' { "}" } else { "]" } }
    }

    /// Starts an object with one member, whose value must follow.
    fn variant(&mut self, variant: &str) -> Open<'_> {
        let mut open = self.open('{');
        open.key(variant);
        open
    }
}

/// Escapes what is written, inside a string that is open.
struct Escaped<'a>(&'a mut Text);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.escaped(text);
        Ok(())
    }
}

/// An object or array that is still open.
struct Open<'a> {
    text: &'a mut Text,
    is_empty: bool,
    /// The brackets that close it and what was opened with it.
    ends: &'static str,
}

impl Open<'_> {
    /// Starts the next member.
    #[inline(never)]
    fn next(&mut self) {
        if !self.is_empty {
            self.text.put(",");
        }
        self.is_empty = false;
        self.text.new_line();
    }

    #[inline(never)]
    fn key(&mut self, key: &str) {
        if self.is_empty && (key == AS_IS || key == NUMBER) {
            // The caller opened an object, but the raw text replaces it: take the brace back.
            self.text.text.pop();
            self.text.depth -= 1;
            self.text.as_is = true;
            self.ends = "";
            return;
        }
        self.next();
        self.text.string(key);
        self.colon();
    }

    fn colon(&mut self) {
        self.text.put(if self.text.layout == Layout::Indented { ": " } else { ":" });
    }

    #[inline(never)]
    fn close(self) {
        let mut is_empty = self.is_empty;
        for bracket in self.ends.chars() {
            self.text.depth -= 1;
            if !is_empty {
                self.text.new_line();
            }
            self.text.text.push(bracket);
            // The enclosing object has this one as a member, so it is not empty.
            is_empty = false;
        }
        self.text.as_is = false;
    }
}

/// Writes unsigned numbers of every width through one function.
macro_rules! numbers {
    ($($width:ident($number:ty))*) => {
        $(fn $width(self, number: $number) -> Result<(), Never> {
            self.unsigned(number.into());
            Ok(())
        })*
    };
}

macro_rules! signed_numbers {
    ($($width:ident($number:ty))*) => {
        $(fn $width(self, number: $number) -> Result<(), Never> {
            if number < 0 {
                self.put("-");
            }
            self.unsigned(i64::from(number).unsigned_abs());
            Ok(())
        })*
    };
}

impl<'a> Serializer for &'a mut Text {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = Open<'a>;
    type SerializeTuple = Open<'a>;
    type SerializeTupleStruct = Open<'a>;
    type SerializeTupleVariant = Open<'a>;
    type SerializeMap = Open<'a>;
    type SerializeStruct = Open<'a>;
    type SerializeStructVariant = Open<'a>;

    numbers! { serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) }
    signed_numbers! { serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) }

    fn serialize_bool(self, value: bool) -> Result<(), Never> {
        self.put(if value { "true" } else { "false" });
        Ok(())
    }

    // The core has no floats, but a host's own types may have them.
    fn serialize_f32(self, value: f32) -> Result<(), Never> {
        self.number(value.is_finite(), &value);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Never> {
        self.number(value.is_finite(), &value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Never> {
        self.string(value.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Never> {
        self.string(text);
        Ok(())
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), Never> {
        self.text.push('"');
        // Writing into memory cannot fail.
        write!(Escaped(self), "{value}").ok();
        self.text.push('"');
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Never> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), Never> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Never> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Never> {
        self.put("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Never> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Never> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        let open = self.variant(variant);
        value.serialize(&mut *open.text)?;
        open.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a>, Never> {
        Ok(self.open('['))
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'a>, Never> {
        Ok(self.open('['))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, Never> {
        Ok(self.open('['))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'a>, Never> {
        let open = self.variant(variant);
        Ok(Open { ends: "]}", ..open.text.open('[') })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'a>, Never> {
        Ok(self.open('{'))
    }

    // The name is unused, so that a guest does not carry the names of its types.
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, Never> {
        Ok(self.open('{'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Open<'a>, Never> {
        let open = self.variant(variant);
        Ok(Open { ends: "}}", ..open.text.open('{') })
    }
}

/// Implements the four serde traits whose items go into an array.
macro_rules! items {
    ($($Trait:ident::$item:ident)*) => {
        $(impl $Trait for Open<'_> {
            type Ok = ();
            type Error = Never;

            fn $item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
                self.next();
                value.serialize(&mut *self.text)
            }

            fn end(self) -> Result<(), Never> {
                self.close();
                Ok(())
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

impl SerializeMap for Open<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Never> {
        self.next();
        let start = self.text.text.len();
        key.serialize(&mut *self.text)?;
        // JSON keys are text, so a number gets quotes.
        if self.text.text.as_bytes().get(start) != Some(&b'"') {
            self.text.text.insert(start, '"');
            self.text.put("\"");
        }
        self.colon();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Never> {
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Never> {
        self.close();
        Ok(())
    }
}

impl SerializeStruct for Open<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        self.key(key);
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Never> {
        self.close();
        Ok(())
    }
}

impl SerializeStructVariant for Open<'_> {
    type Ok = ();
    type Error = Never;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Never> {
        self.key(key);
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Never> {
        self.close();
        Ok(())
    }
}
