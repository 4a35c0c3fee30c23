//! Reading typed values with places: a serde deserializer over the raw parts of a text.
//!
//! `serde_json` scans an object or an array once into its raw members, and each member is read by its type when its turn comes. So whatever
//! is wrong with a value, its own code or serde's says so without knowing where, and the way back out adds the field and the place. The
//! code of a type is compiled once and parses nothing, which keeps the guests small.

use alloc::{
    borrow::Cow,
    format,
    string::{String, ToString},
    vec::{self, Vec},
};
use core::{convert::Infallible, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor},
    forward_to_deserialize_any,
};
use serde_json::value::RawValue;

use super::{JsonError, RAW_JSON};

/// Reads a typed value from a text.
pub(super) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    let scanned = scan::<&RawValue>(text, 0);
    let read = scanned.and_then(|raw| Value { whole: text, raw: raw.get() }.read(PhantomData));
    read.map_err(|fault| fault.in_text(text))
}

/// What is wrong, while the way out is still adding where.
#[derive(Debug)]
struct Fault {
    message: String,
    /// The field, as far as it is known.
    path: String,
    /// The byte of the whole text at which it is.
    at: Option<usize>,
}

impl Fault {
    fn new(message: String) -> Self {
        Self { message, path: String::new(), at: None }
    }

    /// It is in a value that begins at this byte, unless more is known.
    fn within(mut self, at: usize) -> Self {
        self.at.get_or_insert(at);
        self
    }

    /// It is in this member of an object.
    fn in_field(mut self, key: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{key}{dot}{}", self.path);
        self
    }

    /// It is in this member of an array.
    fn in_member(mut self, index: usize) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("[{index}]{dot}{}", self.path);
        self
    }

    fn in_text(self, text: &str) -> JsonError {
        let before = &text[..self.at.unwrap_or_default()];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        JsonError {
            path: self.path,
            line: before.matches('\n').count() as u64 + 1,
            column: (before.len() - line_start) as u64 + 1,
            message: self.message,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        match found {
            Unexpected::Unit => Self::new(format!("invalid type: null, expected {expected}")),
            found => Self::new(format!("invalid type: {found}, expected {expected}")),
        }
    }
}

/// What `serde_json` finds wrong when it scans a text that begins at this byte of the whole.
fn syntax(text: &str, why: &serde_json::Error) -> (String, usize) {
    let report = why.to_string();
    let place = format!(" at line {} column {}", why.line(), why.column());
    let line_start = text.split_inclusive('\n').take(why.line().saturating_sub(1)).map(str::len).sum::<usize>();
    // A column is that of the last byte that was read, from 1.
    let mut at = (line_start + why.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    (report.strip_suffix(place.as_str()).unwrap_or(&report).to_string(), at)
}

fn scan<'de, T: Deserialize<'de>>(text: &'de str, begins: usize) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|why| {
        let (message, at) = syntax(text, &why);
        Fault::new(message).within(begins + at)
    })
}

/// The members of an object, in their order.
struct Members<'de>(Vec<(Cow<'de, str>, &'de RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<'de>(PhantomData<&'de str>);
        impl<'de> Visitor<'de> for Members<'de> {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Text(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members(PhantomData)).map(Self)
    }
}

/// A string, borrowed where it has no escapes.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_string()))
            }
        }
        deserializer.deserialize_str(Text).map(Self)
    }
}

/// Where a part begins in the whole text, in bytes.
fn begins(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// One value: its raw text, inside the whole one.
#[derive(Clone, Copy)]
struct Value<'de> {
    whole: &'de str,
    raw: &'de str,
}

impl<'de> Value<'de> {
    fn begins(self) -> usize {
        begins(self.whole, self.raw)
    }

