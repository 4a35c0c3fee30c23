//! Comments cite the contract (`contract 5.3`, `I16`, `D4`), and what they cite exists.
//!
//! The numbers of all statements stand in contract.txt, one a line: chapters, statements, differences, invariants.

use std::collections::BTreeSet;

use super::{
    Finding,
    tree::{File, Tree},
};

const CONTRACT: &str = include_str!("contract.txt");

/// Where code and tests may cite a statement.
const CITING: [&str; 5] = ["core/", "host-native/", "wasm/", "tests/", "web-demo/"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let statements: BTreeSet<&str> = CONTRACT.lines().collect();
    let mut findings = Vec::new();
    for file in citing(tree) {
        for (number, line) in file.lines() {
            let Some(comment) = comment(file, line) else { continue };
            for cited in cited(comment).into_iter().filter(|cited| !statements.contains(cited.as_str())) {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    format!("the contract has no statement `{cited}`; cite the one that is meant"),
                ));
            }
        }
    }
    findings
}

/// The statements that nothing cites, and how many there are in all. A chapter counts only where it has no statements of its own;
/// the chapters of the differences and of the invariants have them.
pub(super) fn uncited(tree: &Tree) -> (Vec<&'static str>, usize) {
    let mut seen = BTreeSet::new();
    for file in citing(tree) {
        for (_, line) in file.lines() {
            seen.extend(comment(file, line).map(cited).unwrap_or_default());
        }
    }
    let counted: Vec<&str> = CONTRACT.lines().filter(|statement| is_counted(statement)).collect();
    let all = counted.len();
    (counted.into_iter().filter(|statement| !seen.contains(*statement)).collect(), all)
}

fn is_counted(statement: &str) -> bool {
    let lists = ["13", "14"];
    let has_parts = CONTRACT.lines().any(|other| other.strip_prefix(statement).is_some_and(|rest| rest.starts_with('.')));
    !has_parts && !lists.contains(&statement)
}

fn citing(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| CITING.iter().any(|folder| file.path.starts_with(folder)) && !file.is_recorded_data())
}

/// The comment of a line: after `//` in a program, after `#` in a scenario.
fn comment<'a>(file: &File, line: &'a str) -> Option<&'a str> {
    match file.extension() {
        "rs" | "ts" | "tsx" | "mjs" | "wit" => line.find("//").map(|at| &line[at..]),
        "txt" => line.trim_start().strip_prefix('#'),
        _ => None,
    }
}

/// Every statement that a comment cites: numbers after the word `contract`, and `I<n>` and `D<n>` anywhere.
fn cited(comment: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_list = false;
    for word in comment.split_whitespace() {
        let bare = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let is_number =
            !bare.is_empty() && bare.starts_with(|c: char| c.is_ascii_digit()) && bare.chars().all(|c| c.is_ascii_digit() || c == '.');
        let is_numbered = bare.len() > 1 && bare.starts_with(['I', 'D']) && bare[1..].chars().all(|c| c.is_ascii_digit());
        if is_numbered || (is_number && in_list) {
            found.push(bare.to_owned());
        }
        // `contract 5.4, 8.2 and 9.1: the 3 and 4 after the list are not numbers of statements`. A number that ends no phrase may be
        // followed by `and`.
        let goes_on = word.ends_with(',') || word == "and" || (is_number && word.ends_with(|last: char| last.is_ascii_digit()));
        in_list = bare == "contract" || (in_list && goes_on);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_does_not_exist_is_found() {
        let text = "//! What it is.\n/// One thing (contract 5.99).\nlet a = 1; // contract 5.4, 8.77: both; I26 and D30\n";
        let found: Vec<String> = check(&Tree::of(&[("core/src/a.rs", text)])).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].starts_with("core/src/a.rs:2: the contract has no statement `5.99`"), "{}", found[0]);
        for cited in ["`8.77`", "`I26`", "`D30`"] {
            assert!(found.iter().any(|finding| finding.contains(cited)), "{cited}");
        }
    }

    #[test]
    fn citations_are_read_in_all_their_forms() {
        let of = |comment| cited(comment);
        assert_eq!(of("// one (contract 5.4, 5.16, 8.3)."), ["5.4", "5.16", "8.3"]);
        assert_eq!(of("// contract 8: a key is spent by 3 of 4"), ["8"]);
        assert_eq!(of("// contract 5.4 and 5.5 hold, in 2 ways"), ["5.4", "5.5"]);
        assert_eq!(of("// contract 5.4 says 12 things"), ["5.4"]);
        assert_eq!(of("// see I16, D4: Ids I9x DD3"), ["I16", "D4"]);
        assert_eq!(of("// the contract says 3"), [""; 0]);
    }

    #[test]
    fn the_list_of_statements_has_no_hole() {
        for (prefix, count) in [("I", 25), ("D", 29), ("5.", 24)] {
            for number in 1..=count {
                assert!(CONTRACT.lines().any(|line| line == format!("{prefix}{number}")), "{prefix}{number}");
            }
            assert!(!CONTRACT.lines().any(|line| line == format!("{prefix}{}", count + 1)));
        }
    }

    #[test]
    fn what_is_cited_is_not_counted_as_uncited() {
        let (none, all) = uncited(&Tree::of(&[("core/src/a.rs", "//! Nothing.\nlet contract = 5.4;\n")]));
        assert_eq!(none.len(), all);
        assert!(none.contains(&"10") && none.contains(&"5.4") && !none.contains(&"5") && !none.contains(&"13"));
        let (some, _) = uncited(&Tree::of(&[
            ("core/src/a.rs", "//! contract 10 and I1\n"),
            ("tests/scenarios/a.txt", "# contract 5.4\n"),
            ("xtask/src/a.rs", "//! contract 5.5\n"),
        ]));
        assert_eq!(some.len() + 3, all);
    }
}
