//! What each command prints if everything is right, and if something differs.

use std::fs;

use serde_json::Value;

use crate::program::{arg, source, wakeful};

#[test]
fn replay_prints_a_table_and_exits_0() {
    let ran = wakeful(["replay", &arg(&source("tests/fixtures/scheduler"))]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("101 cases, 0 differ"), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'), "no colours outside a terminal");
}

#[test]
fn replay_gives_programs_one_json_document() {
    let ran = wakeful(["replay", "--json", &arg(&source("tests/fixtures/scheduler"))]);
    let rows: Vec<Value> = serde_json::from_str(&ran.out).expect("one JSON document");
    assert_eq!(rows.len(), 101);
    assert!(
        rows.iter()
            .all(|row| row["ok"] == true && row["explanation"]["decision"]["rule"].is_string())
    );
}

#[test]
fn a_fixture_that_differs_is_shown_as_a_diff_and_exits_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("wrong");
    fs::create_dir_all(case.join("ledger")).expect("folders");
    fs::write(case.join("agent.json"), "{}").expect("agent.json");
    fs::write(case.join("ledger/timers.jsonl"), "{\"id\":\"t\"}\n").expect("a timer");
    let expected = r#"{"queued_work_items":0,"active_tasks":0,"has_blocking_active_tasks":false,
        "pending_wake_hint":false,"active_timers":2,"decision":"Sleep"}"#;
    fs::write(case.join("expected.json"), expected).expect("expected.json");
    for engine in ["native", "wasmtime"] {
        let ran = wakeful(["replay", "--engine", engine, &arg(&case)]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        for line in [
            r#"-   "active_timers": 2"#,
            r#"+   "active_timers": 1"#,
            r#"-   "decision": "Sleep""#,
            r#"+   "decision": "WaitForTimer""#,
        ] {
            assert!(ran.out.contains(line), "{engine}: no `{line}` in\n{}", ran.out);
        }
    }
}

#[test]
fn what_cannot_be_read_hides_no_other_case_and_nothing_is_compared_in_silence() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let case = |name: &str| folder.path().join(name);
    for name in ["broken", "missing", "misspelt", "sound"] {
        assert_eq!(wakeful(["export", &story, "-o", &arg(&case(name))]).code, 0);
    }
    fs::write(case("broken").join("ledger/timers.jsonl"), "{}\n").expect("a timer");
    fs::remove_file(case("missing").join("expected.json")).expect("it goes");
    let expected =
        fs::read_to_string(case("misspelt").join("expected.json")).expect("expected.json");
    fs::write(
        case("misspelt").join("expected.json"),
        expected.replace("\"posture\"", "\"postur\""),
    )
    .expect("expected.json");
    fs::copy(&story, case("story.json")).expect("a story");

    let ran = wakeful(["replay", &arg(folder.path())]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.out.contains(" sound ") && ran.out.contains("as expected"), "{}", ran.out);
    assert!(ran.out.ends_with("\n4 cases, 0 differ, 3 cannot be read\n"), "{}", ran.out);
    for says in [
        "1 story is skipped: `wakeful crosscheck` plays stories\n",
        "error: broken: ledger/timers.jsonl:1:1: ",
        "error: missing: `expected.json` is missing, so there is nothing to compare with; --update \
         writes it",
        "error: misspelt: expected.json: unknown field `postur`; the fields are \
         active_agent_waiting_intents, ",
    ] {
        assert!(ran.err.contains(says), "no `{says}` in\n{}", ran.err);
    }
    let json = wakeful(["replay", "--json", &arg(folder.path())]);
    let rows: Vec<Value> = serde_json::from_str(&json.out).expect("one JSON document");
    assert_eq!(
        rows.iter().map(|row| row["ok"] == true).collect::<Vec<_>>(),
        [false, false, false, true]
    );
    assert!(
        rows[0]["error"]
            .as_str()
            .is_some_and(|error| error.starts_with("ledger/timers.jsonl:1:1: ")),
        "{}",
        rows[0]
    );

    // `why` needs no `expected.json`, and `replay --update` writes it.
    assert_eq!(wakeful(["why", &arg(&case("missing"))]).code, 0);
    let ran = wakeful(["replay", "--update", &arg(&case("missing"))]);
    assert_eq!((ran.code, ran.err.starts_with("written: ")), (0, true), "{}", ran.err);
    assert_eq!(wakeful(["replay", &arg(&case("missing"))]).code, 0);
}

#[test]
fn a_story_and_a_model_do_not_mix() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = arg(&folder.path().join("agent.sqlite"));
    for (args, says) in [
        (["--story", &story, "--prompt", "hello"], "--prompt needs --provider openai"),
        (
            ["--provider", "openai", "--model=none", &format!("--story={story}")],
            "--story needs --provider story",
        ),
    ] {
        let ran = wakeful(["run", "--ledger", &ledger].into_iter().chain(args));
        assert!(ran.code == 2 && ran.err.contains(says), "{}", ran.err);
    }
    assert!(!folder.path().join("agent.sqlite").exists(), "nothing is made");
}

