//! The payloads that the WIT names are in the published schema.

use super::{Finding, tree::Tree};

const FOLDER: &str = "wasm/wit/";
const SCHEMA: &str = "docs/wakeful.schema.json";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let schema = tree.file(SCHEMA).map_or("", |file| &file.text);
    let is_wit = |path: &str| path.starts_with(FOLDER) && path.ends_with(".wit");
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| is_wit(&file.path)) {
        for (number, line) in file.lines() {
            let unknown =
                payloads(line).filter(|name| !schema.contains(&format!("\"{name}\": {{")));
            findings.extend(unknown.map(|name| {
                let text = format!("the payload `{name}` is not in {SCHEMA}; name one that is");
                Finding::new(&file.path, number, text)
            }));
        }
    }
    findings
}

/// The names in backticks that are written like a type.
fn payloads(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_the_schema_lacks_is_found() {
        let wit = "/// Takes a `Fact`, and gives\n/// a `Recipe` or an `entry`.\n";
        let tree = Tree::from_files(&[
            ("wasm/wit/1/a.wit", wit),
            (SCHEMA, "{ \"$defs\": { \"Fact\": {} } }"),
        ]);
        let found: Vec<_> =
            check(&tree).iter().map(|finding| (finding.line, finding.text.clone())).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, 2);
        assert!(found[0].1.contains("`Recipe`"), "{found:?}");
    }
}
