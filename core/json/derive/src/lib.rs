//! `#[derive(Readable)]`: reads a type from JSON as its serde attributes say.
//!
//! Serde derives code for each type: a visitor, a match over names, a slot and errors for each
//! field. A guest would carry all of it. This derive makes a table of names and one call per field;
//! `wakeful-json` has the rest once. It uses serde's own attributes because the type's JSON Schema
//! and its writing follow them too.

mod attributes;
mod shape;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `wakeful_json::Readable`, and serde's `Deserialize` on top of it.
///
/// A struct needs named fields, or exactly one field. Its fields may have serde's `default`,
/// `rename`, `alias`, `skip` and `flatten`. The struct itself may have `default`,
/// `deny_unknown_fields` and `try_from`. With `try_from` it needs a `Default`, which replaces a
/// value that cannot be converted.
///
/// An enum needs unit variants only. It may have `rename` and `rename_all = "snake_case"`.
#[proc_macro_derive(Readable, attributes(serde))]
pub fn readable(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    shape::readable(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
