//! Flat structs of optional fields: what lines, turns and moves are read through.
//!
//! A move is known by its verb, and which fields go with it depends on the verb. Serde's tagged
//! enums would lose the place of an error, so all fields that some move has are read first, with
//! unknown ones refused where they stand; then each verb takes what is its own.

/// Declares a struct of optional fields; a field that is not declared is an error at its place.
macro_rules! fields {
    ($(#[$meta:meta])* $Name:ident { $( $field:ident: $Type:ty, )* }) => {
        $(#[$meta])*
        #[derive(Default, wakeful_json::Readable)]
        #[serde(deny_unknown_fields)]
        struct $Name { $( $field: Option<$Type>, )* }

        impl $Name {
            /// What was read, unless a field is left that `verb` does not take.
            fn done<T>(&self, verb: &str, read: T) -> Result<T, alloc::string::String> {
                let left = None $( .or_else(|| self.$field.is_some().then_some(stringify!($field))) )*;
                match left {
                    Some(field) => Err(alloc::format!("`{field}` does not go with `{verb}`")),
                    None => Ok(read),
                }
            }
        }
    };
}

pub(super) use fields;
