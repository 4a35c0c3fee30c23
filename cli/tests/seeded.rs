//! The cross-check can fail: it finds guests with a seeded fault, by case, step and JSON path. A
//! seed replaces a text in the built guest by another one of the same length, so that no fault is
//! in the product and no second guest is compiled.

use std::{fs, path::PathBuf};

use serde_json::Value;
use wakeful::trace::Tracer;
use wakeful_host::sandbox::Guest;

use crate::program::{arg, guest, source, trace, wakeful};

/// Another reason code, which nothing else is called.
const REASON: (&str, &str) = ("no_pending_scheduler_facts", "no_seeded__scheduler_facts");

/// Another text of a tick, which no rule reads.
const TEXT: (&str, &str) = ("Continue current work item", "continue current work item");

/// A guest with a fault, in a folder of its own.
fn seeded((from, to): (&str, &str)) -> (PathBuf, tempfile::TempDir) {
    let mut bytes = fs::read(guest("wakeful.component.wasm")).expect("the guest");
    let (from, to) = (from.as_bytes(), to.as_bytes());
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, part)| *part == from)
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty(), "the guest does not have this text");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("seeded.component.wasm");
    fs::write(&file, bytes).expect("it is written");
    (file, folder)
}

/// Cross-checks a story with a seeded guest. Returns the output and the first difference. Winch
/// compiles a guest fastest.
fn crosscheck(story: &str, fault: (&str, &str)) -> (String, Value) {
    let (guest, _folder) = seeded(fault);
    let guest = arg(&guest);
    let story = arg(&source(&format!("tests/fixtures/stories/{story}")));
    let ran = wakeful(["crosscheck", &story, "--engines", "native,winch", "--guest", &guest]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let json =
        wakeful(["crosscheck", "--json", &story, "--engines", "native,winch", "--guest", &guest]);
    assert_eq!(json.code, 1);
    let report: Value = serde_json::from_str(&json.out).expect("one JSON document");
    (ran.out, report["differences"][0].clone())
}

#[test]
fn an_altered_reason_code_is_found_by_case_step_and_path() {
    let (out, found) = crosscheck("release.toml", REASON);
    assert!(out.contains("release in winch: first difference at step"), "{out}");
    let path = found["path"].as_str().expect("a path");
    assert!(path.starts_with("$.steps[") && path.ends_with("reason"), "{path}");
    assert_eq!(
        (&found["left"], &found["right"]),
        (
            &Value::from("\"no_pending_scheduler_facts\""),
            &Value::from("\"no_seeded__scheduler_facts\"")
        )
    );
}

#[test]
fn an_altered_entry_is_found_by_its_entry_and_its_head() {
    let (out, found) = crosscheck("heartbeat.json", TEXT);
    assert!(out.contains("1 differences"), "{out}");
    assert!(found["path"].as_str().is_some_and(|path| path.contains(".entries[")), "{found}");

    // The decisions stay the same. Without the entries, only the heads would show the fault.
    let story = source("tests/fixtures/stories/heartbeat.json");
    let (file, _folder) = seeded(TEXT);
    let guest = Guest::load(&file).expect("a guest");
    let mut sandboxed = Tracer::sandboxed(&guest).expect("an engine");
    let (native, wasm) = (trace(&story, &mut Tracer::Native), trace(&story, &mut sandboxed));
    let last = |trace: &Value| {
        trace["steps"].as_array().expect("steps").last().expect("a step")["explanation"].clone()
    };
    assert_eq!(last(&native)["decision"], last(&wasm)["decision"]);
    assert_ne!(last(&native)["head"], last(&wasm)["head"]);
}

/// Lets random stories find a seeded fault. Returns the report, the written story and its folder.
#[cfg(feature = "random")]
fn hunted(fault: (&str, &str)) -> (Value, Value, tempfile::TempDir) {
    let (guest, folder) = seeded(fault);
    let (guest, write) = (arg(&guest), arg(folder.path()));
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
    let (report, story, _folder) = hunted(REASON);
    assert_eq!(report["differences"][0]["right"], "\"no_seeded__scheduler_facts\"");
    // The fault shows as soon as an agent sleeps.
    let count = |list: &Value| list.as_array().map_or(0, Vec::len);
    let turns = story["turns"].as_array().into_iter().flatten();
    let moves: usize = turns.map(|turn| count(&turn["moves"])).sum();
    let lines = count(&story["script"]);
    assert!(lines <= 2 && moves <= 2, "{story:#}");
}

#[cfg(feature = "random")]
#[test]
fn random_stories_find_an_altered_entry() {
    let (report, story, _folder) = hunted(TEXT);
    assert!(
        report["differences"][0]["path"].as_str().is_some_and(|path| path.contains(".entries[")),
        "{report}"
    );
    assert!(story["script"].as_array().is_some_and(|script| script.len() <= 2), "{story:#}");
}
