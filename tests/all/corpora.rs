//! Replays the inputs that the fuzzer has kept. `cargo xtask fuzz` looks for more.

use std::fs;

use wakeful_tests::{
    fuzz::{TARGETS, Target},
    paths,
};

/// Feeds all kept inputs of a target to it.
fn replay(name: &str) {
    let target: Target = TARGETS.iter().find(|(known, _)| *known == name).expect("a target").1;
    let folder = paths::tree("fuzz/corpus").join(name);
    let kept = fs::read_dir(&folder).expect("a corpus").map(|file| file.expect("a file").path());
    let mut kept: Vec<_> = kept.collect();
    kept.sort();
    assert!(kept.len() >= 3, "{} inputs in {}", kept.len(), folder.display());
    for path in kept {
        // The test harness shows this if the test fails.
        println!("{}", path.display());
        target(&fs::read(&path).expect("an input"));
    }
}

#[test]
fn facts_that_were_kept_break_nothing() {
    replay("facts");
}

#[test]
fn folders_that_were_kept_break_nothing() {
    replay("foreign");
}

#[test]
fn ledgers_that_were_kept_break_nothing() {
    replay("ledger");
}

#[test]
fn calls_that_were_kept_do_not_end_the_guest() {
    assert!(paths::guest("wakeful.component.wasm").is_file(), "the target loads it");
    replay("exports");
}

#[test]
fn every_target_of_the_fuzzer_is_replayed() {
    let source = include_str!("corpora.rs");
    for (name, _) in TARGETS {
        assert!(source.contains(&format!("replay(\"{name}\")")), "{name}");
        assert!(
            paths::tree("fuzz/targets").join(format!("{name}.rs")).is_file(),
            "{name} has a target"
        );
    }
}
