//! The scheduler fixtures, in the native core and in the sandbox.

use wakeful::{
    case::{self, CaseKind},
    compare,
    trace::{Trace, Tracer},
};
use wakeful_core::{foreign::Folder, json};
use wakeful_host::sandbox::Guest;
use wakeful_tests::paths;

fn fixtures() -> Vec<case::Case> {
    case::load_all(&[paths::data("fixtures/scheduler")]).expect("the fixtures load")
}

/// The contents of `expected.json`, and what was found.
fn expected_and_found(trace: &Trace) -> (String, String) {
    #[derive(serde::Deserialize)]
    struct Replayed {
        expected: Box<serde_json::value::RawValue>,
        found: Box<serde_json::value::RawValue>,
    }
    let outcome = trace.steps.first().expect("a replay has one step").outcome.get();
    let replayed: Replayed = serde_json::from_str(outcome)
        .unwrap_or_else(|why| panic!("{}: {why}: {outcome}", trace.case));
    (replayed.expected.get().to_owned(), replayed.found.get().to_owned())
}

/// Replays every fixture and compares what was found with what is expected.
fn replay_all(mut tracer: Tracer) {
    let cases = fixtures();
    assert!(cases.len() >= 60, "there are at least sixty fixtures, found {}", cases.len());
    for case in &cases {
        let trace = tracer.trace(case).expect("a trace");
        let (expected, found) = expected_and_found(&trace);
        assert_eq!(expected, found, "{} in {}", case.name, tracer.name());
    }
}

#[test]
fn every_fixture_replays_as_expected_in_the_native_core() {
    replay_all(Tracer::Native);
}

#[test]
fn every_fixture_replays_as_expected_in_the_sandbox() {
    replay_all(
        Tracer::sandboxed(
            &Guest::load(&paths::guest("wakeful.component.wasm")).expect("the guest loads"),
        )
        .expect("the guest fits"),
    );
}

#[test]
fn every_fixture_asserts_closure_posture_decision_reason_rule_and_evidence() {
    for case in fixtures() {
        let CaseKind::Fixture(folder) = &case.kind else {
            panic!("{} is not a fixture", case.name)
        };
        let expected = wakeful_core::foreign::expected::Expected::of_fixture(folder)
            .expect("expected.json reads");
        assert!(expected.closure.is_some() && expected.posture.is_some(), "{}", case.name);
        assert!(expected.decision.is_some() && expected.decision_reason.is_some(), "{}", case.name);
        assert!(expected.rule.is_some() && expected.evidence.is_some(), "{}", case.name);
    }
}

/// RFC, *Ledger Replay Tests*: each bullet there has a fixture.
#[test]
fn the_six_ledger_replay_tests_of_the_rfc_are_there() {
    let names: Vec<String> = fixtures().into_iter().map(|case| case.name).collect();
    for name in [
        "terminal_task_before_result",
        "dequeued_message_replays",
        "wake_hint_survives",
        "current_item_with_followup",
        "blocked_item_with_intent",
        "baseline_over_budget_terminal",
    ] {
        assert!(names.iter().any(|known| known == name), "`{name}` is missing");
    }
}

#[test]
fn the_heartbeat_has_one_head_in_both_native_engines() {
    let guest = Guest::load(&paths::guest("wakeful.component.wasm")).expect("the guest loads");
    let cases =
        case::load_all(&[paths::data("fixtures/stories/heartbeat.json")]).expect("the story loads");
    let native = Tracer::Native.trace(&cases[0]).expect("a trace");
    let wasm =
        Tracer::sandboxed(&guest).expect("the guest fits").trace(&cases[0]).expect("a trace");
    assert_eq!(compare::first_difference(&native, &wasm), None);
    let summary = native.summary().expect("the story ends with an explanation");
    assert_eq!(summary.decision.rule, "8.timer", "the agent rests and waits for its timer");
}

/// The short form may also be one array per class.
#[test]
fn a_class_may_be_an_array_in_a_json_file() {
    let lines = r#"{"id":"nightly"}"#;
    let files = |name: &str, text: &str| {
        Folder::from([
            ("agent.json".to_owned(), "{}".to_owned()),
            (name.to_owned(), text.to_owned()),
        ])
    };
    let at = wakeful_core::time::Timestamp::from_nanos(0);
    let import = |folder: &Folder| {
        wakeful_core::machine::import::Import::of_folder(folder, at).expect("reads")
    };
    let by_line = import(&files("ledger/timers.jsonl", lines));
    let by_array = import(&files(
        "ledger/timers.json",
        &json::write(&[json::read::<json::RawJson>(lines).expect("json")]),
    ));
    assert_eq!(by_line, by_array);
}
