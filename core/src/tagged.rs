//! Tagged JSON in two steps: the tag first, then the typed struct from the same text, so that an error keeps its place.
//!
//! Serde's own internally tagged enums buffer the value before they know its type; what they report then has no line or column, and
//! numbers go through a representation that depends on cargo features. So reading is done here, by one table per vocabulary.

use alloc::{format, string::String};
use core::fmt;

use serde::{
    Deserializer,
    de::{Error as _, Visitor},
};

/// Declares a vocabulary: an enum of newtype variants, written with its tag first and read by [`decode`](#method.decode).
macro_rules! vocabulary {
    (
        tag $tag:literal;
        $(#[$meta:meta])*
        pub enum $Name:ident { $( $(#[$doc:meta])* $wire:literal => $Variant:ident($Payload:ty), )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = $tag)]
        // A value of a vocabulary lives on the stack for one call; boxing its largest payload would buy nothing.
        #[allow(clippy::large_enum_variant)]
        pub enum $Name {
            $( $(#[$doc])* #[serde(rename = $wire)] $Variant($Payload), )*
        }

        impl $Name {
            /// The names of this vocabulary, in the order of the contract.
            pub const NAMES: &'static [&'static str] = &[$($wire),*];

            /// The name under which this value is written.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $( Self::$Variant(_) => $wire, )* }
            }

            /// Reads one value: first the tag, then, by that name, the rest.
            ///
            /// # Errors
            /// Text that is not JSON, an unknown name, a missing or ill-typed field: with field, line and column (contract 2.3).
            pub fn decode(text: &str) -> Result<Self, $crate::json::JsonError> {
                #[derive(serde::Deserialize)]
                struct Tagged {
                    #[serde(rename = $tag)]
                    name: Name,
                }
                struct Name(usize);
                impl<'de> serde::Deserialize<'de> for Name {
                    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        $crate::tagged::read_name(deserializer, $Name::NAMES, &[]).map(Self)
                    }
                }
                let tagged: Tagged = $crate::json::read(text)?;
                match $Name::NAMES[tagged.name.0] {
                    $( $wire => $crate::json::read::<$Payload>(text).map(Self::$Variant), )*
                    // INVARIANT: `Name` yields nothing but the names above.
                    other => unreachable!("`{other}` is in NAMES without a decoder"),
                }
            }
        }
    };
}

/// Implements `Deserialize` for an enum by reading a flat struct of all its fields first: no buffering, so places stay true.
macro_rules! read_through {
    ($Enum:ty, $Fields:ty) => {
        impl<'de> serde::Deserialize<'de> for $Enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$Fields as serde::Deserialize>::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Declares a closed set of names: unit variants, on the wire in snake case or as `= "..."` says, and read from what stands after `|` too.
macro_rules! names {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $Name:ident { $( $(#[$doc:meta])* $Variant:ident $(= $wire:literal)? $(| $also:literal)* ),* $(,)? }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename_all = "snake_case"))]
        $vis enum $Name { $( $(#[$doc])* $(#[cfg_attr(feature = "schema", schemars(rename = $wire))])? $Variant, )* }

        impl $Name {
            /// All of them, in the order in which they are declared.
            $vis const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// Their names on the wire, in the same order.
            $vis const NAMES: &'static [&'static str] = &[$($crate::tagged::wire!($Variant $($wire)?)),*];

            /// The name on the wire.
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl core::fmt::Display for $Name {
            /// The name on the wire.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let also: &[(&str, usize)] = &[$($(($also, Self::$Variant as usize),)*)*];
                $crate::tagged::read_name(deserializer, Self::NAMES, also).map(|index| Self::ALL[index])
            }
        }
    )*};
}

/// The name of a variant on the wire: the given one, or its own in snake case.
macro_rules! wire {
    ($Variant:ident) => {{
        const NAME: &str = stringify!($Variant);
        const TEXT: [u8; $crate::tagged::snake_case_length(NAME)] = $crate::tagged::snake_case(NAME);
        match core::str::from_utf8(&TEXT) {
            Ok(text) => text,
            Err(_) => panic!("a name is ASCII"),
        }
    }};
    ($Variant:ident $wire:literal) => {
        $wire
    };
}

/// How long a PascalCase name is in snake case.
pub(crate) const fn snake_case_length(name: &str) -> usize {
    let bytes = name.as_bytes();
    let mut length = bytes.len();
    let mut at = 1;
    while at < bytes.len() {
        length += bytes[at].is_ascii_uppercase() as usize;
        at += 1;
    }
    length
}

/// A PascalCase name in snake case, as serde's `rename_all` makes it.
pub(crate) const fn snake_case<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let bytes = name.as_bytes();
    let mut out = [b'_'; LENGTH];
    let (mut from, mut to) = (0, 0);
    while from < bytes.len() {
        if from > 0 && bytes[from].is_ascii_uppercase() {
            to += 1;
        }
        out[to] = bytes[from].to_ascii_lowercase();
        (from, to) = (from + 1, to + 1);
    }
    out
}

/// Reads one of these names, or of those that stand for one; answers its place.
#[inline(never)]
pub(crate) fn read_name<'de, D: Deserializer<'de>>(
    deserializer: D,
    names: &'static [&'static str],
    also: &[(&str, usize)],
) -> Result<usize, D::Error> {
    struct Name;
    impl Visitor<'_> for Name {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a name")
        }

        fn visit_str<E>(self, text: &str) -> Result<String, E> {
            Ok(text.into())
        }
    }

    let given = deserializer.deserialize_str(Name)?;
    let known = names.iter().position(|name| *name == given);
    let meant = known.or_else(|| also.iter().find(|(name, _)| *name == given).map(|(_, index)| *index));
    meant.ok_or_else(|| D::Error::unknown_variant(&given, names))
}

/// The value that a tagged object must have in this field.
pub(crate) fn required<T>(value: Option<T>, field: &str, of: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("missing field `{field}` of `{of}`"))
}

pub(crate) use {names, read_through, vocabulary, wire};
