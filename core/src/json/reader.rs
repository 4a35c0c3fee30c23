//! Reading typed values with places: a serde deserializer over the raw parts of a text.
//!
//! `serde_json` scans an object or an array once into its raw members, and each member is read by its type when its turn comes. So whatever
//! is wrong with a value, its own code or serde's says so without knowing where, and the way back out adds the field and the place. The
//! code of a type is compiled once and parses nothing, which keeps the guests small.

use alloc::{
    borrow::Cow,
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
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

/// What is wrong, while the way out is still adding where. Boxed, since every value that is read could be one.
#[derive(Debug)]
struct Fault(Box<Report>);

#[derive(Debug)]
struct Report {
    message: String,
    /// The field, as far as it is known.
    path: String,
    /// The byte of the whole text at which it is.
    at: Option<usize>,
}

impl Fault {
    fn new(message: String) -> Self {
        Self(Box::new(Report { message, path: String::new(), at: None }))
    }

    /// It is in a value that begins at this byte, unless more is known.
    fn within(&mut self, at: usize) {
        self.0.at.get_or_insert(at);
    }

    /// It is in this member of an object.
    fn in_field(&mut self, key: &str) {
        let path = &self.0.path;
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        self.0.path = format!("{key}{dot}{path}");
    }

    /// It is in this member of an array.
    fn in_member(&mut self, index: usize) {
        self.in_field(&format!("[{index}]"));
    }

    fn in_text(self, text: &str) -> JsonError {
        let Report { message, path, at } = *self.0;
        let before = &text[..at.unwrap_or_default()];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        JsonError { path, line: before.matches('\n').count() as u64 + 1, column: (before.len() - line_start) as u64 + 1, message }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl core::error::Error for Fault {}

impl de::Error for Fault {
    #[inline(never)]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    #[inline(never)]
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
        let mut fault = Fault::new(message);
        fault.within(begins + at);
        fault
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

/// A whole number; the core reads no others.
enum Number {
    Unsigned(u64),
    Negative(i64),
}

// What does not depend on the type that is read is not inlined: it is there once, and not once for each type.
impl<'de> Value<'de> {
    fn begins(self) -> usize {
        begins(self.whole, self.raw)
    }

    /// Reads it with a seed; what is wrong with it is here.
    fn read<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        let mut read = seed.deserialize(self);
        if let Err(fault) = &mut read {
            fault.within(self.begins());
        }
        read
    }

    fn first(self) -> u8 {
        self.raw.as_bytes().first().copied().unwrap_or_default()
    }

    /// It is not what is expected.
    #[inline(never)]
    fn is_no(self, expected: &dyn de::Expected) -> Fault {
        match self.deserialize_any(Refusing(expected)) {
            Ok(never) => match never {},
            Err(fault) => fault,
        }
    }

    /// The members of an object.
    #[inline(never)]
    fn object(self, expected: &dyn de::Expected) -> Result<Object<'de>, Fault> {
        if self.first() != b'{' {
            return Err(self.is_no(expected));
        }
        let Members(members) = scan(self.raw, self.begins())?;
        Ok(Object { whole: self.whole, members, read: 0 })
    }

    /// The members of an array.
    #[inline(never)]
    fn array(self, expected: &dyn de::Expected) -> Result<Array<'de>, Fault> {
        if self.first() != b'[' {
            return Err(self.is_no(expected));
        }
        Ok(Array { whole: self.whole, members: scan(self.raw, self.begins())?, read: 0 })
    }

    #[inline(never)]
    fn text(self, expected: &dyn de::Expected) -> Result<Cow<'de, str>, Fault> {
        if self.first() != b'"' {
            return Err(self.is_no(expected));
        }
        scan(self.raw, self.begins()).map(|Text(text)| text)
    }

    #[inline(never)]
    fn number(self, expected: &dyn de::Expected) -> Result<Number, Fault> {
        if !matches!(self.first(), b'-' | b'0'..=b'9') {
            return Err(self.is_no(expected));
        }
        if let Ok(number) = self.raw.parse() {
            return Ok(Number::Unsigned(number));
        }
        match self.raw.parse() {
            // Minus zero is a float in JSON.
            Ok(number) if number < 0 => Ok(Number::Negative(number)),
            _ => Err(Fault::invalid_type(Unexpected::Other(&format!("number `{}`", self.raw)), expected)),
        }
    }

    fn visit_number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.number(&visitor)? {
            Number::Unsigned(number) => visitor.visit_u64(number),
            Number::Negative(number) => visitor.visit_i64(number),
        }
    }

    fn visit_text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.text(&visitor)? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }
}

