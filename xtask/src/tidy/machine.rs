//! No file names a path that exists on one machine only.

use super::{Finding, tree::Tree};

/// Each is written in two parts, so that this file does not find itself.
const PLACES: [&str; 4] =
    [concat!("/", "work"), concat!("/", "root"), concat!("/", "home"), concat!("/", "Users")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| !file.is_recorded_data()) {
        for (number, line) in file.lines() {
            if let Some(place) = place(line) {
                let text = format!(
                    "`{place}` is a path of one machine; make it relative to the root, or take it \
                     from the environment"
                );
                findings.push(Finding::new(&file.path, number, text));
            }
        }
    }
    findings
}

/// A path that begins in one of these places. `core/root/x`, `./root/x` and `https://host/root/x`
/// do not.
fn place(line: &str) -> Option<&'static str> {
    PLACES.into_iter().find(|place| {
        line.match_indices(place).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + place.len()..].chars().next();
            before.is_none_or(|before| !before.is_alphanumeric() && !"._-~)}*>".contains(before))
                && after == Some('/')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found() {
        for line in ["cd /X/main", "\"/X/a\"", "file:///X/a", "(/X/a)", "HOME=/X/.cargo"] {
            for place in PLACES {
                let text = format!("first\n{}\n", line.replace("/X", place));
                let found = check(&Tree::from_files(&[("README.md", &text)]));
                assert_eq!(found.len(), 1, "{text}");
                assert_eq!(found[0].line, 2);
            }
        }
    }

    #[test]
    fn a_path_below_something_else_is_no_finding() {
        for line in
            ["core/X/a", "./X/a", "${dir}/X/a", "https://example.org/X/a", "/Xshop/a", "a /X b"]
        {
            let text = line.replace("/X", PLACES[0]);
            assert_eq!(check(&Tree::from_files(&[("README.md", &text)])), [], "{text}");
        }
        let data = format!("{{\"folder\":\"{}/a\"}}", PLACES[0]);
        assert_eq!(
            check(&Tree::from_files(&[("tests/fixtures/scheduler/x/agent.json", &data)])),
            []
        );
    }
}
