//! Finds the lines of a file that are tests: whole files by their path, and in a Rust file the
//! items under `#[cfg(test)]`.

use std::ops::RangeInclusive;

use super::tree::File;

/// The lines of a file that are tests, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub struct TestParts(Vec<RangeInclusive<usize>>);

impl TestParts {
    /// Whether a line, counted from 1, is a part of a test.
    pub fn contains(&self, line: usize) -> bool {
        self.0.iter().any(|part| part.contains(&line))
    }
}

pub(super) fn in_file(file: &File) -> TestParts {
    if is_test_file(&file.path) {
        return TestParts(vec![1..=usize::MAX]);
    }
    if file.extension() == "rs" { in_rust(&file.text) } else { TestParts(Vec::new()) }
}

/// Everything below a folder `tests` or `e2e`, also scenarios and descriptions of fixtures, and
/// `tests.rs` and `x.test.ts`.
fn is_test_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    name == "tests.rs"
        || name.contains(".test.")
        || parts.any(|folder| matches!(folder, "tests" | "e2e"))
}

/// The items under `#[cfg(test)]` in a Rust text. The text is formatted, so an item ends at the
/// first closing line in the column in which it began.
pub fn in_rust(text: &str) -> TestParts {
    let lines: Vec<&str> = text.lines().collect();
    let mut parts: Vec<RangeInclusive<usize>> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.trim() != "#[cfg(test)]"
            // A `#[cfg(test)]` inside such an item does not begin a second one.
            || parts.last().is_some_and(|part| part.contains(&(index + 1)))
        {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let closes = |line: &&str| {
            line.strip_prefix(indent)
                // `) -> T {` closes the parameters and opens the body, so the item goes on.
                .is_some_and(|rest| rest.starts_with(['}', ')', ']']) && !rest.ends_with('{'))
        };
        let item = lines[index + 1..]
            .iter()
            // Other attributes and comments may come between.
            .position(|line| !line.trim_start().starts_with(['#', '/']))
            .map(|at| index + 1 + at);
        let Some(item) = item else { continue };
        let is_one_line = lines[item].ends_with([';', '}']) && lines[item].starts_with(indent);
        let end = if is_one_line {
            Some(item)
        } else {
            lines[item + 1..].iter().position(closes).map(|at| item + 1 + at)
        };
        parts.push(index + 1..=end.map_or(lines.len(), |end| end + 1));
    }
    TestParts(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_tests_by_their_place_or_name() {
        for path in [
            "tests/all/a.rs",
            "host-native/tests/a.rs",
            "wasm/web/tests/node.rs",
            "web-demo/e2e/page.mjs",
            "wasm/a.test.mjs",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "tests/scenarios/01_a.txt",
            "core/src/ladder/tests.rs",
            "tests/fixtures/scheduler/x/README.md",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "core/src/test.rs",
            "host-native/src/tester/a.rs",
            "wasm/web/src/lib.rs",
            "contests/a.rs",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }

    #[test]
    fn a_test_part_ends_where_its_item_ends() {
        let text = "\
fn code() {}

#[cfg(test)]
mod tests {
    fn test() {
    }
}

impl Code {
    #[cfg(test)]
    /// What it is.
    #[must_use]
    fn new(
        long: Long,
    ) -> Self {
        Self { }
    }

    fn code() {}
    #[cfg(test)]
    fn short() {}
    fn code() {}
}

#[cfg(test)]
mod other;
fn code() {}
";
        assert_eq!(in_rust(text), TestParts(vec![3..=7, 10..=17, 20..=21, 25..=26]));
    }

    #[test]
    fn a_part_without_an_end_goes_to_the_end() {
        assert_eq!(in_rust("#[cfg(test)]\nmod tests {\n    x\n"), TestParts(vec![1..=3]));
        assert_eq!(in_rust("fn code() {}\n"), TestParts(Vec::new()));
    }
}
