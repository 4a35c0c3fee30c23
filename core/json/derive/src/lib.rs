//! `#[derive(Readable)]`: how a type is read from JSON, as the attributes that serde knows say it.
//!
//! What serde derives is code for each type: a visitor, a match over names, a slot for each field,
//! errors for each. A guest would carry all of it. What is derived here is a table of names and a
//! call for each field, and all else is written once, in `wakeful-json`. The attributes are serde's
//! own, since the JSON Schema and the writing of the same type follow them too.

mod attributes;
mod shape;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `wakeful_json::Readable`, and with it serde's `Deserialize`, which goes through it.
///
/// For structs: with named fields, of one field, and of none. Of serde's attributes it knows
/// `default`, `rename`, `alias`, `skip` and `flatten` of fields, and `default`,
/// `deny_unknown_fields` and `try_from` of a struct; with `try_from` the struct needs a `Default`,
/// which stands for what cannot be read. An enum is its names: unit variants, with `rename` and
/// `rename_all = "snake_case"`.
#[proc_macro_derive(Readable, attributes(serde))]
pub fn readable(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    shape::readable(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
