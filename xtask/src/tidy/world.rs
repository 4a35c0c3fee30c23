//! docs/world.md matches its WIT, and the payloads that it names are in the schema.

use super::{Finding, tree::Tree};
use crate::world::{FOLDER, PAGE, page};

const SCHEMA: &str = "docs/wakeful.schema.json";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| file.path.starts_with(FOLDER));
    let page = match page(files.map(|file| (file.path.as_str(), file.text.as_str()))) {
        Ok(page) => page,
        Err(why) => return vec![Finding::new(FOLDER, 0, why)],
    };
    let mut findings = Vec::new();
    if tree.file(PAGE).is_none_or(|file| file.text != page) {
        findings.push(Finding::new(
            PAGE,
            0,
            format!("it is not what {FOLDER} says; run `cargo xtask world`"),
        ));
    }
    let schema = tree.file(SCHEMA).map_or("", |file| &file.text);
    for name in payloads(&page).filter(|name| !schema.contains(&format!("\"{name}\": {{"))) {
        findings.push(Finding::new(
            FOLDER,
            0,
            format!(
                "it names the payload `{name}`, which {SCHEMA} does not define; name one of those"
            ),
        ));
    }
    findings
}

/// The names in backticks that are written like a type.
fn payloads(page: &str) -> impl Iterator<Item = &str> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted.filter(|word| {
        word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_says_something_else_is_found() {
        let path = format!("{FOLDER}a.wit");
        let wit = "package a:b;\n\
                   interface i {\n\
                   \x20 /// Takes a `Receipt`.\n\
                   \x20 f: func() -> u64;\n\
                   }\n\
                   world w {\n\
                   \x20 import i;\n\
                   }\n";
        let schema = (SCHEMA, "{\"$defs\":{\"Receipt\": {}}}");
        let made = page([(path.as_str(), wit)].into_iter()).expect("a page");
        let found = |wit: &str, page: &str, schema: (&str, &str)| {
            check(&Tree::from_files(&[(&path, wit), (PAGE, page), schema]))
                .into_iter()
                .map(|finding| finding.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(found(wit, &made, schema), [""; 0]);
        assert!(found(wit, "# The world\n", schema)[0].contains("run `cargo xtask world`"));
        assert!(
            found(&wit.replace("u64", "u32"), &made, schema)[0].contains("run `cargo xtask world`")
        );
        assert!(found(wit, &made, (SCHEMA, "{}"))[0].contains("the payload `Receipt`"));
        assert!(found("package", &made, schema)[0].contains("a.wit:1"));
    }
}
