//! `cargo xtask tidy --size`: lines of Rust by crate, and a limit for the product.

use std::collections::BTreeMap;

use super::{Finding, test_parts, tree::Tree};

/// What we develop with. It is not part of the product.
const TOOLS: [&str; 5] = ["xtask", "proof", "lab", "examples", "fuzz"];

/// The most lines of product code.
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
    let text = format!("{product} lines of product code are more than {LIMIT}; delete some");
    vec![Finding::new("Cargo.toml", 0, text)]
}

/// A line per crate, and the sum of the product.
pub(super) fn listing(tree: &Tree) -> String {
    let crates = by_crate(tree);
    let line = |(name, lines): (&&str, &Lines)| {
        let is_tool = TOOLS.contains(name);
        let kind = if is_tool { "tool" } else { "product" };
        format!("{name:<12} {kind:<8} {:>6} code {:>6} test\n", lines.code, lines.test)
    };
    let all: String = crates.iter().map(line).collect();
    format!("{all}product code: {} lines of at most {LIMIT}\n", product(&crates))
}

fn product(crates: &BTreeMap<&str, Lines>) -> usize {
    let is_product = |(name, _): &(&&str, &Lines)| !TOOLS.contains(*name);
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
    fn comments_blanks_tests_and_tools_are_not_product_code() {
        let code = "//! A room.\n\nfn a() {\n    // why\n    b();\n}\n\n#[cfg(test)]\nmod t {\n}\n";
        let tree = Tree::from_files(&[
            ("core/src/a.rs", code),
            ("core/tests/b.rs", "fn c() {}\n"),
            ("xtask/src/a.rs", code),
        ]);
        assert_eq!(product(&by_crate(&tree)), 3);
        assert!(listing(&tree).contains("core         product       3 code      4 test"));
        assert!(check(&tree).is_empty());
    }
}
