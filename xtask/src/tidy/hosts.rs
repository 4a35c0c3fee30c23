//! Packages come from the public registries, and no file names another one.

use super::{
    Finding,
    tree::{File, Tree},
};

/// The sources that lock files may name.
const PUBLIC: [&str; 2] =
    ["https://github.com/rust-lang/crates.io-index", "https://registry.npmjs.org/"];

/// The settings that make a package tool use another registry.
const SETTINGS: [&str; 5] = ["replace-with", "[registries", "[source.", "registry=", "registry ="];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(host) = strange_source(file, line) {
                let text = format!(
                    "`{host}` is not a public registry; write the lock again with the public one"
                );
                findings.push(Finding::new(&file.path, number, text));
            }
            if names_a_registry(file, line) {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    "a registry is set here; leave the choice to each developer's own \
                     configuration",
                ));
            }
        }
    }
    findings
}

/// The host of a package source in a lock file, if it is not public.
fn strange_source<'a>(file: &File, line: &'a str) -> Option<&'a str> {
    if !file.is_lock() {
        return None;
    }
    // Cargo.lock says `source = "registry+https://..."`, package-lock.json `"resolved":
    // "https://..."`; other addresses there are for donations.
    let is_source =
        line.starts_with("source = ") || line.trim_start().starts_with("\"resolved\": ");
    let address = line.split('"').find(|part| part.contains("://"))?;
    let address = address.split_once('+').map_or(address, |(_, address)| address);
    (is_source && !PUBLIC.iter().any(|public| address.starts_with(public))).then_some(address)
}

fn names_a_registry(file: &File, line: &str) -> bool {
    let line = line.trim_start();
    let is_setting = matches!(file.name(), ".npmrc" | "config.toml" | ".yarnrc" | "Cargo.toml");
    is_setting
        && SETTINGS
            .iter()
            .any(|setting| line.starts_with(setting) || line.contains(&format!(" {setting}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_registry_is_found_in_locks_and_settings() {
        let tree = Tree::from_files(&[
            (
                "Cargo.lock",
                "version = 4\nsource = \"sparse+https://packages.example.org/cargo/\"\n",
            ),
            (
                "web-demo/package-lock.json",
                "{\n  \"resolved\": \"https://packages.example.org/react.tgz\",\n",
            ),
            ("web-demo/.npmrc", "registry=https://packages.example.org/\n"),
            (".cargo/config.toml", "[source.crates-io]\nreplace-with = \"mirror\"\n"),
            ("core/Cargo.toml", "blake3 = { version = \"1\", registry = \"mirror\" }\n"),
        ]);
        let found: Vec<String> = check(&tree)
            .iter()
            .map(|finding| format!("{}:{}", finding.path, finding.line))
            .collect();
        let expected = [
            "Cargo.lock:2",
            "web-demo/package-lock.json:2",
            "web-demo/.npmrc:1",
            ".cargo/config.toml:1",
            ".cargo/config.toml:2",
            "core/Cargo.toml:1",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_public_registries_are_no_finding() {
        let tree = Tree::from_files(&[
            ("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"),
            (
                "web-demo/package-lock.json",
                "  \"resolved\": \"https://registry.npmjs.org/react/-/react.tgz\",\n  \"url\": \"https://opencollective.com/x\"\n",
            ),
        ]);
        assert_eq!(check(&tree), []);
    }
}