#[test]
fn explain_says_what_is_decided_by_which_rule_and_when_it_wakes() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    for engine in ["native", "wasmtime"] {
        let ran = wakeful(["explain", "--engine", engine, &story]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        for part in [
            "WaitForTimer (active_timers), by rule 8.timer",
            "needs stopped",
            "wakes    2026-05-27T09:20:00Z",
            "status   asleep",
        ] {
            assert!(ran.out.contains(part), "{engine}: no `{part}` in\n{}", ran.out);
        }
    }
}

#[test]
fn why_says_it_in_a_sentence_with_the_entries_behind_it() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let ran = wakeful(["why", &story]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for part in [
        "At rest: waits for timer `look-again`. Would wake at 2026-05-27T09:20:00Z.",
        "entry 37  timers  {\"id\":\"look-again\"",
    ] {
        assert!(ran.out.contains(part), "no `{part}` in\n{}", ran.out);
    }
}

#[test]
fn why_not_names_the_changes_that_lead_there() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let ran = wakeful(["why", &story, "--not", "sleep"]);
    assert!(
        ran.out.contains(
            "It would be Sleep if\n    timer `look-again` is cancelled and the agent is started"
        ),
        "{}",
        ran.out
    );
    let json = wakeful(["why", &story, "--not", "Stop", "--json"]);
    let answer: Value = serde_json::from_str(&json.out).expect("one JSON object");
    assert_eq!(answer["why_not"]["ways"][0]["facts"][0]["fact"], "stop_requested");
    assert_eq!(answer["explanation"]["decision"]["rule"], "8.timer");
    let wrong = wakeful(["why", &story, "--not", "pause"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("StartModelTurn"), "the known ones are listed: {}", wrong.err);
}

#[test]
fn explain_names_the_key_that_suppresses_a_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = folder.path().join("spent.json");
    let text = r#"{"story":"spent","shows":"","agent_id":"default",
        "starts_at":"2026-05-27T09:00:00Z",
        "script":[{"fact":{"fact":"work_item_created","work_item_id":"w","objective":"W"}}]}"#;
    fs::write(&story, text).expect("a story");
    let ran = wakeful(["explain", &arg(&story)]);
    assert!(
        ran.out.contains("suppressed: work_queue:queued_available:w:1 spent by"),
        "{}\n{}",
        ran.out,
        ran.err
    );
}

