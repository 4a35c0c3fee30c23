//! Tagged JSON in two steps: the tag first, then the typed struct from the same text, so that an error keeps its place.
//!
//! Serde's own internally tagged enums buffer the value before they know its type; what they report then has no line or column, and
//! numbers go through a representation that depends on cargo features. So reading is done here, by one table per vocabulary.

use alloc::{format, string::String};
use core::fmt::{self, Write as _};

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
                struct Name(&'static str);
                impl<'de> serde::Deserialize<'de> for Name {
                    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        let given = alloc::string::String::deserialize(deserializer)?;
                        $Name::NAMES
                            .iter()
                            .find(|known| **known == given)
                            .map(|known| Self(known))
                            .ok_or_else(|| serde::de::Error::unknown_variant(&given, $Name::NAMES))
                    }
                }
                let tagged: Tagged = $crate::json::read(text)?;
                match tagged.name.0 {
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

/// Declares a closed set of names: unit variants in snake case on the wire, PascalCase in the reference runtime's evidence strings.
macro_rules! names {
    ($( $(#[$meta:meta])* pub enum $Name:ident { $( $(#[$doc:meta])* $Variant:ident ),* $(,)? } )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum $Name { $( $(#[$doc])* $Variant, )* }

        impl $Name {
            /// All of them, in the order in which they are declared.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];
        }

        impl core::fmt::Display for $Name {
            /// The name on the wire.
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $crate::tagged::snake_case(&alloc::format!("{self:?}"), f)
            }
        }
    )*};
}

/// Writes a PascalCase name in snake case, as serde's `rename_all` does.
pub(crate) fn snake_case(name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 {
            f.write_char('_')?;
        }
        f.write_char(c.to_ascii_lowercase())?;
    }
    Ok(())
}

/// The value that a tagged object must have in this field.
pub(crate) fn required<T>(value: Option<T>, field: &str, of: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("missing field `{field}` of `{of}`"))
}

pub(crate) use {names, read_through, vocabulary};
