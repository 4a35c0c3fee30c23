//! Every fixture folder has an agent and an expected result.

use std::collections::BTreeSet;

use super::{Finding, tree::Tree};

const FOLDER: &str = "tests/fixtures/scheduler";
const NEEDED: [&str; 2] = ["agent.json", "expected.json"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let below = |path: &str| {
        path.strip_prefix(FOLDER).and_then(|rest| rest.strip_prefix('/')).map(str::to_owned)
    };
    let cases: BTreeSet<String> = tree
        .files
        .iter()
        .filter_map(|file| below(&file.path)?.split_once('/').map(|(case, _)| case.to_owned()))
        .collect();
    if cases.is_empty() {
        return vec![Finding::new(
            FOLDER,
            0,
            "no fixture folder is here; engines would be compared by nothing",
        )];
    }
    let mut findings = Vec::new();
    for case in cases {
        let folder = format!("{FOLDER}/{case}");
        for name in
            NEEDED.into_iter().filter(|name| tree.file(&format!("{folder}/{name}")).is_none())
        {
            findings.push(Finding::new(
                &folder,
                0,
                format!("`{name}` is missing; add it, or take the folder away"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_its_files_is_found() {
        let tree = Tree::from_files(&[
            ("tests/fixtures/scheduler/README.md", ""),
            ("tests/fixtures/scheduler/a/agent.json", "{}"),
            ("tests/fixtures/scheduler/a/expected.json", "{}"),
            ("tests/fixtures/scheduler/b/expected.json", "{}"),
            ("tests/fixtures/scheduler/c/.state/tasks.jsonl", ""),
        ]);
        let found: Vec<String> = check(&tree)
            .iter()
            .map(|finding| format!("{} {}", finding.path, &finding.text[..12]))
            .collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("tests/fixtures/scheduler/b `agent.json"), "{}", found[0]);
    }

    #[test]
    fn no_folder_at_all_is_found() {
        assert_eq!(
            check(&Tree::from_files(&[("tests/fixtures/stories/heartbeat.json", "{}")])).len(),
            1
        );
    }
}
