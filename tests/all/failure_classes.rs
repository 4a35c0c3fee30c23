//! The failures that other runtimes had in practice, and where the tests show that they cannot
//! happen here.
//!
//! Each class has a scenario with its name. If a fixture or another scenario shows a part of it,
//! the description or comment names the class, as in `(F2)`.

use std::{collections::BTreeSet, fs};

use wakeful::case;
use wakeful_tests::paths;

/// What else shows that a failure class cannot happen here.
enum Place {
    /// A fixture or another scenario whose description names the class, as in `(F2)`.
    Told,
    /// This test, over every sequence of failures and not only those of a story.
    Test(&'static str, &'static str),
    /// Nothing else: it needs arrivals, which no imported ledger owes.
    Driver,
}

/// The failure classes, by number.
const FAILURE_CLASSES: [(u8, &str, Place); 25] = [
    (1, "work is lost or frozen over a restart", Place::Told),
    (2, "a wake is matched by its kind, not by what it names", Place::Told),
    (3, "two stored authorities for one fact drift apart", Place::Told),
    (4, "a bad message at the head blocks the queue", Place::Told),
    (5, "ticks are doubled, or spin without progress", Place::Told),
    (6, "a transition is recorded by half", Place::Told),
    (7, "stale waits pile up or outlive their owner", Place::Told),
    (8, "a deadline or recheck never fires, or fires without effect", Place::Driver),
    (9, "an error stops the loop and nobody notices", Place::Told),
    (10, "a change that does not matter invalidates a plan", Place::Told),
    (11, "what has ended comes back", Place::Told),
    (
        12,
        "trouble of the storage runs the model again",
        Place::Test("tests/all/outbox.rs", "effects_come_out_of_committed_only_and_once"),
    ),
    (13, "what was offered is offered for ever, or never again", Place::Told),
    (14, "a follow-up for recovery is dropped or captured", Place::Told),
    (15, "work is attributed to the wrong item", Place::Told),
    (16, "completion does not end an item", Place::Told),
    (17, "surfaces disagree about what is waited for", Place::Told),
    (18, "timers storm, drift or are forgotten", Place::Told),
    (19, "a shutdown races with what is started", Place::Told),
    (20, "operator input aborts, is ignored or passes a stop", Place::Told),
    (21, "a child's work blocks its parent or ends with it", Place::Told),
    (22, "an upgrade changes the rules under a ledger", Place::Told),
    (23, "what is true depends on how much history is read", Place::Told),
    (24, "a wait is registered that nothing can end", Place::Told),
    (25, "one lane or item keeps the others waiting", Place::Told),
];

/// The path of the scenario of a class, below `tests/scenarios`.
fn scenario(number: u8, what: &str) -> String {
    let name: String = what
        .chars()
        .filter(|c| !matches!(c, ',' | '\''))
        .map(|c| if matches!(c, ' ' | '-') { '_' } else { c })
        .collect();
    format!("failure_classes/{number:02}_{name}.txt")
}

/// The comments of a scenario.
fn comments(text: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn every_failure_class_has_a_scenario_of_its_name() {
    let folder = paths::data("scenarios/failure_classes");
    let files = fs::read_dir(&folder)
        .expect("a folder of scenarios")
        .map(|file| file.expect("a file").file_name());
    let found: BTreeSet<_> =
        files.map(|name| format!("failure_classes/{}", name.to_string_lossy())).collect();
    let wanted: BTreeSet<_> =
        FAILURE_CLASSES.iter().map(|(number, what, _)| scenario(*number, what)).collect();
    assert_eq!((found.len(), &found), (25, &wanted));
    for (number, what, _) in &FAILURE_CLASSES {
        let text = fs::read_to_string(paths::data("scenarios").join(scenario(*number, what)))
            .expect("a scenario");
        assert!(
            text.starts_with(&format!("# F{number}. Elsewhere ")),
            "F{number} must first say what went wrong elsewhere"
        );
        assert!(
            comments(&text).iter().any(|line| line.starts_with("# Here ")),
            "F{number} must then say what is right here"
        );
        assert!(text.contains("\n----\n"), "F{number} must show something");
    }
}

#[test]
fn every_failure_class_is_shown_elsewhere_too() {
    let fixtures = case::load_all(&[paths::data("fixtures/scheduler")]).expect("the fixtures load");
    let descriptions = fixtures.iter().map(|case| case.shows().to_owned());
    let others = paths::scenarios()
        .into_iter()
        .filter(|path| !path.starts_with(paths::data("scenarios/failure_classes")));
    let told: Vec<String> = descriptions
        .chain(others.flat_map(|path| comments(&fs::read_to_string(path).expect("a scenario"))))
        .collect();
    for (at, (number, what, place)) in FAILURE_CLASSES.iter().enumerate() {
        assert_eq!(usize::from(*number), at + 1, "the classes are numbered without gaps");
        let name = format!("F{number}");
        let is_told = told
            .iter()
            .any(|text| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name));
        match place {
            Place::Told => assert!(is_told, "no fixture or scenario names {name}: {what}"),
            Place::Test(file, test) => {
                let text =
                    fs::read_to_string(paths::root().join(file)).expect("the file of the test");
                assert!(
                    text.contains(&format!("#[test]\nfn {test}()")),
                    "{file} has no test `{test}`, which shows {name}: {what}"
                );
            }
            Place::Driver => {
                assert!(!is_told, "a fixture or scenario names {name} now: change its row ({what})")
            }
        }
    }
}
