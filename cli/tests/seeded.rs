//! The cross-check can fail: it finds guests with a seeded fault, by case, step and JSON path.

use serde_json::Value;

use crate::program::{arg, guest, source, wakeful};

/// Cross-checks the heartbeat with a seeded guest. Returns the output and the first difference.
fn crosscheck(seeded: &str) -> (String, Value) {
    let guest = arg(&guest(seeded));
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let ran = wakeful(["crosscheck", &story, "--engines", "native,wasmtime", "--guest", &guest]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let json = wakeful([
        "crosscheck",
        "--json",
        &story,
        "--engines",
        "native,wasmtime",
        "--guest",
        &guest,
    ]);
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
    assert_eq!(
        (&found["left"], &found["right"]),
        (&Value::from("\"active_timers\""), &Value::from("\"seeded_timers\""))
    );
}

#[test]
fn an_altered_entry_byte_is_found_by_its_head() {
    let (out, found) = crosscheck("seeded-entry_byte.component.wasm");
    assert!(out.contains("1 differences"), "{out}");
    let step = found["step"].as_u64().expect("a step");
    assert_eq!(step, 1, "the first message text is altered when it is queued: {found}");

    // The decisions stay the same. Without the entries, only the heads would show the fault.
    let trace = |engine: &str, extra: &[&str]| {
        let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
        let mut args = vec!["trace", "--engine", engine, &story];
        args.extend_from_slice(extra);
        serde_json::from_str::<Value>(&wakeful(args).out).expect("a trace")
    };
    let seeded = arg(&guest("seeded-entry_byte.component.wasm"));
    let (native, wasm) = (trace("native", &[]), trace("wasmtime", &["--guest", &seeded]));
    let last = |trace: &Value| {
        trace["steps"].as_array().expect("steps").last().expect("a step")["explanation"].clone()
    };
    assert_eq!(last(&native)["decision"], last(&wasm)["decision"]);
    assert_ne!(last(&native)["head"], last(&wasm)["head"]);
}

/// Lets random stories find a seeded fault. Returns the report, the written story and its folder.
#[cfg(feature = "random")]
fn hunted(seeded: &str) -> (Value, Value, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let (guest, write) = (arg(&guest(seeded)), arg(folder.path()));
    // Winch compiles a guest fastest.
    let engines = ["crosscheck", "--engines", "native,winch"];
    let ran = wakeful(
        [
            &engines[..],
            &["--random", "20000", "--seed", "7", "--guest", &guest, "--write", &write, "--json"],
        ]
        .concat(),
    );
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("one JSON document");
    let written = report["random"]["written"].as_str().expect("a file");
    assert!(
        report["random"]["steps"].as_u64().expect("a count") < 20_000,
        "it stops at the first difference"
    );

    // The file is a case: it differs with the faulty guest, and not with the real one.
    let again = wakeful([&engines[..], &[written, "--guest", &guest, "--json"]].concat());
    assert_eq!(again.code, 1, "{}{}", again.out, again.err);
    let again: Value = serde_json::from_str(&again.out).expect("one JSON document");
    assert_eq!(again["differences"], report["differences"]);
    let well = wakeful([&engines[..], &[written]].concat());
    assert_eq!(well.code, 0, "{}{}", well.out, well.err);

    let story =
        serde_json::from_str(&std::fs::read_to_string(written).expect("the story")).expect("JSON");
    (report, story, folder)
}

#[cfg(feature = "random")]
#[test]
fn random_stories_find_an_altered_reason_and_leave_a_story_of_few_lines() {
    let (report, story, _folder) = hunted("seeded-reason.component.wasm");
    assert_eq!(report["differences"][0]["right"], "\"seeded_timers\"");
    // The fault shows while a timer is active: one prompt, and one move in its turn.
    let lines = story["script"].as_array().expect("a script").len();
    let moves: usize = story["turns"]
        .as_array()
        .expect("turns")
        .iter()
        .map(|turn| turn["moves"].as_array().map_or(0, Vec::len))
        .sum();
    assert!(lines <= 2 && moves <= 2, "{story:#}");
}

#[cfg(feature = "random")]
#[test]
fn random_stories_find_an_altered_entry() {
    let (report, story, _folder) = hunted("seeded-entry_byte.component.wasm");
    assert!(
        report["differences"][0]["path"].as_str().is_some_and(|path| path.contains(".entries[")),
        "{report}"
    );
    assert!(story["script"].as_array().is_some_and(|script| script.len() <= 2), "{story:#}");
}
