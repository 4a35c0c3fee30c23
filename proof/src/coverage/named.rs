//! Finds the tests that name a rule.
//!
//! A scenario names it in an observed decision (`rule=8.timer`), a fixture in an expected one
//! (`"rule": "8.timer"`), an explanation if it has fired, and a Rust test if its body has the id as
//! text. A list outside of tests does not count, because it may be a list of exceptions.

use std::{collections::BTreeMap, fs, io, path::Path};

use xtask::{
    call::Failure,
    paths::{Paths, files_below},
};

/// The folders with tests.
const FOLDERS: [&str; 5] = ["tests", "host-native/tests", "agent/tests", "cli/tests", "core/src"];

/// For each rule, the places of the tests that name it.
pub(super) fn tests_by_rule(
    paths: &Paths,
    rules: &[&str],
) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut named: BTreeMap<String, Vec<String>> =
        rules.iter().map(|rule| ((*rule).to_owned(), Vec::new())).collect();
    for folder in FOLDERS {
        let unread = |why: io::Error| Failure::new(format!("cannot read {folder}: {why}"));
        for file in files_below(&paths.at(folder)).map_err(unread)? {
            let path = file
                .strip_prefix(paths.root())
                .unwrap_or(&file)
                .to_string_lossy()
                .replace('\\', "/");
            if !matches!(extension(&file), "txt" | "json" | "rs") {
                continue;
            }
            let text = fs::read_to_string(&file).map_err(unread)?;
            for (rule, tests) in &mut named {
                tests.extend(naming(&path, extension(&file), &text, rule));
            }
        }
    }
    Ok(named)
}

fn extension(file: &Path) -> &str {
    file.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// The tests of one file that name a rule.
fn naming(path: &str, extension: &str, text: &str, rule: &str) -> Vec<String> {
    let whole = |is: bool| if is { vec![path.to_owned()] } else { Vec::new() };
    match extension {
        "txt" => {
            let observed = format!("rule={rule}");
            whole(text.lines().any(|line| {
                let mut words = line.split_whitespace();
                words.clone().any(|word| word == observed)
                    || (words.next() == Some(rule) && words.next() == Some("fired"))
            }))
        }
        "json" => whole(
            text.contains(&format!("\"rule\": \"{rule}\""))
                || text.contains(&format!("\"rule\":\"{rule}\"")),
        ),
        _ => test_bodies(text)
            .filter(|(_, body)| body.contains(&format!("\"{rule}\"")))
            .map(|(name, _)| format!("{path}: {name}"))
            .collect(),
    }
}

/// The tests of a formatted Rust file, each with name and body.
fn test_bodies(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("#[test]\n").filter_map(|(at, _)| {
        let line_start = text[..at].rfind('\n').map_or(0, |before| before + 1);
        let indent = &text[line_start..at];
        let rest = &text[at..];
        let body = &rest[..rest.find(&format!("\n{indent}}}")).unwrap_or(rest.len())];
        let name = body.split_once("fn ")?.1.split('(').next()?;
        Some((name, body))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_names_the_rules_that_it_observed() {
        let text = "# rule=9.sleep in a comment would be one word too\n\
                    step\n\
                    ----\n\
                    5 events scheduler_decision Sleep x rule=9.sleep item=a\n\
                    8.timer   fired\n\
                    8.task    needs current\n";
        let of = |rule| naming("tests/scenarios/a.txt", "txt", text, rule).len();
        assert_eq!((of("9.sleep"), of("9.slee"), of("8.timer"), of("8.task")), (1, 0, 1, 0));
    }

    #[test]
    fn a_fixture_names_the_rule_that_it_expects() {
        let of = |text| {
            naming("tests/fixtures/scheduler/a/expected.json", "json", text, "8.timer").len()
        };
        assert_eq!(
            (
                of("{\n  \"rule\": \"8.timer\"\n}"),
                of("{\"rule\":\"8.timer\"}"),
                of("{\"reason\": \"8.timer\"}")
            ),
            (1, 1, 0)
        );
    }

    #[test]
    fn a_rust_test_names_a_rule_in_its_body_and_a_list_does_not() {
        let text = "const BEYOND: [&str; 1] = [\"1.closing\"];\n\n\
                    #[test]\n\
                    fn a_timer_is_waited_for() {\n\
                    \x20   is(\"8.timer\");\n\
                    }\n\n\
                    fn other() {\n\
                    \x20   is(\"8.task\");\n\
                    }\n\n\
                    mod inner {\n\
                    \x20   #[test]\n\
                    \x20   fn indented() {\n\
                    \x20       is(\"9.sleep\");\n\
                    \x20   }\n\
                    }\n";
        let of = |rule| naming("tests/all/a.rs", "rs", text, rule);
        assert_eq!(of("8.timer"), ["tests/all/a.rs: a_timer_is_waited_for"]);
        assert_eq!(of("9.sleep"), ["tests/all/a.rs: indented"]);
        assert_eq!((of("1.closing").len(), of("8.task").len()), (0, 0));
    }
}