// docs/cli.md has the options of a build with this feature.
#[cfg(feature = "random")]
#[test]
fn the_generated_pages_are_what_the_program_says() {
    for (page, args) in [
        ("docs/cli.md", &["print", "cli"][..]),
        ("docs/facts.md", &["print", "facts", "--markdown"]),
        ("docs/rules.md", &["print", "rules", "--markdown"]),
        ("docs/versions.md", &["print", "versions", "--markdown"]),
    ] {
        let ran = wakeful(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{page}");
        let committed = fs::read_to_string(source(page)).expect("the page");
        assert!(
            ran.out == committed,
            "{page} is out of date: run `wakeful {} > {page}`",
            args.join(" ")
        );
    }
}

#[test]
fn replay_tells_where_another_edition_decides_otherwise() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ledger, story) = (
        arg(&folder.path().join("agent.sqlite")),
        arg(&source("tests/fixtures/stories/heartbeat.json")),
    );
    let ran = wakeful(["run", "--ledger", &ledger, "--story", &story, "--virtual", "--until-rest"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let same = wakeful(["replay", &ledger, "--edition", "2026-05-27"]);
    assert_eq!(same.code, 0, "{}", same.err);
    assert!(
        same.out.starts_with("no difference: edition 2026-05-27 decides the same after each of "),
        "{}",
        same.out
    );

    let other = wakeful(["replay", &ledger, "--edition", "2026-05-08"]);
    let json = wakeful(["replay", &ledger, "--edition", "2026-05-08", "--json"]);
    assert_eq!((other.code, json.code), (1, 1), "{}{}", other.out, other.err);
    let found: Vec<Value> = serde_json::from_str(&json.out).expect("one JSON document");
    assert!(
        found.iter().all(|one| one["decides"] != one["would_decide"]
            && one["from"].as_u64() <= one["to"].as_u64()),
        "{found:?}"
    );
    let differ: u64 = found
        .iter()
        .map(|one| {
            one["to"].as_u64().expect("an entry") - one["from"].as_u64().expect("an entry") + 1
        })
        .sum();
    assert!(
        other.out.contains(&format!("after {differ} of ")) && other.out.contains("by 2026-05-08"),
        "{}",
        other.out
    );
}

#[test]
fn replay_compares_a_story_or_a_folder_with_another_edition_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let case = arg(&folder.path().join("case"));
    assert_eq!(wakeful(["export", &story, "-o", &case]).code, 0);
    let of = |case: &str, edition| wakeful(["replay", case, "--edition", edition]);
    for case in [&story, &case] {
        assert_eq!(of(case, "2026-05-27").code, 0, "{case}");
        assert!(of(case, "2026-05-08").out.contains("decides "), "{case}");
    }
    for (args, says) in [
        (vec![story.as_str(), &case, "--edition", "2026-05-08"], "name them one by one"),
        (vec![&case, "--edition", "2026-05-08", "--agent", "a"], "is not a ledger file"),
        (vec![&case, "--agent", "a"], "--edition"),
        (vec![&case, "--server", "http://127.0.0.1:1"], "--edition"),
        (vec![&case, "--edition", "2026-05-08", "--update"], "--update"),
        (vec![], "required"),
    ] {
        let ran = wakeful([vec!["replay"], args].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{says}: {}", ran.err);
    }
}

#[test]
fn facts_are_listed_and_each_has_an_example_with_its_answer() {
    let list = wakeful(["print", "facts"]);
    assert_eq!((list.code, list.err.as_str()), (0, ""));
    let listed: Vec<_> =
        list.out.lines().filter_map(|line| line.trim().split_once("  ")).map(|row| row.0).collect();
    let json = wakeful(["print", "facts", "--json"]);
    let all: Vec<Value> = serde_json::from_str(&json.out).expect("one JSON document");
    let names: Vec<_> = all.iter().map(|fact| fact["fact"].as_str().expect("a name")).collect();
    assert_eq!(listed, names);
    assert!(all.iter().all(|fact| fact["answer"] == "accepted"), "{}", json.out);

    let one = wakeful(["print", "facts", "timer_created"]);
    for part in [
        "A timer was created.\n",
        "\"duration_ms\": 60000",
        "Answer: `accepted`.",
        "interval_ms  no      number, from 1  The time between fires, in milliseconds;",
    ] {
        assert!(one.out.contains(part), "no `{part}` in\n{}", one.out);
    }
    let json = wakeful(["print", "facts", "timer_fired", "--json"]);
    let one: Value = serde_json::from_str(&json.out).expect("one JSON document");
    assert_eq!(one[0]["said_by"], "observer");
    assert_eq!(one[0]["to_a_driver"]["reason"], "scheduler_decides");
    assert_eq!(one[0]["fields"][0]["field"], "timer_id");

    let wrong = wakeful(["print", "facts", "timer_create"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("timer_created"), "{}", wrong.err);
}

#[test]
fn rules_are_printed_by_edition_for_people_and_programs() {
    let ran = wakeful(["print", "rules"]);
    assert!(
        ran.out.starts_with("Edition 2026-05-27, the default\n")
            && ran.out.contains("\nEdition 2026-05-08\n"),
        "{}",
        ran.out
    );
    let json = wakeful(["print", "rules", "--edition", "2026-05-08", "--json"]);
    let editions: Vec<Value> = serde_json::from_str(&json.out).expect("one JSON document");
    assert_eq!(editions.len(), 1);
    assert_eq!(editions[0]["edition"], "2026-05-08");
    assert_eq!(editions[0]["rules"][0]["needs"], serde_json::json!(["stopped"]));
    let wrong = wakeful(["print", "rules", "--edition", "2020"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("the editions are 2026-05-27 and 2026-05-08"), "{}", wrong.err);
}

#[test]
fn completions_and_help_are_there() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(wakeful(["print", "completions", shell]).out.contains("crosscheck"), "{shell}");
    }
    let help = wakeful(["--help"]).out;
    assert!(help.contains("exit code") && help.lines().count() <= 40, "{help}");
}

/// If the disk behind standard output is full, or its reader goes away, no command panics.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    use std::process::{Command, Stdio};

    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    for args in [
        &["explain", &story][..],
        &["why", &story],
        &["print", "schema"],
        &["print", "openapi"],
        &["print", "completions", "bash"],
    ] {
        let run = |out: Stdio| {
            let ran = Command::new(env!("CARGO_BIN_EXE_wakeful"))
                .args(args)
                .stdout(out)
                .output()
                .expect("wakeful starts");
            (ran.status.code(), String::from_utf8(ran.stderr).expect("UTF-8"))
        };
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let (code, err) = run(full.into());
        assert!(
            err.starts_with("error: cannot write the output: No space left on device"),
            "{args:?}: {err}"
        );
        assert_eq!(code, Some(2), "{args:?}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        assert_eq!(run(writer.into()), (Some(0), String::new()), "{args:?}");
    }
}
