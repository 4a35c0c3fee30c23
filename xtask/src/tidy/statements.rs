//! The numbered statements of the contract, read from docs/contract.md.
//!
//! Three forms count: a chapter `## 5 Planes`, a statement `### 5.3 Title (live)`, and an item of
//! a numbered list, `- **D4 Title.**` or `- **I16 Title.**`.

const CONTRACT: &str = include_str!("../../../docs/contract.md");

/// The place of the contract in the tree, for findings.
pub(super) const PAGE: &str = "docs/contract.md";

/// Chapters that only hold a list with numbers of its own: the differences and the invariants.
const CHAPTERS_OF_LISTS: [&str; 2] = ["13", "14"];

/// The mark of a statement that holds only for what a driver recorded after its first
/// `runtime_restarted`.
const LIVE: &str = " (live)";

/// One number of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// As comments cite it: `5.3`, `10`, `D4`, `I16`.
    pub number: &'static str,
    /// Whether the whole statement is marked as live.
    pub is_live: bool,
    /// Its title, without the mark and without a full stop.
    pub about: &'static str,
    /// Its line in the contract, from 1.
    pub line: usize,
}

/// Everything that can be cited, in the contract's order.
pub(super) fn all() -> impl Iterator<Item = Statement> {
    CONTRACT.lines().enumerate().filter_map(|(index, line)| {
        let (number, title) = numbered(line)?;
        let about = title.strip_suffix(LIVE).unwrap_or(title);
        Some(Statement { number, is_live: about != title, about, line: index + 1 })
    })
}

/// The number and the title of a line that has both.
fn numbered(line: &'static str) -> Option<(&'static str, &'static str)> {
    let heading = line.strip_prefix("### ").or_else(|| line.strip_prefix("## "));
    let item = || line.strip_prefix("- **")?.split_once(".**").map(|(title, _)| title);
    let (number, title) = heading.or_else(item)?.split_once(' ')?;
    let digits = number.strip_prefix(['D', 'I']).unwrap_or(number);
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit());
    is_number.then_some((number, title))
}

/// The statements that need code and a test. A chapter counts only if it has no statements of its
/// own.
pub fn counted() -> impl Iterator<Item = Statement> {
    let has_parts = |chapter: &str| {
        all().any(|other| {
            other.number.strip_prefix(chapter).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    all().filter(move |statement| {
        !has_parts(statement.number) && !CHAPTERS_OF_LISTS.contains(&statement.number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_statements_has_no_hole() {
        let exists = |number: &str| all().any(|statement| statement.number == number);
        for (prefix, count) in [("I", 27), ("D", 29), ("5.", 24), ("15.", 8), ("16.", 4), ("", 16)]
        {
            for number in 1..=count {
                assert!(exists(&format!("{prefix}{number}")), "{prefix}{number}");
            }
            assert!(!exists(&format!("{prefix}{}", count + 1)));
        }
    }

    #[test]
    fn each_number_stands_once_and_some_statements_are_live() {
        let numbers: Vec<&str> = all().map(|statement| statement.number).collect();
        for number in &numbers {
            assert_eq!(numbers.iter().filter(|other| *other == number).count(), 1, "{number}");
        }
        let live: Vec<&str> =
            all().filter(|statement| statement.is_live).map(|statement| statement.number).collect();
        assert_eq!(live, ["5.3", "5.6", "5.11", "5.17", "5.20", "5.24", "15.3"]);
    }

    #[test]
    fn a_statement_has_the_title_and_the_line_of_its_heading() {
        let statement = all().find(|statement| statement.number == "5.6").expect("a statement");
        assert_eq!(statement.about, "A failed turn owes one retry");
        let line = CONTRACT.lines().nth(statement.line - 1).expect("its line");
        assert_eq!(line, "### 5.6 A failed turn owes one retry (live)");
        assert_eq!(numbered("## Not built yet"), None);
        assert_eq!(numbered("- **Total.** It answers."), None);
    }

    #[test]
    fn chapters_count_only_where_they_have_no_statements() {
        let numbers: Vec<&str> = counted().map(|statement| statement.number).collect();
        for counts in ["10", "12", "5.4", "D1", "I25"] {
            assert!(numbers.contains(&counts), "{counts}");
        }
        for chapter in ["1", "5", "11", "13", "14", "15", "16"] {
            assert!(!numbers.contains(&chapter), "{chapter}");
        }
    }
}
