//! Every numbered statement of the contract has code or a test that cites it.

use std::fmt::Write;

use super::{
    Finding,
    citations::{self, Citation},
    statements::{self, Statement},
    tree::Tree,
};

/// One statement with the first code and the first test that cite it.
struct Cited<'a> {
    statement: Statement,
    code: Option<Citation<'a>>,
    test: Option<Citation<'a>>,
}

impl Cited<'_> {
    fn is_uncited(&self) -> bool {
        self.code.is_none() && self.test.is_none()
    }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let uncited = cited(tree).into_iter().filter(Cited::is_uncited);
    uncited
        .map(|one| {
            let number = one.statement.number;
            let text =
                format!("neither code nor a test cites `{number}` of the contract; cite it in a comment where it is done and tested");
            Finding::new(statements::LIST, one.statement.line, text)
        })
        .collect()
}

fn cited(tree: &Tree) -> Vec<Cited<'_>> {
    let mut all: Vec<Cited> = statements::counted().map(|statement| Cited { statement, code: None, test: None }).collect();
    for citation in citations::all(tree) {
        if let Some(one) = all.iter_mut().find(|one| one.statement.number == citation.number) {
            let first = if citation.is_test { &mut one.test } else { &mut one.code };
            first.get_or_insert(citation);
        }
    }
    all
}

/// A line per statement: its number, the first code and the first test that cite it, `-` for none, and the mark of those that hold live.
pub(super) fn listing(tree: &Tree) -> String {
    let place = |citation: &Option<Citation>| citation.as_ref().map_or_else(|| "-".to_owned(), |at| format!("{}:{}", at.path, at.line));
    let rows: Vec<(Statement, String, String)> =
        cited(tree).iter().map(|one| (one.statement, place(&one.code), place(&one.test))).collect();
    let width = rows.iter().map(|(_, code, _)| code.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (statement, code, test) in rows {
        let live = if statement.is_live { "  (live)" } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:5} {code:width$} {test}{live}", statement.number);
    }
    text
}

/// The numbers of the statements that nothing cites.
pub(super) fn uncited(tree: &Tree) -> Vec<&'static str> {
    cited(tree).iter().filter(|one| one.is_uncited()).map(|one| one.statement.number).collect()
}

/// How many statements there are, and what they lack, in a sentence.
pub(super) fn summary(tree: &Tree) -> String {
    let all = cited(tree);
    let count = |is: fn(&Cited) -> bool| all.iter().filter(|one| is(one)).count();
    format!(
        "{} of {} statements of the contract are not cited yet, {} of them live; {} more have no code, {} no test",
        count(|one| one.is_uncited()),
        all.len(),
        count(|one| one.is_uncited() && one.statement.is_live),
        count(|one| one.code.is_none() && one.test.is_some()),
        count(|one| one.test.is_none() && one.code.is_some()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree that cites every statement but these, each in a line of its own of one code file.
    fn all_but(left_out: &[&str]) -> String {
        let cited = statements::counted().filter(|statement| !left_out.contains(&statement.number));
        cited.map(|statement| format!("// contract {}\n", statement.number)).collect()
    }

    #[test]
    fn a_statement_that_nothing_cites_is_found() {
        let found = |text: &str| check(&Tree::of(&[("core/src/a.rs", text)])).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found(&all_but(&[])), [""; 0]);
        let missing = found(&all_but(&["5.4", "5.3"]));
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].contains("contract.txt:") && missing[0].contains("cites `5.3`"), "{}", missing[0]);
    }

    #[test]
    fn the_listing_has_the_first_code_and_the_first_test() {
        let tree = Tree::of(&[
            ("core/src/a.rs", "// D7\n// D7\n#[cfg(test)]\nmod tests {\n    // D8\n}\n"),
            ("tests/all/b.rs", "// D7 and contract 5.3\n"),
        ]);
        let listing = listing(&tree);
        let line = |number: &str| listing.lines().find(|line| line.split_whitespace().next() == Some(number)).expect("a line").to_owned();
        assert_eq!(line("D7"), "D7    core/src/a.rs:1 tests/all/b.rs:1");
        assert_eq!(line("D8"), "D8    -               core/src/a.rs:5");
        assert_eq!(line("5.3"), "5.3   -               tests/all/b.rs:1  (live)");
        assert_eq!(line("D9"), "D9    -               -");
        assert_eq!(listing.lines().count(), statements::counted().count());
        assert!(!uncited(&tree).contains(&"D7") && uncited(&tree).contains(&"D9"));
        assert!(summary(&tree).ends_with("5 of them live; 2 more have no code, 0 no test"), "{}", summary(&tree));
    }
}
