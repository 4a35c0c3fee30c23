//! Words that people read: sizes of the first pages, one sentence per line, short sentences, and
//! no phrase that a stranger stumbles over.

mod markdown;
mod phrases;
mod prose;

use std::collections::BTreeSet;

use super::{
    Finding,
    tree::{File, Tree},
};
use prose::Kind;

/// The pages that a newcomer reads first, and how many bytes each may have.
const SIZES: [(&str, usize); 2] = [("README.md", 6_000), ("ARCHITECTURE.md", 15_000)];

/// A sentence with more words is two sentences.
const MOST_WORDS: usize = 40;

/// Files whose words are looked at later, one path or folder per line.
const LATER: &str = include_str!("../words.txt");
const LATER_PATH: &str = "xtask/src/tidy/words.txt";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = sizes(tree);
    let later: Vec<(usize, &str)> = later().collect();
    let mut used = vec![false; later.len()];
    for file in tree.files.iter().filter(|file| is_read(file)) {
        let found = found(file);
        let excuse = later.iter().position(|(_, path)| file.path.starts_with(path));
        match excuse {
            // An excuse that excuses nothing is a finding below, so that the list only shrinks.
            Some(excuse) => used[excuse] |= !found.is_empty(),
            None => findings.extend(found),
        }
    }
    for ((line, path), _) in later.iter().zip(used).filter(|(_, used)| !used) {
        let text = format!("nothing below `{path}` needs an exception; take the line away");
        findings.push(Finding::new(LATER_PATH, *line, text));
    }
    findings
}

/// Whether the words and the width of a file are checked later.
pub(super) fn is_checked_later(path: &str) -> bool {
    later().any(|(_, excused)| path.starts_with(excused))
}

/// The lines of a program that hold a literal or a part of one.
pub(super) fn lines_with_literals(file: &File) -> BTreeSet<usize> {
    let literals = prose::of(file).into_iter().filter(|passage| passage.kind == Kind::Literal);
    literals.flat_map(|passage| passage.lines).map(|(line, _)| line).collect()
}

/// The exceptions, with their lines from 1.
fn later() -> impl Iterator<Item = (usize, &'static str)> {
    LATER
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn sizes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, most) in SIZES {
        let bytes = tree.file(path).map_or(0, |file| file.text.len());
        if bytes > most {
            let text = format!("{bytes} bytes, more than {most}; move a part to docs/");
            findings.push(Finding::new(path, 0, text));
        }
    }
    findings
}

fn is_read(file: &File) -> bool {
    let is_data = file.is_recorded_data() && file.extension() != "md";
    // This folder names the phrases.
    !is_data && !file.is_lock() && !file.path.starts_with("xtask/src/tidy/words")
}

fn found(file: &File) -> Vec<Finding> {
    let mut found = Vec::new();
    // The program that writes a page decides its layout. Its sentences are still checked below.
    if file.extension() == "md" && !file.is_generated() {
        found.extend(markdown::found(file));
    }
    for passage in prose::of(file) {
        found.extend(phrases::found(&passage));
        for sentence in passage.sentences() {
            if sentence.len() > MOST_WORDS {
                let text = format!(
                    "a sentence has {} words, more than {MOST_WORDS}; split it",
                    sentence.len()
                );
                found.push((sentence[0].line, text));
            }
        }
    }
    found.into_iter().map(|(line, text)| Finding::new(&file.path, line, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::from_files(&[(path, text)]);
        check(&tree)
            .iter()
            .filter(|finding| finding.path == path)
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_first_page_that_is_too_long_is_found() {
        for (path, most) in SIZES {
            assert_eq!(found_in(path, &"a.\n".repeat(most / 3)), [""; 0]);
            let found = found_in(path, &"a.\n".repeat(most / 3 + 1));
            assert!(found[0].contains(&format!("more than {most}")), "{found:?}");
        }
    }

    #[test]
    fn a_long_sentence_is_found_in_pages_and_comments() {
        let (most, more) = ("word ".repeat(MOST_WORDS), "word ".repeat(MOST_WORDS + 1));
        for (path, mark) in [("docs/a.md", ""), ("src/a.rs", "/// "), ("src/a.ts", "// ")] {
            assert_eq!(found_in(path, &format!("{mark}{most}.\n")), [""; 0], "{path}");
            let found = found_in(path, &format!("{mark}{more}.\n"));
            assert!(
                found[0].starts_with(&format!("{path}:1: a sentence has 41 words")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn phrases_are_found_in_comments_literals_and_pages() {
        let text = "// It is no ledger.\nlet a = \"whoever\";\n";
        let found = found_in("src/a.rs", text);
        assert!(found[0].starts_with("src/a.rs:1: \"is no ledger\""), "{found:?}");
        assert!(found[1].starts_with("src/a.rs:2: \"whoever\""), "{found:?}");
        assert_eq!(found_in("tests/fixtures/x/ledger/a.jsonl", "whoever"), [""; 0]);
    }
}
