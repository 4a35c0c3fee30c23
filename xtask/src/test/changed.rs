//! What `cargo xtask test --quick` runs: the tests that judge decisions, and those of the crates
//! that differ from the last commit.

use std::collections::BTreeSet;

use crate::{
    call::{Call, Failure},
    native,
    paths::Paths,
};

/// The folders of crates, and their test programs beside those of their libraries.
const CRATES: [(&str, Option<&str>); 6] = [
    ("host-native/", Some("host")),
    ("agent/", Some("agent")),
    ("serve/", Some("serve")),
    ("cli/", Some("cli")),
    ("tests/", Some("all")),
    ("xtask/", None),
];

/// The tests of `wakeful-tests` that judge decisions, and need no guest: the one that is built is
/// older than the change.
const JUDGES: [&str; 5] = [
    "scenarios::",
    "fixtures::every_fixture_replays_as_expected_in_the_native_core",
    "tables::",
    "golden::",
    "bad_facts::",
];

/// The calls. All of them keep the native selection, so that nothing is compiled twice.
pub(super) fn tests(paths: &Paths) -> Result<Vec<Call>, Failure> {
    let cargo = |log: &str| Call::cargo(paths, log, "test").args(native::SELECTION);
    let judges = cargo("quick-judges").args(["--no-fail-fast", "--test", "all", "--"]).args(JUDGES);
    let units = cargo("quick-units").args(["--no-fail-fast", "--lib"]);
    let mut calls = vec![judges, units];
    for name in changed(&diff(paths)?) {
        calls.push(match name {
            Some(name) => cargo(&format!("quick-{name}")).args(["--no-fail-fast", "--test", name]),
            None => Call::cargo(paths, "quick-xtask", "test").args(["-p", "xtask"]),
        });
    }
    Ok(calls)
}

/// The files that differ from the last commit, also new ones.
fn diff(paths: &Paths) -> Result<String, Failure> {
    let call = Call::new(paths, "quick-diff", "git");
    call.args(["status", "--porcelain", "--untracked-files=all"]).answer()
}

fn changed(status: &str) -> BTreeSet<Option<&'static str>> {
    // Two letters and a blank come before the path; a renamed file has its new path last.
    let files = status.lines().filter_map(|line| line.get(3..)?.rsplit(" -> ").next());
    files
        .filter_map(|file| CRATES.iter().find(|(folder, _)| file.starts_with(folder)))
        .map(|(_, tests)| *tests)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_changed_crate_are_added() {
        let status = " M core/src/ladder/rule.rs\n?? cli/a.rs\nR  a -> xtask/b.rs\n M README.md\n";
        assert_eq!(changed(status).into_iter().collect::<Vec<_>>(), [None, Some("cli")]);
    }
}
