//! Generates the code of a type: a table of its names, and one call per field.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DataEnum, DeriveInput, Error, Field, Fields, Ident, Type, ext::IdentExt};

use crate::attributes::{Absent, OfField, OfType};

/// The implementations of `Readable` and `Deserialize`.
pub(crate) fn readable(input: &DeriveInput) -> syn::Result<TokenStream> {
    let of_type = OfType::read(&input.attrs)?;
    let body = match &input.data {
        _ if of_type.try_from.is_some() => made_of(&of_type),
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => structure(&of_type, fields.named.iter())?,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                quote! { Self(::wakeful_json::Readable::read(value)) }
            }
            _ => {
                return Err(Error::new_spanned(
                    &input.ident,
                    "`Readable` needs a struct with named fields, or with one field",
                ));
            }
        },
        Data::Enum(data) => names(&of_type, data)?,
        Data::Union(_) => {
            return Err(Error::new_spanned(&input.ident, "`Readable` cannot read a union"));
        }
    };
    Ok(implementations(input, &body))
}

fn implementations(input: &DeriveInput, body: &TokenStream) -> TokenStream {
    let name = &input.ident;
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(syn::parse_quote!(::wakeful_json::Readable));
    }
    let parameters = &generics.params;
    let (of, types, bounds) = generics.split_for_impl();
    quote! {
        impl #of ::wakeful_json::Readable for #name #types #bounds {
            fn read(value: &::wakeful_json::Value<'_>) -> Self {
                #body
            }
        }

        impl<'de, #parameters> ::wakeful_json::serde::Deserialize<'de> for #name #types #bounds {
            fn deserialize<D: ::wakeful_json::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                ::wakeful_json::deserialize(deserializer)
            }
        }
    }
}

/// Reads the type of `try_from` and converts it.
fn made_of(of_type: &OfType) -> TokenStream {
    let other = &of_type.try_from;
    quote! {
        let made = <Self as ::core::convert::TryFrom<#other>>::try_from(
            ::wakeful_json::Readable::read(value),
        );
        made.unwrap_or_else(|why| {
            value.is_wrong(&why);
            ::core::default::Default::default()
        })
    }
}

fn structure<'a>(
    of_type: &OfType,
    fields: impl Iterator<Item = &'a Field>,
) -> syn::Result<TokenStream> {
    let (mut names, mut also, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for field in fields {
        let of_field = OfField::read(&field.attrs)?;
        let ident = field
            .ident
            .as_ref()
            .ok_or_else(|| Error::new_spanned(field, "a field without a name"))?;
        let read = if of_field.skip {
            quote! { ::core::default::Default::default() }
        } else if of_field.flatten {
            quote! { ::wakeful_json::Readable::read(value) }
        } else {
            let index = names.len();
            also.extend(of_field.also.iter().map(|also| quote! { (#also, #index) }));
            names.push(of_field.name.clone().unwrap_or_else(|| ident.unraw().to_string()));
            match &of_field.default {
                _ if of_type.default => quote! { fields.next_or(default.#ident) },
                Absent::Type => quote! { fields.next() },
                // An absent `Option` is `None` anyway, so it needs no code for the default.
                Absent::Default if is_option(&field.ty) => quote! { fields.next() },
                Absent::Default => quote! { fields.next_or_default() },
                Absent::Of(function) => quote! { fields.next_or_else(#function) },
            }
        };
        reads.push(quote! { #ident: #read });
    }
    let closed = of_type.closed;
    let (names, count) = (names.join(","), names.len());
    let default = of_type
        .default
        .then(|| quote! { let default: Self = ::core::default::Default::default(); });
    Ok(quote! {
        static SHAPE: ::wakeful_json::Shape = ::wakeful_json::Shape {
            names: #names,
            count: #count,
            also: &[#(#also),*],
            closed: #closed,
        };
        #default
        // A struct without fields uses neither.
        #[allow(unused_mut, unused_variables)]
        let mut fields = value.fields(&SHAPE);
        Self { #(#reads),* }
    })
}

fn is_option(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "Option")
    )
}

fn names(of_type: &OfType, data: &DataEnum) -> syn::Result<TokenStream> {
    let (mut names, mut variants) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(
                variant,
                "`Readable` needs an enum whose variants have no fields",
            ));
        }
        let said = OfField::read(&variant.attrs)?.name;
        names.push(said.unwrap_or_else(|| {
            if of_type.snake_case { snake_case(&variant.ident) } else { variant.ident.to_string() }
        }));
        variants.push(&variant.ident);
    }
    let Some((last, before)) = variants.split_last() else {
        return Err(Error::new_spanned(&data.variants, "`Readable` needs an enum with a variant"));
    };
    // The last variant is the catch-all of the match: `name` never returns a greater place.
    let places = 0..before.len();
    Ok(quote! {
        match value.name(&[#(#names),*], &[]) {
            #(#places => Self::#before,)*
            _ => Self::#last,
        }
    })
}

fn snake_case(name: &Ident) -> String {
    let mut snake = String::new();
    for letter in name.to_string().chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
