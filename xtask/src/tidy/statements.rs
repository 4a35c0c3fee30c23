//! The numbered statements of the contract: contract.txt has one a line, chapters, statements,
//! differences, invariants, each with what it is about.
//!
//! `5.3 live: ...` marks a statement that holds only for what a driver records after its first
//! `runtime_restarted`.

const CONTRACT: &str = include_str!("contract.txt");

/// The place of the list in the tree, for findings.
pub(super) const LIST: &str = "xtask/src/tidy/contract.txt";

/// Chapters that only hold a list, which is numbered by itself: the differences and the invariants.
const CHAPTERS_OF_LISTS: [&str; 2] = ["13", "14"];

/// One number of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    /// As comments cite it: `5.3`, `10`, `D4`, `I16`.
    pub number: &'static str,
    /// Whether the contract marks it, as a whole, as live.
    pub is_live: bool,
    /// What it is about, in a few words.
    pub about: &'static str,
    /// Its line in contract.txt, from 1.
    pub line: usize,
}

/// Everything that can be cited, in the contract's order.
pub(super) fn all() -> impl Iterator<Item = Statement> {
    CONTRACT.lines().enumerate().map(|(index, line)| {
        let (number, about) = line.split_once(": ").unwrap_or((line, ""));
        let unmarked = number.strip_suffix(" live");
        Statement {
            number: unmarked.unwrap_or(number),
            is_live: unmarked.is_some(),
            about,
            line: index + 1,
        }
    })
}

/// The statements that code and tests are asked for. A chapter is one only where it has no
/// statements of its own.
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
        for (prefix, count) in [("I", 25), ("D", 29), ("5.", 24), ("", 14)] {
            for number in 1..=count {
                assert!(exists(&format!("{prefix}{number}")), "{prefix}{number}");
            }
            assert!(!exists(&format!("{prefix}{}", count + 1)));
        }
    }

    #[test]
    fn a_line_has_a_number_perhaps_the_mark_of_a_live_statement_and_what_it_is_about() {
        for Statement { number, about, line, .. } in all() {
            assert!(
                !number.is_empty() && !number.contains(' ') && !about.is_empty(),
                "line {line}"
            );
        }
        let live: Vec<&str> =
            all().filter(|statement| statement.is_live).map(|statement| statement.number).collect();
        assert_eq!(live, ["5.3", "5.6", "5.11", "5.17", "5.20", "5.24"]);
    }

    #[test]
    fn chapters_count_only_where_they_have_no_statements() {
        let numbers: Vec<&str> = counted().map(|statement| statement.number).collect();
        for counts in ["10", "12", "5.4", "D1", "I25"] {
            assert!(numbers.contains(&counts), "{counts}");
        }
        for chapter in ["1", "5", "11", "13", "14"] {
            assert!(!numbers.contains(&chapter), "{chapter}");
        }
    }
}
