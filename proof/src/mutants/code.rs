//! A stamp of the code of a file, which stays the same if the file moves.
//!
//! Comments, layout and `use` lines do not count: they have no mutants, and a move of other files
//! changes them.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use xtask::stamp;

/// The stamp of a file's code, or of its whole text if it is not Rust.
pub(super) fn stamp_of(text: &str) -> String {
    let mut words = String::new();
    match TokenStream::from_str(text) {
        Ok(tokens) => write(tokens, &mut words),
        Err(_) => text.clone_into(&mut words),
    }
    stamp::of_text(&words)
}

fn write(tokens: TokenStream, words: &mut String) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        at = write_one(&tokens, at, words);
    }
}

/// Writes the item at a token. Returns the place of the next one.
fn write_one(tokens: &[TokenTree], at: usize, words: &mut String) -> usize {
    match &tokens[at] {
        // `impl Trait + use<'a>` is not an import.
        TokenTree::Ident(word) if word == "use" && !is_mark(tokens.get(at + 1), '<') => {
            return tokens[at..]
                .iter()
                .position(|token| is_mark(Some(token), ';'))
                .map_or(tokens.len(), |end| at + end + 1);
        }
        TokenTree::Punct(mark) if mark.as_char() == '#' => {
            let inner = usize::from(is_mark(tokens.get(at + 1), '!'));
            if is_comment(tokens.get(at + 1 + inner)) {
                return at + 2 + inner;
            }
            words.push('#');
        }
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            words.push_str(open);
            write(group.stream(), words);
            words.push_str(close);
        }
        // rustfmt writes a trailing comma only if the items are on several lines.
        TokenTree::Punct(mark) if mark.as_char() == ',' && at + 1 == tokens.len() => {}
        TokenTree::Punct(mark) => words.push(mark.as_char()),
        other => {
            words.push_str(&other.to_string());
            words.push(' ');
        }
    }
    at + 1
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(it)) if it.as_char() == mark)
}

/// A doc comment is an attribute at this point.
fn is_comment(attribute: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(attribute)) = attribute else { return false };
    matches!(attribute.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "doc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_layout_and_imports_do_not_count() {
        let one = "//! A.\n\
             use crate::plane::{a, b};\n\n\
             /// B.\n\
             fn f(a: A) -> u8 {\n\
             \x20   // why\n\
             \x20   g(a, 1)\n\
             }\n";
        let other = "//! C.\n\
                     //! D.\n\
                     use crate::record::a;\n\
                     use crate::state::b;\n\
                     fn f(\n\
                     \x20   a: A,\n\
                     ) -> u8 { use x::g; g(a, 1) }\n";
        assert_eq!(stamp_of(one), stamp_of(other));
    }

    #[test]
    fn every_change_of_code_counts() {
        let one = "fn f(a: A) -> u8 { g(a, 1) }";
        for other in [
            "fn f(a: A) -> u8 { g(a, 2) }",
            "fn f(a: A) -> u8 { g(a1) }",
            "fn f(a: A) -> u8 { [a, 1] }",
            "pub fn f(a: A) -> u8 { g(a, 1) }",
            "#[inline] fn f(a: A) -> u8 { g(a, 1) }",
            "fn f(a: A) -> impl B + use<> { g(a, 1) }",
        ] {
            assert_ne!(stamp_of(one), stamp_of(other), "{other}");
        }
        assert_ne!(stamp_of("fn f( {"), stamp_of("fn f( }"), "no Rust");
    }
}
