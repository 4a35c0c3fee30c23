//! The tree has no unfinished code and no switched-off test.

use super::{
    Finding,
    tree::{File, Tree},
};

/// The marks, and what to do about each. Each is written in two parts, so that this file does not
/// find itself.
const MARKS: [(&str, &str); 12] = [
    (
        concat!("TO", "DO"),
        "do it, or say in docs/contract.md or docs/decisions that it is left out, and why",
    ),
    (concat!("FIX", "ME"), "put it right"),
    (concat!("XX", "X"), "say what is meant"),
    (concat!("todo", "!("), "write it"),
    (concat!("unimplemented", "!("), "write it"),
    (concat!(".on", "ly("), "the other tests do not run; take it away"),
    (
        concat!("test.sk", "ip"),
        "a test that does not run tests nothing; make it run or take it away",
    ),
    (concat!("it.sk", "ip"), "a test that does not run tests nothing; make it run or take it away"),
    (
        concat!("describe.sk", "ip"),
        "a test that does not run tests nothing; make it run or take it away",
    ),
    (
        concat!("test.to", "do"),
        "a test that does not run tests nothing; make it run or take it away",
    ),
    (
        concat!("#[ign", "ore"),
        "a test that does not run tests nothing; make it run or take it away",
    ),
    (concat!("#[should_panic", "]"), "say which panic is expected, or any other one passes too"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_written_here(file)) {
        for (number, line) in file.lines() {
            if let Some((mark, what)) = MARKS.iter().find(|(mark, _)| has_word(line, mark)) {
                findings.push(Finding::new(&file.path, number, format!("`{mark}`: {what}")));
            }
        }
    }
    findings
}

fn is_written_here(file: &File) -> bool {
    let has_words = file.is_source()
        || matches!(
            file.extension(),
            "toml" | "md" | "wit" | "html" | "sh" | "txt" | "yml" | "yaml"
        );
    has_words && !file.is_recorded_data()
}

/// Whether the line has the mark as a whole word.
fn has_word(line: &str, mark: &str) -> bool {
    let is_part = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
    };
    line.match_indices(mark).any(|(at, _)| {
        // A mark that begins or ends with a sign has its own border there.
        let starts = mark.starts_with(|first: char| !first.is_alphanumeric())
            || !is_part(line[..at].chars().next_back());
        let ends = mark.ends_with(|last: char| !last.is_alphanumeric())
            || !is_part(line[at + mark.len()..].chars().next());
        starts && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_found_with_its_line() {
        for (mark, _) in MARKS {
            let text = format!("// What it is.\n  {mark} later\n");
            for path in ["core/src/a.rs", "web-demo/src/a.test.mjs", "README.md"] {
                let found = check(&Tree::from_files(&[(path, &text)]));
                assert_eq!(found.len(), 1, "{mark} in {path}");
                assert_eq!((found[0].path.as_str(), found[0].line), (path, 2));
            }
        }
    }

    #[test]
    fn a_mark_inside_a_word_is_no_finding() {
        let word = format!("MAS{}N emit.skipped await.skip {}_LIST", MARKS[0].0, MARKS[0].0);
        assert_eq!(
            check(&Tree::from_files(&[
                ("core/src/a.rs", &word),
                ("Cargo.toml", "todo = \"warn\"\n")
            ])),
            []
        );
    }
}
