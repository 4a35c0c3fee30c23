//! Parses the serde attributes that affect reading.

use syn::{Attribute, LitStr, Path, Type, parse::ParseStream, token};

/// The attributes of a type.
#[derive(Default)]
pub(crate) struct OfType {
    /// Absent fields take their values from the type's `Default`.
    pub(crate) default: bool,
    /// Unknown fields are an error.
    pub(crate) closed: bool,
    /// Variant names are in snake case.
    pub(crate) snake_case: bool,
    /// Read this type first, then convert it with `TryFrom`.
    pub(crate) try_from: Option<Type>,
}

/// The attributes of a field or a variant.
#[derive(Default)]
pub(crate) struct OfField {
    /// The name in JSON, if it differs from the Rust name.
    pub(crate) name: Option<String>,
    /// Aliases that are read as well.
    pub(crate) also: Vec<String>,
    /// What an absent field becomes.
    pub(crate) default: Absent,
    /// The fields of this field's type are in the surrounding object.
    pub(crate) flatten: bool,
    /// Never read: the field always gets its default.
    pub(crate) skip: bool,
}

/// What an absent field becomes.
#[derive(Default)]
pub(crate) enum Absent {
    /// `None` for an `Option`, otherwise an error.
    #[default]
    Type,
    /// The default of its type.
    Default,
    /// The value that this function returns.
    Of(Path),
}

impl OfType {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut read = Self::default();
        each(attributes, |word, input| {
            match word {
                "default" => read.default = true,
                "deny_unknown_fields" => read.closed = true,
                "try_from" => read.try_from = Some(value(input)?.parse()?),
                "rename_all" if value(input)?.value() == "snake_case" => read.snake_case = true,
                // A struct with one unnamed field is read as that field in any case.
                "transparent" => {}
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(read)
    }
}

impl OfField {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut read = Self::default();
        each(attributes, |word, input| {
            match word {
                "default" if input.peek(token::Eq) => {
                    read.default = Absent::Of(value(input)?.parse()?)
                }
                "default" => read.default = Absent::Default,
                "rename" => read.name = Some(value(input)?.value()),
                "alias" => read.also.push(value(input)?.value()),
                "flatten" => read.flatten = true,
                "skip" => read.skip = true,
                // Only writing uses it, but the parser must still consume its value.
                "skip_serializing_if" => drop(value(input)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(read)
    }
}

/// Hands each word of the serde attributes to `take`. A word that `take` refuses is an error:
/// ignored, it would make reading differ from serde's writing.
fn each(
    attributes: &[Attribute],
    mut take: impl FnMut(&str, ParseStream<'_>) -> syn::Result<bool>,
) -> syn::Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if take(&word, meta.input)? {
                Ok(())
            } else {
                Err(meta.error(format!("`Readable` does not know `{word}`")))
            }
        })?;
    }
    Ok(())
}

fn value(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<token::Eq>()?;
    input.parse()
}
