//! Checks docs/proof.md: it is current, every statement has a method, and every test that it names
//! exists.

use xtask::tidy::{Finding, tree::Tree};

use super::{
    FOUND, PAGE,
    methods::METHODS,
    text::{self, named_tests},
};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let made = match text::page(tree) {
        Ok(made) => made,
        Err(why) => return vec![Finding::new(PAGE, 0, why)],
    };
    let mut findings = Vec::new();
    if tree.file(PAGE).is_none_or(|file| file.text != made) {
        findings.push(Finding::new(PAGE, 0, "it is stale; run `cargo xtask proof`"));
    }
    for number in text::without_method(tree) {
        let finding =
            format!("no method checks `{number}` of the contract; cite it in a test of one");
        findings.push(Finding::new(PAGE, 0, finding));
    }
    let is_there =
        |file: &str, test: &str| tree.file(file).is_some_and(|file| has(&file.text, test));
    for (file, test) in
        METHODS.iter().flat_map(|method| method.fails).filter(|(file, test)| !is_there(file, test))
    {
        let text =
            format!("it says that a method fails in `{test}` of {file}, and there is no such test");
        findings.push(Finding::new("proof/src/page/methods.rs", 0, text));
    }
    let found = tree.file(FOUND).map_or("", |file| &file.text);
    for (line, test) in named_tests(found).filter(|(_, test)| {
        !tree.files.iter().any(|file| has(&file.text, test) || file.path.ends_with(test))
    }) {
        findings.push(Finding::new(
            FOUND,
            line,
            format!("there is no test `{test}`; name the one that holds this now"),
        ));
    }
    findings
}

/// Whether a text has a test of this name, in Rust, JavaScript or Python.
fn has(text: &str, test: &str) -> bool {
    [format!("fn {test}("), format!("test(\"{test}\""), format!("def {test}(")]
        .iter()
        .any(|named| text.contains(named.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_that_no_test_holds_is_found() {
        let bugs = "# Bugs\n\n\
                    | what | cause | held by |\n\
                    |---|---|---|\n\
                    | a | b | `it_holds` |\n\
                    | c `code` | d | `it_is_gone`, `a story.txt` |\n";
        let tree =
            Tree::from_files(&[(FOUND, bugs), ("tests/all/a.rs", "#[test]\nfn it_holds() {}\n")]);
        let found: Vec<String> =
            check(&tree).into_iter().map(|finding| finding.to_string()).collect();
        let of = |what: &str| found.iter().filter(|finding| finding.contains(what)).count();
        assert_eq!(
            (of("`it_holds`"), of("`it_is_gone`"), of("`a story.txt`"), of("`code`")),
            (0, 1, 1, 0),
            "{found:?}"
        );
        assert!(
            found.iter().any(|finding| finding.starts_with("docs/proof/found.md:6: ")),
            "{found:?}"
        );
    }

    #[test]
    fn the_page_of_this_tree_is_what_the_tree_says() {
        let tree =
            xtask::tidy::read(&xtask::paths::Paths::find().expect("the root")).expect("the tree");
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_page_of_another_tree_is_found() {
        let tree = Tree::from_files(&[("core/src/a.rs", "// D7\n"), (PAGE, "# How it is known\n")]);
        let found: Vec<String> =
            check(&tree).into_iter().map(|finding| finding.to_string()).collect();
        assert!(
            found.iter().any(|finding| finding.contains("run `cargo xtask proof`")),
            "{found:?}"
        );
        assert!(
            found.iter().any(|finding| finding.contains("no method checks `5.4`")),
            "{found:?}"
        );
    }
}
