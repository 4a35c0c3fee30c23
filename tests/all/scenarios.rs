//! Every file below `tests/scenarios` plays as it says.

use std::{env, fs};

use wakeful_tests::{paths, scenario};

#[test]
fn every_scenario_plays_as_it_says() {
    let names = paths::scenarios();
    assert!(names.len() >= 10, "scenarios are missing: {names:?}");
    let mut wrong = Vec::new();
    for path in names {
        let expected = fs::read_to_string(&path).expect("a scenario");
        let observed = scenario::play(&expected);
        if env::var_os("UPDATE").is_some() {
            fs::write(&path, &observed).expect("the scenario is written");
        } else if expected != observed {
            wrong.push(format!("{}:\n{}", path.display(), diff(&expected, &observed)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nUPDATE=1 records what was observed; review the diff",
        wrong.join("\n")
    );
}

/// The first line in which two texts differ.
fn diff(expected: &str, observed: &str) -> String {
    let lines = expected.lines().zip(observed.lines()).enumerate();
    let differing = lines.into_iter().find(|(_, (expected, observed))| expected != observed);
    differing.map_or_else(
        || {
            format!(
                "  {} lines expected, {} observed",
                expected.lines().count(),
                observed.lines().count()
            )
        },
        |(at, (expected, observed))| {
            format!("  line {}: expected `{expected}`\n  observed `{observed}`", at + 1)
        },
    )
}
