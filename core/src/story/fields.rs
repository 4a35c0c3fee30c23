//! Flat structs of optional fields, through which lines and moves are read.
//!
//! The verb of a move decides which other fields it may have. Serde's tagged enums would lose the
//! place of an error. So the fields of all moves are read first, and an unknown one is an error at
//! its place. Then each verb takes its own fields.

/// Declares a struct of optional fields. An undeclared field is an error at its place.
macro_rules! fields {
    ($(#[$meta:meta])* $Name:ident { $( $field:ident: $Type:ty, )* }) => {
        $(#[$meta])*
        #[derive(Default, wakeful_json::Readable)]
        #[serde(deny_unknown_fields)]
        struct $Name { $( $field: Option<$Type>, )* }

        impl $Name {
            /// Returns `read`, unless a field is left that `verb` does not take.
            fn done<T>(&self, verb: &str, read: T) -> Result<T, alloc::string::String> {
                let left = None
                    $( .or_else(|| self.$field.is_some().then_some(stringify!($field))) )*;
                match left {
                    Some(field) => Err(alloc::format!("`{field}` does not go with `{verb}`")),
                    None => Ok(read),
                }
            }
        }
    };
}

pub(super) use fields;
