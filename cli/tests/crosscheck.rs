//! `wakeful crosscheck` (I23): the matrix of engines, and the reasons of engines that cannot run.

use serde_json::Value;

use crate::program::{arg, guest, source, wakeful};

#[test]
fn crosscheck_of_all_cases_finds_no_difference() {
    let ran = wakeful([
        "crosscheck",
        &arg(&source("tests/fixtures")),
        "--engines",
        "native,wasmtime,pulley,winch,node",
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.ends_with("106 cases, 326 steps, 5 engines, 0 differences\n"), "{}", ran.out);
}

#[test]
fn scenarios_are_played_too_and_those_that_need_more_than_an_engine_are_left_out_with_the_reason() {
    let ran = wakeful([
        "crosscheck",
        &arg(&source("tests/scenarios")),
        "--engines",
        "native,winch,node",
        "--json",
    ]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("one JSON document");
    let left_out = report["left_out"].as_array().expect("a list");
    assert!(
        report["cases"].as_u64().is_some_and(|cases| cases >= 63) && left_out.len() <= 6,
        "{}",
        ran.out
    );
    assert!(left_out.iter().any(|one| one["needs"] == "a ledger that fails"), "{}", ran.out);
}

#[test]
fn cases_that_are_equal_everywhere_are_counted_and_listed_where_that_is_asked_for() {
    let stories = arg(&source("tests/fixtures/stories"));
    let ran = wakeful(["crosscheck", &stories]);
    assert!(ran.out.contains(" 5 stories ") && !ran.out.contains("heartbeat"), "{}", ran.out);
    let verbose = wakeful(["crosscheck", &stories, "--verbose"]);
    assert!(verbose.out.contains(" heartbeat  22     WaitForTimer"), "{}", verbose.out);
}

#[test]
fn an_engine_that_was_named_and_cannot_run_is_a_reason_and_code_3() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let ran =
        wakeful(["crosscheck", &story, "--engines", "native,wasmtime", "--guest", "no-such.wasm"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("cannot run")
            && ran.out.contains("wasmtime cannot run here: cannot read guest `no-such.wasm`"),
        "{}",
        ran.out
    );
    let json = wakeful([
        "crosscheck",
        &story,
        "--engines",
        "native,wasmtime",
        "--guest",
        "no-such.wasm",
        "--json",
    ]);
    let report: Value = serde_json::from_str(&json.out).expect("one JSON document");
    assert_eq!(
        (&report["engines"], &report["cannot_run"][0]["engine"]),
        (&serde_json::json!(["native"]), &Value::from("wasmtime"))
    );
}

#[test]
fn all_engines_are_those_that_can_run() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    // The web guest in Node does not need this guest.
    let ran = wakeful(["crosscheck", &story, "--engines", "all", "--guest", "no-such.wasm"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("pulley cannot run here: cannot read guest"), "{}", ran.out);
}

/// A program that does not follow the protocol of an engine is reported with a reason.
#[test]
fn a_program_that_is_no_engine_is_a_reason() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    for (python, reason) in [
        ("no-such-python", "does not start"),
        ("cat", "did not report that it is ready"),
        ("true", "ended without an answer"),
    ] {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args([
                "crosscheck",
                &story,
                "--engines",
                "native,python",
                "--guest",
                &arg(&guest("wakeful.component.wasm")),
            ])
            .env("PYTHON", python)
            .output()
            .expect("wakeful starts");
        let out = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.status.code(), Some(3), "{out}");
        assert!(out.contains("python cannot run here: ") && out.contains(reason), "{out}");
    }
}

#[test]
fn an_engine_that_breaks_down_is_a_difference() {
    // This guest has the exports of a scheduler, but `explain` fails.
    let ran = wakeful([
        "crosscheck",
        &arg(&source("tests/fixtures/stories/heartbeat.json")),
        "--guest",
        &arg(&guest("hostile.component.wasm")),
        "--json",
    ]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let report: Value = serde_json::from_str(&ran.out).expect("one JSON document");
    assert!(
        report["differences"][0]["broke"].as_str().is_some_and(|why| why.contains("guest")),
        "{}",
        ran.out
    );
}

#[test]
fn an_engine_that_does_not_exist_is_named_beside_those_that_do() {
    let ran = wakeful(["crosscheck", "tests/fixtures", "--engines", "native,v8"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("native, wasmtime, pulley, winch, node, chromium, python")
            && ran.err.contains("v8"),
        "{}",
        ran.err
    );
}

#[cfg(feature = "random")]
#[test]
fn random_stories_are_equal_and_the_same_for_the_same_seed() {
    let random = |seed: &str| {
        let ran = wakeful([
            "crosscheck",
            "--random",
            "2000",
            "--seed",
            seed,
            "--engines",
            "native,winch,node",
            "--json",
        ]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        serde_json::from_str::<Value>(&ran.out).expect("one JSON document")["random"].clone()
    };
    let (first, second, other) = (random("1"), random("1"), random("2"));
    assert_eq!(first, second);
    assert_ne!(first["steps"], other["steps"]);
    assert!(first["steps"].as_u64().is_some_and(|steps| steps >= 2000), "{first}");
}

#[cfg(not(feature = "random"))]
#[test]
fn a_build_without_random_stories_says_how_to_get_them() {
    let help = wakeful(["crosscheck", "--help"]).out;
    assert!(help.contains("--features random"), "{help}");
    assert_eq!(wakeful(["crosscheck", "--random", "1"]).code, 2);
}
