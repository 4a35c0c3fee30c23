//! `cargo xtask tidy --size`: lines of Rust by crate, and a limit for the product.

use std::collections::BTreeMap;

use super::{Finding, test_parts, tree::Tree};

/// What is studied with, and not built upon.
const LAB: &str = "lab";

/// The maximum number of lines of code that are neither tests nor in the lab.
const LIMIT: usize = 85_000;

/// Lines that are neither blank nor a comment.
#[derive(Clone, Copy, Default)]
struct Lines {
    code: usize,
    test: usize,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let product = product(&by_crate(tree));
    if product <= LIMIT {
        return Vec::new();
    }
    let text = format!("{product} lines of code are more than {LIMIT}; delete some");
    vec![Finding::new("Cargo.toml", 0, text)]
}

/// A line per crate, and the sum of the product.
pub(super) fn listing(tree: &Tree) -> String {
    let crates = by_crate(tree);
    let line = |(name, lines): (&&str, &Lines)| {
        format!("{name:<12} {:>6} code {:>6} test\n", lines.code, lines.test)
    };
    let all: String = crates.iter().map(line).collect();
    format!("{all}product code: {} lines of at most {LIMIT}\n", product(&crates))
}

fn product(crates: &BTreeMap<&str, Lines>) -> usize {
    let is_product = |(name, _): &(&&str, &Lines)| **name != LAB;
    crates.iter().filter(is_product).map(|(_, lines)| lines.code).sum()
}

/// The lines of each folder at the root.
fn by_crate(tree: &Tree) -> BTreeMap<&str, Lines> {
    let mut crates = BTreeMap::<&str, Lines>::new();
    for file in tree.files.iter().filter(|file| file.extension() == "rs") {
        let name = file.path.split('/').next().unwrap_or_default();
        let tests = test_parts::in_file(file);
        for (number, line) in file.lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with("//") {
                continue;
            }
            let lines = crates.entry(name).or_default();
            *(if tests.contains(number) { &mut lines.test } else { &mut lines.code }) += 1;
        }
    }
    crates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_tests_and_the_lab_are_not_counted() {
        let code = "//! A room.\n\nfn a() {\n    // why\n    b();\n}\n\n#[cfg(test)]\nmod t {\n}\n";
        let tree = Tree::from_files(&[
            ("core/src/a.rs", code),
            ("core/tests/b.rs", "fn c() {}\n"),
            ("lab/src/a.rs", code),
        ]);
        assert_eq!(product(&by_crate(&tree)), 3);
        assert!(listing(&tree).contains("core              3 code      4 test"));
        assert!(check(&tree).is_empty());
    }
}
