//! Data folders that the reference runtime wrote. We must read from them what its own functions
//! say, in the native core and in the sandbox. If we differ on purpose, a row has the difference of
//! contract 13 and both answers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use wakeful::{case, trace::Tracer};
use wakeful_host::sandbox::Guest;
use wakeful_tests::paths;

/// A deliberate difference.
struct Meant {
    folder: &'static str,
    field: &'static str,
    because: &'static str,
    theirs: &'static str,
    ours: &'static str,
}

const MEANT: [Meant; 5] = [
    Meant {
        folder: "03-two-items",
        field: "decision",
        because: "D5",
        theirs: r#""Noop""#,
        ours: r#""StayIdle""#,
    },
    Meant {
        folder: "03-two-items",
        field: "decision_reason",
        because: "D5",
        theirs: r#""duplicate_queued_available""#,
        ours: r#""already_asleep""#,
    },
    Meant {
        folder: "11c-needs-recovery",
        field: "decision",
        because: "D5",
        theirs: r#""Noop""#,
        ours: r#""StayIdle""#,
    },
    Meant {
        folder: "11c-needs-recovery",
        field: "decision_reason",
        because: "D5",
        theirs: r#""duplicate_queued_available""#,
        ours: r#""already_asleep""#,
    },
    Meant {
        folder: "12-long-story",
        field: "queued_work_items",
        because: "D14",
        theirs: "5",
        ours: "11",
    },
];

/// The number of folders that a fresh clone has.
const REFERENCE: usize = 4;

/// The data folders below a folder, each with the answers of the reference runtime.
fn recorded(below: &Path) -> Vec<(PathBuf, Value)> {
    let entries = fs::read_dir(below).unwrap_or_else(|why| panic!("{}: {why}", below.display()));
    let mut oracles: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".oracle.json"))
        .collect();
    oracles.sort();
    let folder =
        |oracle: &Path| PathBuf::from(oracle.to_string_lossy().trim_end_matches(".oracle.json"));
    let read = |oracle: &Path| {
        serde_json::from_str(&fs::read_to_string(oracle).expect("an oracle"))
            .expect("an oracle is JSON")
    };
    oracles.iter().map(|oracle| (folder(oracle), read(oracle))).collect()
}

/// The answers of the reference runtime, under the keys of `expected.json`.
fn theirs(folder: &Path, oracle: &Value) -> Value {
    let projection = &oracle["projection"];
    let current = &projection["current_work_item"];
    let tools = fs::read_to_string(folder.join(".holon/ledger/tools.jsonl")).unwrap_or_default();
    let decision = decision(oracle);
    let closure = &oracle["closure"];
    let mut said = json!({
        "current_work_item_id": current["id"],
        "current_work_item_revision": current["revision"],
        "active_tasks": projection["active_tasks"].as_array().expect("a list of tasks").len(),
        "turn_terminal_kind": projection["last_turn_terminal"],
        "replay_message_ids": oracle["recovery"]["replay_message_ids"],
        "tool_executions": tools.lines().count(),
        "closure": closure["outcome"],
        "waiting_reason": closure["waiting_reason"],
        "posture": oracle["posture"]["posture"],
        "decision": decision["decision"],
        "decision_reason": decision["reason"],
    });
    let scalars = [
        "queued_work_items",
        "has_blocking_active_tasks",
        "pending_wake_hint",
        "active_waiting_intents",
        "active_work_item_waiting_intents",
        "active_agent_waiting_intents",
        "active_timers",
        "runtime_error",
    ];
    for scalar in scalars {
        assert!(!projection[scalar].is_null(), "`{scalar}` is missing");
        said[scalar] = projection[scalar].clone();
    }
    said
}

/// The one answer to compare with our ladder's: the reference runtime decides at several places. If
/// its recovered queue has a message and nothing runs, the run loop decides. If it is idle, the
/// tick decides first, then the idle boundary.
fn decision(oracle: &Value) -> &Value {
    let projection = &oracle["projection"];
    let is_one_of =
        |statuses: &[&str]| statuses.iter().any(|status| projection["status"] == *status);
    let recovered = oracle["recovery"]["queue_order"].as_array().expect("the recovered queue");
    if !recovered.is_empty() && projection["active_run_id"].is_null() && !is_one_of(&["stopped"]) {
        return &oracle["run_loop"]["decision"];
    }
    let tick = &oracle["idle_tick_with_duplicates"]["decision"];
    let may_tick = projection["queue_len"] == 0 && is_one_of(&["booting", "awake_idle", "asleep"]);
    if may_tick && tick.is_object() { tick } else { &oracle["idle_boundary"] }
}

