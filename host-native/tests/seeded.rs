//! The cross-check can fail: guests built with a seeded divergence are found, by case, step and JSON path.

use serde_json::Value;

use crate::program::{arg, guest, source, wakeful};

/// Cross-checks the heartbeat against a seeded guest.
fn crosscheck(seeded: &str) -> (String, Value) {
    let guest = arg(&guest(seeded));
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let ran = wakeful(["crosscheck", &story, "--engines", "native,wasmtime", "--guest", &guest]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let json = wakeful(["crosscheck", "--json", &story, "--engines", "native,wasmtime", "--guest", &guest]);
    assert_eq!(json.code, 1);
    let report: Value = serde_json::from_str(&json.out).expect("one JSON document");
    (ran.out, report["differences"][0].clone())
}

#[test]
fn an_altered_reason_code_is_found_by_case_step_and_path() {
    let (out, found) = crosscheck("seeded-reason.component.wasm");
    assert!(out.contains("heartbeat in wasmtime: first difference at step"), "{out}");
    let path = found["path"].as_str().expect("a path");
    assert!(path.starts_with("$.steps[") && path.ends_with("reason"), "{path}");
    assert_eq!((&found["left"], &found["right"]), (&Value::from("\"active_timers\""), &Value::from("\"seeded_timers\"")));
}

#[test]
fn an_altered_entry_byte_is_found_by_its_head() {
    let (out, found) = crosscheck("seeded-entry_byte.component.wasm");
    assert!(out.contains("1 differences"), "{out}");
    let step = found["step"].as_u64().expect("a step");
    assert_eq!(step, 1, "the first message text is altered when it is queued: {found}");

    // The decisions stay the same; without the entries, the heads alone tell.
    let trace = |engine: &str, extra: &[&str]| {
        let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
        let mut args = vec!["trace", "--engine", engine, &story];
        args.extend_from_slice(extra);
        serde_json::from_str::<Value>(&wakeful(args).out).expect("a trace")
    };
    let seeded = arg(&guest("seeded-entry_byte.component.wasm"));
    let (native, wasm) = (trace("native", &[]), trace("wasmtime", &["--guest", &seeded]));
    let last = |trace: &Value| trace["steps"].as_array().expect("steps").last().expect("a step")["explanation"].clone();
    assert_eq!(last(&native)["decision"], last(&wasm)["decision"]);
    assert_ne!(last(&native)["head"], last(&wasm)["head"]);
}
