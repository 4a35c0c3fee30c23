//! Texts that reach an entry of a ledger are in one file, because they can never change.
//!
//! In the floors that build entries, this check finds a text of several words anywhere else. Error
//! messages and panics are not part of an entry, so they may be anywhere.

use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use super::{Finding, layers, tree::Tree};

/// The file that holds the texts of entries.
const TEXTS: &str = "core/src/record/text.rs";

/// The floors that build entries.
const FLOORS: [&str; 6] = [
    "core/src/record/",
    "core/src/state/",
    "core/src/derive/",
    "core/src/fact/",
    "core/src/ladder/",
    "core/src/consequence.rs",
];

/// Functions and macros whose text is an error or a panic.
const ERRORS: [&str; 9] = [
    "expect",
    "expected",
    "panic",
    "unreachable",
    "assert",
    "debug_assert",
    "is_wrong",
    "at_field",
    "error",
];

/// Fields and constants whose text is documentation: it explains a rule or a type.
const DOCUMENTATION: [&str; 2] = ["says", "json_schema"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_checked = |path: &str| {
        path != TEXTS
            && path.ends_with(".rs")
            && FLOORS.iter().any(|floor| path.starts_with(floor))
            && !path.ends_with("/tests.rs")
    };
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_checked(&file.path)) {
        // The check of the layers reports a file that is not Rust.
        let Ok(tokens) = TokenStream::from_str(&file.text) else { continue };
        let mut texts = Vec::new();
        scan(&tokens.into_iter().collect::<Vec<_>>(), &mut texts);
        findings.extend(texts.into_iter().map(|(line, text)| {
            let what =
                format!("{text} may reach an entry; write it in {TEXTS}, where texts are frozen");
            Finding::new(&file.path, line, what)
        }));
    }
    findings
}

/// Collects the texts of several words, with their lines.
fn scan(tokens: &[TokenTree], texts: &mut Vec<(usize, String)>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                // An attribute is not part of the program; one for tests leaves out an item.
                // An inner one, `#![..]`, has one sign more.
                let is_inner = matches!(tokens.get(at + 1), Some(TokenTree::Punct(_)));
                let attribute = at + 1 + usize::from(is_inner);
                at = if layers::is_for_tests(tokens.get(attribute)) {
                    layers::end_of_item(tokens, attribute + 1)
                } else {
                    attribute + 1
                };
                continue;
            }
            TokenTree::Ident(word) if names(&DOCUMENTATION, word) || names(&ERRORS, word) => {
                at = end_of_text(tokens, at + 1);
                continue;
            }
            TokenTree::Group(group) => {
                scan(&group.stream().into_iter().collect::<Vec<_>>(), texts);
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with('"') && has_words(&text) {
                    texts.push((literal.span().start().line, text));
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn names(list: &[&str], word: &proc_macro2::Ident) -> bool {
    list.iter().any(|name| word == name)
}

/// The end of the arguments or of the value after a name.
fn end_of_text(tokens: &[TokenTree], mut at: usize) -> usize {
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Group(_) | TokenTree::Literal(_) => break,
            TokenTree::Punct(mark) if matches!(mark.as_char(), ';' | ',') => break,
            _ => {}
        }
    }
    at
}

/// Whether a text has two words with a blank between them. A code such as `queue_len={}` has not.
fn has_words(text: &str) -> bool {
    let is_word = |word: &str| word.chars().filter(char::is_ascii_alphabetic).count() > 1;
    text.split(' ').filter(|word| is_word(word)).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::from_files(&[(path, text)])).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_text_outside_of_the_one_file_is_found() {
        let text = "fn f() -> String {\n    format!(\"the item {} is parked\", 1)\n}\n";
        assert_eq!(lines("core/src/fact/a.rs", text), [2]);
        assert_eq!(lines("core/src/consequence.rs", text), [2]);
        assert_eq!(lines(TEXTS, text), [0; 0]);
        assert_eq!(lines("core/src/explain/a.rs", text), [0; 0]);
    }

    #[test]
    fn codes_errors_documentation_and_tests_are_not() {
        let text = "\
//! It is one file.
#[error(\"the item is gone\")]
struct A;
const RULE: Rule = Rule { says: \"the item is gone\", id: \"8.timer\" };
fn f() {
    format!(\"queue_len={}\", 1);
    value.is_wrong(&\"an empty list\");
    a.expect(\"INVARIANT: it is there\");
}
#[cfg(test)]
mod tests {
    const A: &str = \"the item is gone\";
}
";
        assert_eq!(lines("core/src/ladder/a.rs", text), [0; 0]);
    }
}