    fn scan<T: Deserialize<'de>>(self) -> Result<T, Fault> {
        scan(self.raw, self.begins())
    }

    /// Reads it with a seed; what is wrong with it is here.
    fn read<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self).map_err(|fault| fault.within(self.begins()))
    }

    fn first(self) -> u8 {
        self.raw.as_bytes().first().copied().unwrap_or_default()
    }

    /// It is not what is expected.
    fn is_no(self, expected: &dyn de::Expected) -> Fault {
        match self.deserialize_any(Refusing(expected)) {
            Ok(never) => match never {},
            Err(fault) => fault,
        }
    }

    /// The members of an object, one after the other.
    fn visit_object<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Members(members) = self.scan()?;
        visitor.visit_map(Object { whole: self.whole, members: members.into_iter(), value: None })
    }

    /// A whole number; the core reads no others.
    fn visit_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if let Ok(number) = self.raw.parse() {
            return visitor.visit_u64(number);
        }
        match self.raw.parse() {
            // Minus zero is a float in JSON.
            Ok(number) if number < 0 => visitor.visit_i64(number),
            _ => Err(Fault::invalid_type(Unexpected::Other(&format!("number `{}`", self.raw)), &visitor)),
        }
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.first() {
            b'{' => self.visit_object(visitor),
            b'[' => {
                let members: Vec<&RawValue> = self.scan()?;
                visitor.visit_seq(Array { whole: self.whole, members: members.into_iter(), index: 0 })
            }
            b'"' => match self.scan()? {
                Text(Cow::Borrowed(text)) => visitor.visit_borrowed_str(text),
                Text(Cow::Owned(text)) => visitor.visit_string(text),
            },
            b't' => visitor.visit_bool(true),
            b'f' => visitor.visit_bool(false),
            b'n' => visitor.visit_unit(),
            _ => self.visit_number(visitor),
        }
    }

    /// A struct is an object; unlike in serde_json no array can stand for it.
    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        if self.first() == b'{' { self.visit_object(visitor) } else { Err(self.is_no(&"an object")) }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.raw == "null" { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Fault> {
        // Free JSON is its text.
        if name == RAW_JSON { visitor.visit_borrowed_str(self.raw) } else { visitor.visit_newtype_struct(self) }
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        match self.first() {
            b'"' => {
                let Text(name) = self.scan()?;
                visitor.visit_enum(name.into_deserializer())
            }
            b'{' => {
                let Members(members) = self.scan()?;
                let whole = self.whole;
                match <[_; 1]>::try_from(members) {
                    Ok([(name, raw)]) => visitor.visit_enum(Variant { name, value: Self { whole, raw: raw.get() } }),
                    Err(_) => Err(Fault::invalid_value(Unexpected::Map, &"an object with one key")),
                }
            }
            _ => Err(self.is_no(&"a name")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier
    }
}

/// Takes nothing, and so says what it was given instead of what was expected.
struct Refusing<'a>(&'a dyn de::Expected);

impl Visitor<'_> for Refusing<'_> {
    type Value = Infallible;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An object whose members are read one after the other.
struct Object<'de> {
    whole: &'de str,
    members: vec::IntoIter<(Cow<'de, str>, &'de RawValue)>,
    /// The member whose key was read.
    value: Option<(Cow<'de, str>, &'de RawValue)>,
}

impl<'de> MapAccess<'de> for Object<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.members.next() else { return Ok(None) };
        let read = seed.deserialize(Key(&key)).map_err(|fault| {
            let fault = fault.in_field(&key);
            match &key {
                // A key with escapes is not where it was read from; the object is.
                Cow::Owned(_) => fault,
                Cow::Borrowed(text) => fault.within(begins(self.whole, text).saturating_sub(1)),
            }
        })?;
        self.value = Some((key, value));
        Ok(Some(read))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, value) = self.value.take().ok_or_else(|| Fault::custom("a value is read before its key"))?;
        Value { whole: self.whole, raw: value.get() }.read(seed).map_err(|fault| fault.in_field(&key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// An array whose members are read one after the other.
struct Array<'de> {
    whole: &'de str,
    members: vec::IntoIter<&'de RawValue>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Array<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(member) = self.members.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        Value { whole: self.whole, raw: member.get() }.read(seed).map(Some).map_err(|fault| fault.in_member(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// The key of a member: a string, or what its text stands for.
struct Key<'a>(&'a str);

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.parse() {
            Ok(number) => visitor.visit_u64(number),
            Err(_) => Err(Fault::invalid_type(Unexpected::Str(self.0), &visitor)),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map
        struct identifier ignored_any
    }
}

/// An enum's variant with what it holds: an object with one key.
struct Variant<'de> {
    name: Cow<'de, str>,
    value: Value<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Held<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Held<'de>), Fault> {
        let variant = seed.deserialize(Key(&self.name))?;
        Ok((variant, Held(self)))
    }
}

/// What a variant holds.
struct Held<'de>(Variant<'de>);

impl<'de> Held<'de> {
    fn read<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.0.value.read(seed).map_err(|fault| fault.in_field(&self.0.name))
    }
}

impl<'de> VariantAccess<'de> for Held<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        self.read(PhantomData)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        self.read(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.0.value.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.0.value.deserialize_any(visitor)
    }
}
