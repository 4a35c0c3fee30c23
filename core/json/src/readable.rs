//! The trait of types that are read from JSON, and its implementations for the standard library.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use core::num::NonZeroU64;

use serde::{Deserialize, Deserializer, de::Error};

use super::{RawJson, Value};
use crate::map::Map;

/// A type that [`read`](super::read) reads from JSON. Implement it with `#[derive(Readable)]`.
pub trait Readable: Sized {
    /// Whether a field of this type may be absent.
    const OPTIONAL: bool = false;

    /// Reads the type from a value. An error is noted in the reader; the value returned then is
    /// blank and never leaves the reader.
    fn read(value: &Value<'_>) -> Self;
}

/// Reads a typed value through serde: its text is read as [`read`](super::read) reads it.
///
/// # Errors
/// If the text is not JSON or not of that type, as an error of the deserializer.
pub fn deserialize<'de, T: Readable, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    RawJson::deserialize(deserializer)?.read().map_err(D::Error::custom)
}

/// Implements serde's `Deserialize` for a type that implements [`Readable`] by hand.
#[macro_export]
macro_rules! through_readable {
    ($Type:ty) => {
        impl<'de> $crate::serde::Deserialize<'de> for $Type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                $crate::deserialize(deserializer)
            }
        }
    };
}

impl<T: Readable> Readable for Option<T> {
    const OPTIONAL: bool = true;

    fn read(value: &Value<'_>) -> Self {
        if value.is_none() { None } else { Some(T::read(value)) }
    }
}

impl<T: Readable> Readable for Box<T> {
    const OPTIONAL: bool = T::OPTIONAL;

    fn read(value: &Value<'_>) -> Self {
        Self::new(T::read(value))
    }
}

impl<T: Readable> Readable for Vec<T> {
    fn read(value: &Value<'_>) -> Self {
        let mut items = value.items("a sequence");
        let mut read = Self::new();
        while let Some(item) = items.next() {
            read.push(T::read(&item));
        }
        read
    }
}

impl<K: Readable + Ord, T: Readable> Readable for BTreeMap<K, T> {
    fn read(value: &Value<'_>) -> Self {
        let mut members = value.members("a map");
        let mut read = Self::new();
        while let Some((key, value)) = members.next() {
            read.insert(K::read(&key), T::read(&value));
        }
        read
    }
}

impl<K: Readable + Ord, V: Readable> Readable for Map<K, V> {
    fn read(value: &Value<'_>) -> Self {
        let mut members = value.members("a map");
        let mut read = Self::new();
        while let Some((key, value)) = members.next() {
            read.insert(K::read(&key), V::read(&value));
        }
        read
    }
}

impl<T: Readable + Ord> Readable for BTreeSet<T> {
    fn read(value: &Value<'_>) -> Self {
        let mut items = value.items("a sequence");
        let mut read = Self::new();
        while let Some(item) = items.next() {
            read.insert(T::read(&item));
        }
        read
    }
}

impl<A: Readable, B: Readable> Readable for (A, B) {
    fn read(value: &Value<'_>) -> Self {
        let mut items = value.pair();
        let first = A::read(&items.next_or_blank());
        (first, B::read(&items.next_or_blank()))
    }
}

impl Readable for String {
    fn read(value: &Value<'_>) -> Self {
        value.text("a string").into_owned()
    }
}

impl Readable for bool {
    fn read(value: &Value<'_>) -> Self {
        value.boolean()
    }
}

/// Reads unsigned numbers of every width through one function.
macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Readable for $number {
            fn read(value: &Value<'_>) -> Self {
                // `unsigned` returns at most this, so the conversion cannot fail.
                $number::try_from(
                    value.unsigned(stringify!($number), $number::MAX.into()),
                )
                .unwrap_or_default()
            }
        }
    )*};
}

numbers! { u8 u16 u32 u64 }

impl Readable for usize {
    fn read(value: &Value<'_>) -> Self {
        Self::try_from(value.unsigned("usize", Self::MAX as u64)).unwrap_or_default()
    }
}

macro_rules! signed_numbers {
    ($($number:ident)*) => {$(
        impl Readable for $number {
            fn read(value: &Value<'_>) -> Self {
                $number::try_from(
                    value.signed(stringify!($number), $number::MIN.into()..=$number::MAX.into()),
                )
                .unwrap_or_default()
            }
        }
    )*};
}

signed_numbers! { i32 i64 }

impl Readable for NonZeroU64 {
    fn read(value: &Value<'_>) -> Self {
        // Zero was noted as an error, and this value never leaves the reader.
        Self::new(value.nonzero()).unwrap_or(Self::MIN)
    }
}