/// What we found, under the same keys.
fn ours(tracer: &mut Tracer, folder: &Path) -> Value {
    let case = case::load_one(folder).expect("a data folder");
    let trace = tracer.trace(&case).expect("a trace");
    let outcome: Value = serde_json::from_str(trace.steps[0].outcome.get()).expect("an outcome");
    let mut found = outcome["found"].clone();
    assert!(found.is_object(), "{}: {outcome}", case.name);
    let closure = found["closure"].take();
    found["closure"] = closure["outcome"].clone();
    found["waiting_reason"] = closure["waiting_reason"].clone();
    found
}

fn differences(tracer: &mut Tracer, folder: &Path, oracle: &Value) -> Vec<String> {
    let name = folder.file_name().expect("a name").to_string_lossy();
    let found = ours(tracer, folder);
    let said = theirs(folder, oracle);
    let differing = said
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(field, said)| found[field.as_str()] != **said);
    differing
        .map(|(field, said)| {
            format!("{name} {field}: theirs {said}, ours {}", found[field.as_str()])
        })
        .collect()
}

fn sandbox() -> Tracer {
    Tracer::sandboxed(
        &Guest::load(&paths::guest("wakeful.component.wasm")).expect("the guest loads"),
    )
    .expect("the guest fits")
}

fn every_folder_below(below: &Path, mut tracer: Tracer) -> usize {
    let folders = recorded(below);
    let names: Vec<_> =
        folders.iter().map(|(folder, _)| folder.file_name().expect("a name")).collect();
    let meant: Vec<_> = MEANT
        .iter()
        .filter(|row| names.iter().any(|name| *name == row.folder))
        .map(|row| {
            format!("{} {}: theirs {}, ours {}", row.folder, row.field, row.theirs, row.ours)
        })
        .collect();
    let found: Vec<_> = folders
        .iter()
        .flat_map(|(folder, oracle)| differences(&mut tracer, folder, oracle))
        .collect();
    assert_eq!(found, meant, "in {}", tracer.name());
    println!(
        "{} folders of {} agree with their oracle in {}",
        folders.len(),
        below.display(),
        tracer.name()
    );
    folders.len()
}

#[test]
fn the_reference_folders_read_as_the_reference_runtime_reads_them() {
    assert_eq!(every_folder_below(&paths::data("ledgers/reference"), Tracer::Native), REFERENCE);
}

#[test]
fn the_reference_folders_read_alike_in_the_sandbox() {
    assert_eq!(every_folder_below(&paths::data("ledgers/reference"), sandbox()), REFERENCE);
}

#[test]
fn all_recorded_folders_read_as_the_reference_runtime_reads_them() {
    let below = paths::root().join("../shared/conformance/ledgers");
    if !below.is_dir() {
        println!(
            "only the {REFERENCE} folders of tests/ledgers/reference are compared: {} is missing",
            below.display()
        );
        return;
    }
    for tracer in [Tracer::Native, sandbox()] {
        assert!(
            every_folder_below(&below, tracer) > REFERENCE,
            "{} has only the reference folders",
            below.display()
        );
    }
}

/// The reference runtime's own export of a folder: we read what its `expected.json` says. Only the
/// tool calls differ: it leaves them out, and an absent number means none (`observed-decisions.md`
/// 11.7).
#[test]
fn an_export_of_the_reference_runtime_reads_as_it_expects() {
    let folder = paths::root().join("../shared/conformance/ledgers/exported-02-work-item");
    if !folder.is_dir() {
        println!("nothing is compared: {} is missing", folder.display());
        return;
    }
    let case = case::load_one(&folder).expect("an exported folder");
    let trace = Tracer::Native.trace(&case).expect("a trace");
    let outcome: Value = serde_json::from_str(trace.steps[0].outcome.get()).expect("an outcome");
    let (expected, found) =
        (outcome["expected"].as_object().expect("an expectation"), &outcome["found"]);
    let differing: Vec<_> =
        expected.iter().filter(|(field, expected)| found[field.as_str()] != **expected).collect();
    assert_eq!(differing, [(&"tool_executions".to_owned(), &json!(0))]);
    assert_eq!(found["tool_executions"], 7);
    assert_eq!(found["replay_message_ids"], json!([]));
}

#[test]
fn every_difference_names_its_reason() {
    for row in &MEANT {
        assert!(
            row.because.starts_with('D'),
            "{} {}: `{}` is not a difference of contract 13",
            row.folder,
            row.field,
            row.because
        );
    }
}
