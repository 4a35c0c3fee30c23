//! Reads tagged JSON in two steps: the tag first, then the typed struct from the same text, so that
//! an error keeps its place.
//!
//! Serde's own internally tagged enums buffer the value before they know its type. Their errors
//! have no line or column, and their numbers depend on cargo features. So reading is done here,
//! with one table per vocabulary.

use alloc::{format, string::String};

/// Declares a vocabulary: an enum of newtype variants, written with its tag first. `decode` reads
/// it.
macro_rules! vocabulary {
    (
        tag $tag:literal;
        $(#[$meta:meta])*
        pub enum $Name:ident {
            $( $(#[$doc:meta])* $wire:literal => $Variant:ident($Payload:ty), )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = $tag))]
        // A value lives on the stack for one call, so boxing the largest payload would gain
        // nothing.
        #[allow(clippy::large_enum_variant)]
        pub enum $Name {
            $(
                $(#[$doc])*
                #[cfg_attr(feature = "schema", schemars(rename = $wire))]
                $Variant($Payload),
            )*
        }

        // Not serde's derive. It would write each payload with separate code, and a guest would
        // carry each variant's Rust name besides its wire name.
        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                struct Payload<'a>(&'a $Name);

                impl serde::Serialize for Payload<'_> {
                    fn serialize<S: serde::Serializer>(
                        &self,
                        serializer: S,
                    ) -> Result<S::Ok, S::Error> {
                        match self.0 {
                            $( $Name::$Variant(payload) => payload.serialize(serializer), )*
                        }
                    }
                }

                wakeful_json::RawJson::tagged($tag, self.name(), &Payload(self))
                    .serialize(serializer)
            }
        }

        impl $Name {
            /// The names of this vocabulary, in the order of the contract.
            pub const NAMES: &'static [&'static str] = &[$($wire),*];

            /// The name on the wire.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $( Self::$Variant(_) => $wire, )* }
            }

            /// Reads one value: the tag first, then the payload that the tag selects.
            ///
            /// # Errors
            /// If the text is not JSON, the name is unknown, or a field is missing or has the wrong
            /// type. The error has the field, line and column (contract 2.3).
            pub fn decode(text: &str) -> Result<Self, wakeful_json::JsonError> {
                wakeful_json::read(text)
            }
        }

        impl wakeful_json::Readable for $Name {
            fn read(value: &wakeful_json::Value<'_>) -> Self {
                static TAG: wakeful_json::Shape =
                    wakeful_json::Shape { names: $tag, count: 1, also: &[], closed: false };
                // `tagged` returns a place in `NAMES`, and this list has one function per name, in
                // that order.
                const WAYS: &[fn(&wakeful_json::Value<'_>) -> $Name] =
                    &[$(|value| $Name::$Variant(wakeful_json::Readable::read(value))),*];
                let (place, rest) = value.tagged(&TAG, Self::NAMES);
                WAYS[place](&rest)
            }
        }
    };
}

/// Reads an enum through a flat struct of all its fields. Nothing is buffered, so error places stay
/// exact. `$blank` is returned after an error.
macro_rules! read_through {
    ($Enum:ty, $Fields:ty, $blank:expr) => {
        impl wakeful_json::Readable for $Enum {
            fn read(value: &wakeful_json::Value<'_>) -> Self {
                <$Fields as wakeful_json::Readable>::read(value).try_into().unwrap_or_else(
                    |why: alloc::string::String| {
                        value.is_wrong(&why);
                        $blank
                    },
                )
            }
        }

        wakeful_json::through_readable!($Enum);
    };
}

/// Declares a closed set of names as an enum of unit variants. The wire name is the variant in
/// snake case, or what `= "..."` gives. Names after `|` are read as well.
macro_rules! names {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $Name:ident {
            $( $(#[$doc:meta])* $Variant:ident $(= $wire:literal)? $(| $also:literal)* ),*
            $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(
            feature = "schema",
            derive(schemars::JsonSchema),
            schemars(rename_all = "snake_case")
        )]
        $vis enum $Name {
            $(
                $(#[$doc])*
                $(#[cfg_attr(feature = "schema", schemars(rename = $wire))])?
                $Variant,
            )*
        }

        impl $Name {
            /// All values, in the order of their declaration.
            $vis const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// The wire names, in the same order.
            $vis const NAMES: &'static [&'static str] =
                &[$($crate::tagged::wire!($Variant $($wire)?)),*];

            /// The name on the wire.
            #[must_use]
            $vis const fn as_str(self) -> &'static str {
                // No variant sets a number, so the number of a variant is the place of its name.
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

        impl wakeful_json::Readable for $Name {
            fn read(value: &wakeful_json::Value<'_>) -> Self {
                const ALSO: &[(&str, usize)] = &[$($(($also, $Name::$Variant as usize),)*)*];
                Self::ALL[value.name(Self::NAMES, ALSO)]
            }
        }

        wakeful_json::through_readable!($Name);
    )*};
}

/// The wire name of a variant: the given one, or its own in snake case.
macro_rules! wire {
    ($Variant:ident) => {{
        const NAME: &str = stringify!($Variant);
        const TEXT: [u8; $crate::tagged::snake_case_length(NAME)] =
            $crate::tagged::snake_case(NAME);
        // This runs in the compiler, so a panic stops the build and not the program.
        match core::str::from_utf8(&TEXT) {
            Ok(text) => text,
            Err(_) => panic!("a name is ASCII"),
        }
    }};
    ($Variant:ident $wire:literal) => {
        $wire
    };
}

/// The length of a PascalCase name in snake case.
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

/// The value of an optional field that this variant requires.
pub(crate) fn required<T>(value: Option<T>, field: &str, of: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("missing field `{field}` of `{of}`"))
}

pub(crate) use {names, read_through, vocabulary, wire};
