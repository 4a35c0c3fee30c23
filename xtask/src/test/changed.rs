//! What `cargo xtask test --quick` runs: the tests of the core, the scenarios, the fixtures, and
//! the tests of the crates that differ from the last commit.

use std::collections::BTreeSet;

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The folders of crates with native tests, and their packages. A folder comes before those that it
/// is in.
const CRATES: [(&str, &str); 8] = [
    ("core/json/", "wakeful-json"),
    ("core/", "wakeful-core"),
    ("host-native/", "wakeful-host"),
    ("agent/", "wakeful-agent"),
    ("serve/", "wakeful-serve"),
    ("cli/", "wakeful"),
    ("xtask/", "xtask"),
    ("proof/", "wakeful-proof"),
];

/// The calls. The first one has the tests that judge a decision.
pub(super) fn tests(paths: &Paths) -> Result<Vec<Call>, Failure> {
    let cargo = |log: &str| Call::cargo(paths, log, "test");
    let mut calls =
        vec![cargo("quick-core").args(["-p", "wakeful-core", "-p", "wakeful-tests"]).args([
            "--lib",
            "--test",
            "decides",
            "--no-fail-fast",
        ])];
    for package in changed(&diff(paths)?) {
        if package != "wakeful-core" {
            calls.push(cargo(&format!("quick-{package}")).args(["-p", package, "--no-fail-fast"]));
        }
    }
    Ok(calls)
}

/// The files that differ from the last commit, also new ones.
fn diff(paths: &Paths) -> Result<String, Failure> {
    let call = Call::new(paths, "quick-diff", "git");
    call.args(["status", "--porcelain", "--untracked-files=all"]).answer()
}

fn changed(status: &str) -> BTreeSet<&'static str> {
    // Two letters and a blank come before the path; a renamed file has its new path last.
    let files = status.lines().filter_map(|line| line.get(3..)?.rsplit(" -> ").next());
    files
        .filter_map(|file| CRATES.iter().find(|(folder, _)| file.starts_with(folder)))
        .map(|(_, package)| *package)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_innermost_crate() {
        let status =
            " M core/src/ladder/rule.rs\n?? cli/a.rs\nR  a -> core/json/b.rs\n M README.md\n";
        assert_eq!(
            changed(status).into_iter().collect::<Vec<_>>(),
            ["wakeful", "wakeful-core", "wakeful-json"]
        );
    }
}
