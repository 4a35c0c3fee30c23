//! The attributes of serde that say how something is read.

use syn::{Attribute, LitStr, Path, Type, parse::ParseStream, token};

/// What is said about a type.
#[derive(Default)]
pub(crate) struct OfType {
    /// Fields that are not there are those of the type's default.
    pub(crate) default: bool,
    /// Only fields that it has may be there.
    pub(crate) closed: bool,
    /// The names of an enum are in snake case.
    pub(crate) snake_case: bool,
    /// It is made of another type.
    pub(crate) try_from: Option<Type>,
}

/// What is said about a field or a variant.
#[derive(Default)]
pub(crate) struct OfField {
    /// Its name in the text.
    pub(crate) name: Option<String>,
    /// Other names that are read as it.
    pub(crate) also: Vec<String>,
    /// What it is where it is not there.
    pub(crate) default: Absent,
    /// Its fields are those of the object that it stands in.
    pub(crate) flatten: bool,
    /// It is not in the text.
    pub(crate) skip: bool,
}

/// What a field is where it is not there.
#[derive(Default)]
pub(crate) enum Absent {
    /// What its type says: none for what is optional, and otherwise an error.
    #[default]
    Type,
    /// The default of its type.
    Default,
    /// What this function gives.
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
                "skip_serializing_if" => drop(value(input)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(read)
    }
}

/// Takes each word of serde's attributes; one that is not taken is an error, since it would be read
/// otherwise than it is written.
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
                Err(meta.error(format!("`{word}` is not known to `Readable`")))
            }
        })?;
    }
    Ok(())
}

fn value(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<token::Eq>()?;
    input.parse()
}