/// Numbers of every width are read in one way.
macro_rules! numbers {
    ($($width:ident)*) => {
        $(fn $width<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.visit_number(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.first() {
            b'{' => self.deserialize_map(visitor),
            b'[' => self.deserialize_seq(visitor),
            b'"' => self.visit_text(visitor),
            b't' => visitor.visit_bool(true),
            b'f' => visitor.visit_bool(false),
            b'n' => visitor.visit_unit(),
            _ => self.visit_number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.raw {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(self.is_no(&visitor)),
        }
    }

    numbers! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit_text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.visit_text(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let array = self.array(&visitor)?;
        visitor.visit_seq(array)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let object = self.object(&visitor)?;
        visitor.visit_map(object)
    }

    /// A struct is an object; unlike in serde_json no array can stand for it.
    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(self.object(&"an object")?)
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
            b'"' => visitor.visit_enum(self.text(&"a name")?.into_deserializer()),
            _ => visitor.visit_enum(self.variant()?),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
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
    members: Vec<(Cow<'de, str>, &'de RawValue)>,
    /// How many keys were read; the value that is read next belongs to the last of them.
    read: usize,
}

impl<'de> Object<'de> {
    /// Goes on to the next member, if there is one.
    #[inline(never)]
    fn advance(&mut self) -> Option<Key<'_>> {
        let (key, _) = self.members.get(self.read)?;
        self.read += 1;
        Some(Key(key))
    }

    #[inline(never)]
    fn value(&self) -> Result<Value<'de>, Fault> {
        let member = self.read.checked_sub(1).and_then(|last| self.members.get(last));
        let (_, raw) = member.ok_or_else(|| Fault::custom("a value is read before its key"))?;
        Ok(Value { whole: self.whole, raw: raw.get() })
    }

    /// The key of the last member is wrong.
    #[cold]
    fn in_key(&self, fault: &mut Fault) {
        let Some((key, _)) = self.members.get(self.read - 1) else { return };
        fault.in_field(key);
        // A key with escapes is not where it was read from; the object is.
        if let Cow::Borrowed(text) = key {
            fault.within(begins(self.whole, text).saturating_sub(1));
        }
    }

    /// The value of the last member is wrong.
    #[cold]
    fn in_value(&self, fault: &mut Fault) {
        let Some((key, raw)) = self.members.get(self.read - 1) else { return };
        fault.within(begins(self.whole, raw.get()));
        fault.in_field(key);
    }
}

impl<'de> MapAccess<'de> for Object<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(key) = self.advance() else { return Ok(None) };
        match seed.deserialize(key) {
            Ok(read) => Ok(Some(read)),
            Err(mut fault) => {
                self.in_key(&mut fault);
                Err(fault)
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let mut read = seed.deserialize(self.value()?);
        if let Err(fault) = &mut read {
            self.in_value(fault);
        }
        read
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len() - self.read)
    }
}

/// An array whose members are read one after the other.
struct Array<'de> {
    whole: &'de str,
    members: Vec<&'de RawValue>,
    read: usize,
}

impl<'de> Array<'de> {
    /// Goes on to the next member, if there is one.
    #[inline(never)]
    fn advance(&mut self) -> Option<Value<'de>> {
        let raw = self.members.get(self.read)?.get();
        self.read += 1;
        Some(Value { whole: self.whole, raw })
    }

    /// The last member is wrong.
    #[cold]
    fn in_member(&self, member: Value<'de>, fault: &mut Fault) {
        fault.within(member.begins());
        fault.in_member(self.read - 1);
    }
}

impl<'de> SeqAccess<'de> for Array<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(member) = self.advance() else { return Ok(None) };
        match seed.deserialize(member) {
            Ok(read) => Ok(Some(read)),
            Err(mut fault) => {
                self.in_member(member, &mut fault);
                Err(fault)
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len() - self.read)
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
struct Variant<'de>(Object<'de>);

impl<'de> Value<'de> {
    #[inline(never)]
    fn variant(self) -> Result<Variant<'de>, Fault> {
        let object = self.object(&"a name")?;
        if object.members.len() != 1 {
            return Err(Fault::invalid_value(Unexpected::Map, &"an object with one key"));
        }
        Ok(Variant(object))
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(mut self, seed: V) -> Result<(V::Value, Self), Fault> {
        // INVARIANT: `Value::variant` made it of an object with one member.
        let key = self.0.advance().unwrap_or(Key(""));
        let variant = seed.deserialize(key)?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        self.newtype_variant_seed(PhantomData)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(mut self, seed: T) -> Result<T::Value, Fault> {
        self.0.next_value_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.0.value()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.0.value()?.deserialize_any(visitor)
    }
}
