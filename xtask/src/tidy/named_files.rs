//! Files that the pages for developers name are there.

use super::{Finding, tree::Tree};

/// The pages. Others name files of users, which are not in the tree.
const PAGES: [&str; 2] = ["ARCHITECTURE.md", "CONTRIBUTING.md"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let is_there = |name: &str| {
        let end = format!("/{name}");
        tree.files.iter().any(|file| file.path == name || file.path.ends_with(&end))
    };
    let mut findings = Vec::new();
    for page in PAGES.iter().filter_map(|page| tree.file(page)) {
        for (number, line) in page.lines() {
            for name in named(line).filter(|name| !is_there(name)) {
                let text = format!("there is no file `{name}`; name the one that took its place");
                findings.push(Finding::new(&page.path, number, text));
            }
        }
    }
    findings
}

/// The names of source files in backticks.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let is_source = |name: &&str| {
        [".rs", ".mjs", ".py"].iter().any(|end| name.ends_with(end)) && !name.contains([' ', '*'])
    };
    line.split('`').skip(1).step_by(2).filter(is_source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_is_found() {
        let page = "It is in `core/src/a.rs`, `a.rs` and `src/b.rs`.\nSee `*.rs`, `cargo x.rs`.\n";
        let tree = Tree::from_files(&[("CONTRIBUTING.md", page), ("core/src/a.rs", "")]);
        let found: Vec<_> = check(&tree).iter().map(|finding| finding.text.clone()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`src/b.rs`"), "{found:?}");
    }
}
