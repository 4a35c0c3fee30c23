//! docs/performance.md was measured not long before the newest change of the core.

use std::{path::Path, process::Command};

use super::{Finding, tree::Tree};

const PAGE: &str = "docs/performance.md";

/// What the bench writes before the commit that it measured (tests/src/bench/page.rs).
const SAYS: &str = "One run of commit `";

/// The number of commits that may have changed the core since.
const MOST: usize = 100;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let finding = |line: usize, text: String| {
        vec![Finding::new(PAGE, line, format!("{text}: `cargo xtask bench --page {PAGE}`"))]
    };
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let said = page
        .text
        .lines()
        .enumerate()
        .find_map(|(at, line)| Some((at + 1, line.split_once(SAYS)?.1.split_once('`')?.0)));
    let Some((line, commit)) = said else {
        return finding(0, "it does not say which commit was measured; write it anew".into());
    };
    match commits_since(commit) {
        Some(since) if since > MOST => {
            let text = format!(
                "{since} commits have changed the core since, more than {MOST}; measure it anew"
            );
            finding(line, text)
        }
        Some(_) => Vec::new(),
        None => {
            // A tree without its history, as from an archive or a shallow clone.
            anstream::eprintln!(
                "tidy: the age of {PAGE} was not checked, because git has no {commit}"
            );
            Vec::new()
        }
    }
}

/// The number of commits since this one that changed the core; `None` if git does not have it.
fn commits_since(commit: &str) -> Option<usize> {
    let counted = Command::new("git")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .args(["rev-list", "--count", &format!("{commit}..HEAD"), "--", "../core/src"])
        .output()
        .ok()?;
    String::from_utf8(counted.stdout).ok()?.trim().parse().ok().filter(|_| counted.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_names_no_commit_is_found() {
        let found = |text: &str| check(&Tree::from_files(&[(PAGE, text)]));
        assert_eq!(found("# What things cost").len(), 1);
        assert!(found(&format!("{SAYS}HEAD`, whole.")).is_empty(), "nothing changed since");
        assert_eq!(commits_since("no-such-commit"), None);
    }
}
