//! The name of a file or folder says what it is; some words say nothing.

use std::collections::BTreeSet;

use super::{Finding, tree::Tree};

const SAY_NOTHING: [&str; 8] =
    ["manager", "handler", "helper", "util", "utils", "common", "misc", "processor"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut paths = BTreeSet::new();
    for file in &tree.files {
        // Report each folder once, not once per file.
        for (end, _) in file.path.match_indices('/') {
            paths.insert(&file.path[..end]);
        }
        paths.insert(file.path.as_str());
    }
    paths.into_iter().filter_map(finding).collect()
}

fn finding(path: &str) -> Option<Finding> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let word = words(name).into_iter().find(|word| {
        SAY_NOTHING.iter().any(|nothing| word == nothing || *word == format!("{nothing}s"))
    })?;
    Some(Finding::new(
        path,
        0,
        format!("`{word}` says nothing about what is in it; name it for what it is"),
    ))
}

/// The words of `wake_hintList.test.rs`: wake, hint, list, test, rs.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if letter.is_alphanumeric() {
            words.last_mut().map(|word| word.extend(letter.to_lowercase())).unwrap_or_default();
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_say_nothing_are_found_in_files_and_folders() {
        let tree = Tree::from_files(&[
            ("core/src/utils/time.rs", ""),
            ("core/src/utils/zone.rs", ""),
            ("web-demo/src/EventHandlers.ts", ""),
            ("core/src/task_manager.rs", ""),
            ("core/src/commons.rs", ""),
        ]);
        let paths: Vec<String> = check(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(
            paths,
            [
                "core/src/commons.rs",
                "core/src/task_manager.rs",
                "core/src/utils",
                "web-demo/src/EventHandlers.ts"
            ]
        );
    }

    #[test]
    fn a_word_inside_another_word_is_no_finding() {
        let tree = Tree::from_files(&[
            ("core/src/utilisation.rs", ""),
            ("core/src/uncommon.rs", ""),
            ("core/src/task.rs", ""),
        ]);
        assert_eq!(check(&tree), []);
        assert_eq!(words("wake_hintList.test.rs"), ["wake", "hint", "list", "test", "rs"]);
    }
}
