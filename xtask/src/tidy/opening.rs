//! Every source file begins with a comment that says what it is.

use super::{Finding, tree::Tree};

/// A shorter comment says nothing.
const LEAST_WORDS: usize = 2;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources =
        tree.files.iter().filter(|file| matches!(file.extension(), "rs" | "ts" | "tsx" | "mjs"));
    sources
        .filter(|file| opening_words(&file.text) < LEAST_WORDS)
        .map(|file| {
            let comment = if file.extension() == "rs" { "//!" } else { "//" };
            Finding::new(
                &file.path,
                1,
                format!(
                    "the file does not say what it is; open it with a `{comment}` comment of a \
                     sentence"
                ),
            )
        })
        .collect()
}

/// The number of words in the comment before all code.
fn opening_words(text: &str) -> usize {
    let mut words = 0;
    let mut in_block = false;
    for line in text.lines().map(str::trim) {
        let comment = if in_block {
            Some(line)
        } else if let Some(block) = line.strip_prefix("/*") {
            in_block = true;
            Some(block)
        } else {
            line.strip_prefix("//")
        };
        // A script may begin with its interpreter.
        let is_interpreter = line.starts_with("#!") && !line.starts_with("#![");
        match comment {
            Some(comment) => {
                words += comment
                    .split_whitespace()
                    .filter(|word| word.chars().any(char::is_alphanumeric))
                    .count()
            }
            None if words == 0 && (line.is_empty() || is_interpreter) => {}
            None => break,
        }
        in_block = in_block && !line.contains("*/");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_opening_is_found() {
        let tree = Tree::from_files(&[
            ("core/src/a.rs", "use core::fmt;\n//! Too late to say what it is.\n"),
            ("core/src/b.rs", "//! .\nfn main() {}\n"),
            ("web-demo/src/c.tsx", "export const c = 1;\n"),
            ("web-demo/src/d.mjs", ""),
        ]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(
            found[0].starts_with(
                "core/src/a.rs:1: the file does not say what it is; open it with a `//!`"
            ),
            "{}",
            found[0]
        );
    }

    #[test]
    fn every_kind_of_comment_opens_a_file() {
        let tree = Tree::from_files(&[
            ("a.rs", "//! The way of a fact.\n"),
            ("b.ts", "/**\n * The way of a fact.\n */\nexport {};\n"),
            ("c.mjs", "#!/usr/bin/env node\n// The way of a fact.\n"),
            ("d.tsx", "/* The way of a fact. */\n"),
            ("e.css", "a {}\n"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
