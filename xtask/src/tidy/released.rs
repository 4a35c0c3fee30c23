//! The files of a released world never change, because hosts are built on them.

use super::{Finding, tree::Tree};

/// The folder of the versions, and the list of released files.
const WORLDS: &str = "wasm/wit/";
const LIST: &str = "wasm/wit/released.txt";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(list) = tree.file(LIST) else {
        return vec![Finding::new(
            LIST,
            0,
            "the list of released worlds is missing; bring it back",
        )];
    };
    let lines = list.lines().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let released: Vec<(usize, &str, &str)> = lines
        .map(|(number, line)| {
            // The form that `b3sum` prints. A line without a hash matches no file and is reported.
            line.split_once("  ").map_or((number, "", line), |(hash, path)| (number, hash, path))
        })
        .collect();
    let mut findings = Vec::new();
    for (number, hash, path) in &released {
        let text = match tree
            .file(&format!("{WORLDS}{path}"))
            .map(|file| blake3::hash(file.text.as_bytes()))
        {
            Some(found) if found.to_hex().as_str() == *hash => continue,
            Some(_) => format!(
                "`{path}` is released and has changed; undo that, and make a folder for the next \
                 version"
            ),
            None => format!("`{path}` is released and missing; bring it back"),
        };
        findings.push(Finding::new(LIST, *number, text));
    }
    for path in tree.files.iter().filter_map(|file| file.path.strip_prefix(WORLDS)) {
        let is_of_version = |(version, _): (&str, &str)| {
            released.iter().any(|(.., listed)| listed.starts_with(&format!("{version}/")))
        };
        if path.split_once('/').is_some_and(is_of_version)
            && !released.iter().any(|(.., listed)| *listed == path)
        {
            findings.push(Finding::new(
                LIST,
                0,
                format!(
                    "`{path}` came after the release of its version; make a folder for the next \
                     one"
                ),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_released_world_that_changed_or_went_or_came_is_found() {
        let list = format!(
            "# Released.\n\n{}  1.0.0/a.wit\n{}  1.0.0/b.wit\n",
            blake3::hash(b"a"),
            blake3::hash(b"b")
        );
        let found = |files: &[(&str, &str)]| {
            let tree = Tree::from_files(
                &[&[(LIST, list.as_str()), ("wasm/wit/1.1.0/a.wit", "next")], files].concat(),
            );
            check(&tree)
                .into_iter()
                .map(|finding| format!("{}:{}", finding.line, finding.text))
                .collect::<Vec<_>>()
        };
        let (a, b) = (("wasm/wit/1.0.0/a.wit", "a"), ("wasm/wit/1.0.0/b.wit", "b"));
        assert_eq!(found(&[a, b]), [""; 0]);
        assert!(
            found(&[(a.0, "a "), b])[0].starts_with("3:`1.0.0/a.wit` is released and has changed")
        );
        assert!(found(&[a])[0].starts_with("4:`1.0.0/b.wit` is released and missing"));
        assert!(
            found(&[a, b, ("wasm/wit/1.0.0/c.wit", "c")])[0]
                .starts_with("0:`1.0.0/c.wit` came after")
        );
        assert_eq!(check(&Tree::from_files(&[])).len(), 1, "the list itself");
    }
}
