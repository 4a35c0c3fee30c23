//! JSON is kept as text (docs/decisions/002-json-is-kept-as-text.md). This test binary builds
//! serde_json with `preserve_order` and `arbitrary_precision`, the guests without. The same odd
//! JSON gives one head, or one typed error, in all of them.

use serde_json::Value;
use wakeful::{
    case::{self, Case},
    compare,
    trace::{Tracer, Web},
};
use wakeful_host::sandbox::Guest;
use wakeful_tests::paths;

/// Free JSON that engines and libraries often change.
fn odd_values() -> Vec<(&'static str, String)> {
    vec![
        ("unsorted keys", r#"{"b":1,"a":2,"10":3,"9":4}"#.to_owned()),
        ("duplicate keys", r#"{"a":1,"a":2}"#.to_owned()),
        ("a float that is whole", "1.0".to_owned()),
        ("an exponent", "1e2".to_owned()),
        ("minus zero", "-0.0".to_owned()),
        ("2^53+1", "9007199254740993".to_owned()),
        ("2^63", "9223372036854775808".to_owned()),
        ("2^64", "18446744073709551616".to_owned()),
        ("more digits than a float has", "0.1234567890123456789012345".to_owned()),
        ("out of a float's range", "1e400".to_owned()),
        ("a lone surrogate", r#""\ud800""#.to_owned()),
        ("depth 200", format!("{}1{}", "[".repeat(200), "]".repeat(200))),
    ]
}

/// Facts with such JSON in a place in which the core reads a typed value.
fn odd_facts() -> Vec<(&'static str, &'static str)> {
    vec![
        ("a float for an integer", r#"{"fact":"timer_created","timer_id":"t","duration_ms":1.0}"#),
        (
            "an exponent for an integer",
            r#"{"fact":"timer_created","timer_id":"t","duration_ms":1e2}"#,
        ),
        (
            "2^64 for an integer",
            r#"{"fact":"timer_created","timer_id":"t","duration_ms":18446744073709551616}"#,
        ),
        (
            "2^63 for an integer",
            r#"{"fact":"timer_created","timer_id":"big","duration_ms":9223372036854775808}"#,
        ),
        ("a negative integer", r#"{"fact":"timer_created","timer_id":"t","duration_ms":-1}"#),
        (
            "a duplicate field",
            r#"{"fact":"timer_created","timer_id":"t","timer_id":"u","duration_ms":1}"#,
        ),
        ("a lone surrogate in an id", r#"{"fact":"work_item_picked","work_item_id":"\ud800"}"#),
        ("an unknown fact", r#"{"fact":"message_pondered"}"#),
        ("no name", r#"{"timer_id":"t"}"#),
        ("no object", "[1,2]"),
    ]
}

/// The story with all of this JSON. Because it is a story, the page can play it too.
fn story() -> Case {
    let cases =
        case::load_all(&[paths::data("fixtures/stories/odd_json.json")]).expect("the story loads");
    cases.into_iter().next().expect("one story")
}

#[test]
fn this_binary_has_the_features_that_make_json_drift() {
    let value: Value =
        serde_json::from_str(r#"{"b":1,"a":0.1234567890123456789012345}"#).expect("json");
    assert_eq!(
        value.to_string(),
        r#"{"b":1,"a":0.1234567890123456789012345}"#,
        "preserve_order and arbitrary_precision are on"
    );
}

#[test]
fn odd_json_gives_one_head_or_one_typed_error_in_every_engine() {
    let guest = Guest::load(&paths::guest("wakeful.component.wasm")).expect("the guest loads");
    let case = story();
    let native = Tracer::Native.trace(&case).expect("a native trace");
    for mut tracer in [
        Tracer::sandboxed(&guest).expect("the guest fits"),
        Tracer::Web(Web::node().expect("Node starts")),
    ] {
        let trace = tracer.trace(&case).expect("a trace");
        assert_eq!(
            compare::first_difference(&native, &trace),
            None,
            "native against {}",
            tracer.name()
        );
    }
}

#[test]
fn odd_values_stay_in_the_ledger_byte_for_byte() {
    let native = Tracer::Native.trace(&story()).expect("a native trace");
    let ledger: Vec<&str> =
        native.steps.iter().flat_map(|step| &step.entries).map(|entry| entry.get()).collect();
    for (name, value) in odd_values() {
        assert!(
            ledger.iter().any(|entry| entry.contains(&format!(r#""metadata":{{"odd":{value}}}"#))),
            "{name}: {value}"
        );
    }
}

#[test]
fn every_odd_fact_but_two_to_the_63_is_a_typed_error() {
    let native = Tracer::Native.trace(&story()).expect("a native trace");
    let proposed: Vec<_> = native
        .steps
        .iter()
        .filter(|step| step.command.get().contains(r#""do":"propose""#))
        .collect();
    let said = |fact: &str| {
        proposed
            .iter()
            .find(|step| step.command.get().contains(fact))
            .expect("the story reports this fact")
    };
    for (name, fact) in odd_facts() {
        let step = said(fact);
        let refused = step.outcome.get().starts_with(r#"{"error":{"code":"malformed""#);
        assert_eq!(refused, name != "2^63 for an integer", "{name}: {}", step.outcome.get());
        assert_eq!(refused, step.entries.is_empty(), "{name}: a refused fact appends nothing");
    }
}
