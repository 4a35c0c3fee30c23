//! Every numbered statement of the contract has code and a test that cite it.

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
    let finding = |one: Cited| {
        let number = one.statement.number;
        let text = match (&one.code, &one.test) {
            (Some(_), Some(_)) => return None,
            (None, None) => {
                format!(
                    "neither code nor a test cites `{number}` of the contract; cite it in a \
                     comment where it is done and tested"
                )
            }
            (None, _) => format!(
                "no code cites `{number}` of the contract; cite it in a comment where it is done"
            ),
            (_, None) => format!(
                "no test cites `{number}` of the contract; cite it in a comment where it is tested"
            ),
        };
        Some(Finding::new(statements::PAGE, one.statement.line, text))
    };
    cited(tree).into_iter().filter_map(finding).collect()
}

fn cited(tree: &Tree) -> Vec<Cited<'_>> {
    let mut all: Vec<Cited> = statements::counted()
        .map(|statement| Cited { statement, code: None, test: None })
        .collect();
    for citation in citations::all(tree) {
        if let Some(one) = all.iter_mut().find(|one| one.statement.number == citation.number) {
            let first = if citation.is_test { &mut one.test } else { &mut one.code };
            first.get_or_insert(citation);
        }
    }
    all
}

/// A line per statement: its number, the first code and the first test that cite it, `-` for none,
/// and `(live)`.
pub(super) fn listing(tree: &Tree) -> String {
    let place = |citation: &Option<Citation>| {
        citation.as_ref().map_or_else(|| "-".to_owned(), |at| format!("{}:{}", at.path, at.line))
    };
    let rows: Vec<(Statement, String, String)> =
        cited(tree).iter().map(|one| (one.statement, place(&one.code), place(&one.test))).collect();
    let width = rows.iter().map(|(_, code, _)| code.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (statement, code, test) in rows {
        let live = if statement.is_live { "  (live)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:5} {code:width$} {test}{live}", statement.number);
    }
    text
}

/// The numbers of the statements that nothing cites.
pub(super) fn uncited(tree: &Tree) -> Vec<&'static str> {
    cited(tree).iter().filter(|one| one.is_uncited()).map(|one| one.statement.number).collect()
}

/// One sentence: the number of statements, and how many have no code or no test.
pub(super) fn summary(tree: &Tree) -> String {
    let all = cited(tree);
    let count = |is: fn(&Cited) -> bool| all.iter().filter(|one| is(one)).count();
    let (without_code, without_test) =
        (count(|one| one.code.is_none()), count(|one| one.test.is_none()));
    format!(
        "{} statements of the contract, {without_code} without code, {without_test} without a test",
        all.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that cites every statement but these, one per line.
    fn all_but(left_out: &[&str]) -> String {
        let cited = statements::counted().filter(|statement| !left_out.contains(&statement.number));
        cited.map(|statement| format!("// contract {}\n", statement.number)).collect()
    }

    #[test]
    fn a_statement_that_nothing_cites_is_found() {
        let found = |code: &str, tests: &str| {
            let tree = Tree::from_files(&[("core/src/a.rs", code), ("tests/all/b.rs", tests)]);
            check(&tree).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(&all_but(&[]), &all_but(&[])), [""; 0]);
        let missing = found(&all_but(&["5.4", "5.3"]), &all_but(&["5.4", "D3"]));
        let told: Vec<_> =
            missing.iter().map(|finding| finding.split_once(": ").expect("a place").1).collect();
        assert!(missing.iter().all(|finding| finding.contains("contract.md:")), "{missing:?}");
        assert!(
            told[0].starts_with("no code cites `5.3`")
                && told[1].starts_with("neither code nor a test cites `5.4`"),
            "{told:?}"
        );
        assert!(told[2].starts_with("no test cites `D3`") && told.len() == 3, "{told:?}");
    }

    #[test]
    fn the_listing_has_the_first_code_and_the_first_test() {
        let tree = Tree::from_files(&[
            ("core/src/a.rs", "// D7\n// D7\n#[cfg(test)]\nmod tests {\n    // D8\n}\n"),
            ("tests/all/b.rs", "// D7 and contract 5.3\n"),
        ]);
        let listing = listing(&tree);
        let line = |number: &str| {
            listing
                .lines()
                .find(|line| line.split_whitespace().next() == Some(number))
                .expect("a line")
                .to_owned()
        };
        assert_eq!(line("D7"), "D7    core/src/a.rs:1 tests/all/b.rs:1");
        assert_eq!(line("D8"), "D8    -               core/src/a.rs:5");
        assert_eq!(line("5.3"), "5.3   -               tests/all/b.rs:1  (live)");
        assert_eq!(line("D9"), "D9    -               -");
        assert_eq!(listing.lines().count(), statements::counted().count());
        assert!(!uncited(&tree).contains(&"D7") && uncited(&tree).contains(&"D9"));
        let all = statements::counted().count();
        let lacking = format!(", {} without code, {} without a test", all - 1, all - 3);
        assert!(summary(&tree).ends_with(&lacking), "{}", summary(&tree));
    }
}
