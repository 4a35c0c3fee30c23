//! Bad input: each message says what is wrong and where, and the exit code is 2.

use std::{fs, path::Path};

use crate::program::{arg, source, wakeful};

/// Replays a copy of a fixture in which one file was changed, in three engines. Returns the
/// message, which must be the same in all.
fn replay_with(file: &str, change: impl Fn(&str) -> String) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case");
    copy(&source("tests/fixtures/scheduler/dequeued_message_replays"), &case);
    let path = case.join(file);
    let text = fs::read_to_string(&path).expect("the file is there");
    fs::write(&path, change(&text)).expect("the file is written");
    let messages = ["native", "wasmtime", "node"].map(|engine| {
        let ran = wakeful(["replay", "--engine", engine, &arg(&case)]);
        assert_eq!(ran.code, 2, "{engine}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out, "", "{engine}: nothing is printed as a result");
        ran.err
    });
    assert_eq!(messages[0], messages[1], "native and wasmtime print the same message");
    assert_eq!(messages[0], messages[2], "native and node print the same message");
    messages[0].clone()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target)
        } else {
            fs::copy(&path, &target).map(|_| ()).expect("a copy")
        }
    }
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    let ran = wakeful(["replay", "no/such/folder"]);
    assert_eq!((ran.code, ran.err.as_str()), (2, "error: `no/such/folder` does not exist\n"));
}

#[test]
fn an_empty_folder_says_what_a_case_is() {
    let folder = tempfile::tempdir().expect("a folder");
    for command in ["replay", "explain", "crosscheck"] {
        let ran = wakeful([command, &arg(folder.path())]);
        assert_eq!(ran.code, 2);
        assert!(
            ran.err.contains("contains no case: a fixture is a folder with `agent.json`"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_truncated_line_is_named_with_file_line_and_column() {
    let err = replay_with("ledger/queue_entries.jsonl", |text| {
        text.replace(
            r#"{"message_id": "done", "status": "processed"}"#,
            r#"{"message_id": "done", "#,
        )
    });
    assert_eq!(err, "error: case: ledger/queue_entries.jsonl:3:22: EOF while parsing an object\n");
}

#[test]
fn an_unknown_enum_value_lists_the_known_ones() {
    let err =
        replay_with("ledger/queue_entries.jsonl", |text| text.replace("dequeued", "pondered"));
    assert!(err.starts_with("error: case: ledger/queue_entries.jsonl:2:"), "{err}");
    assert!(
        err.contains("unknown variant `pondered`, expected one of `queued`, `dequeued`"),
        "{err}"
    );
    assert!(err.contains("(field `status`)"), "{err}");
}

#[test]
fn a_missing_field_is_named() {
    let err = replay_with("ledger/messages.jsonl", |text| {
        text.replacen(r#""text": "A push arrived.""#, r#""texts": 1"#, 1)
    });
    assert!(err.starts_with("error: case: ledger/messages.jsonl:1:"), "{err}");
    assert!(err.contains("missing field `text`"), "{err}");
}

#[test]
fn an_over_long_id_is_refused() {
    let err = replay_with("ledger/messages.jsonl", |text| {
        text.replace("\"taken\"", &format!("\"{}\"", "x".repeat(300)))
    });
    assert!(
        err.contains("ledger/messages.jsonl:2:")
            && err.contains("id is 300 bytes long, the limit is 256"),
        "{err}"
    );
}

#[test]
fn a_fixture_of_a_newer_format_is_refused_by_number() {
    for file in ["agent.json", "expected.json"] {
        let err =
            replay_with(file, |text| text.replacen('{', "{\"format\": 7,", 1).replace(",}", "}"));
        assert_eq!(
            err,
            format!(
                "error: case: {file}: fixture format 7 is newer than 1, the newest that this \
                 program reads\n"
            )
        );
    }
}

#[test]
fn a_fixture_without_agent_json_says_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("ledger")).expect("a folder");
    fs::write(
        folder.path().join("expected.json"),
        r#"{"queued_work_items":0,"active_tasks":0,"has_blocking_active_tasks":false,
            "pending_wake_hint":false}"#,
    )
    .expect("expected.json");
    let ran = wakeful(["replay", &arg(folder.path())]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`agent.json` is missing"), "{}", ran.err);
}

#[test]
fn a_story_that_is_none_is_named_with_line_and_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = folder.path().join("story.json");
    fs::write(&story, "{\n  \"story\": \"x\",\n  \"shows\": 5\n}").expect("a story");
    let ran = wakeful(["explain", &arg(&story)]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("story.json:3:") && ran.err.contains("expected a string"),
        "{}",
        ran.err
    );
}

#[test]
fn a_story_is_no_fixture() {
    let ran = wakeful(["replay", &arg(&source("tests/fixtures/stories/heartbeat.json"))]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`heartbeat` is a story: replay reads fixtures"), "{}", ran.err);
}

#[test]
fn a_text_that_is_not_utf_8_is_named_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("a file");
        arg(&path)
    };
    let fixture = |changed: &str| {
        let case = folder.path().join(changed.replace(['/', '.'], "-"));
        copy(&source("tests/fixtures/scheduler/dequeued_message_replays"), &case);
        let path = case.join(changed);
        let mut bytes = fs::read(&path).expect("the file is there");
        let second = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        bytes.splice(second..second, *b"\"caf\xe9\"\n");
        fs::write(&path, bytes).expect("the file is written");
        arg(&case)
    };
    let (toml, json) = (file("s.toml", b"a = 1\nb\xff"), file("s.json", b"{\n\xc3("));
    let (lines, agent) = (fixture("ledger/messages.jsonl"), fixture("agent.json"));
    let ledger = arg(&folder.path().join("ledger.sqlite"));
    let exported = arg(&folder.path().join("exported"));
    let whole = wakeful(
        ["run", "--ledger", &ledger, "--virtual", "--until-rest", "--story"]
            .into_iter()
            .chain([arg(&source("tests/fixtures/stories/heartbeat.json")).as_str()]),
    );
    assert_eq!(whole.code, 0, "{}", whole.err);
    let mut stored = wakeful(["log", &ledger, "--json"]).out.into_bytes();
    let at = stored.windows(9).position(|bytes| bytes == b"Summarise").expect("a text");
    stored[at] = 0x80;
    let line = stored[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    let (log, in_log) = (file("log.jsonl", &stored), format!("line {line}, byte "));
    let policy = file("policy.toml", b"\xff\xfen\0");
    let model = ["run", "--ledger", &ledger, "--provider", "openai", "--model", "m"];
    let model = |more: [&str; 2]| [&model[..], &more].concat().join("\n");
    for (args, at) in [
        (format!("explain\n{toml}"), "line 2, byte 2: 0xff"),
        (format!("explain\n{json}"), "line 2, byte 1: 0xc3"),
        (format!("run\n--ledger\n{ledger}\n--story\n{toml}"), "line 2, byte 2: 0xff"),
        (format!("crosscheck\n{toml}"), "line 2, byte 2: 0xff"),
        (format!("replay\n{lines}"), "line 2, byte 5: 0xe9"),
        (format!("export\n{lines}\n-o\n{exported}"), "line 2, byte 5: 0xe9"),
        (format!("explain\n{agent}"), "line 2, byte 5: 0xe9"),
        (format!("log\n{log}"), &in_log),
        (format!("status\n{log}"), &in_log),
        (format!("doctor\n{log}"), &in_log),
        (format!("export\n{log}\n-o\n{exported}"), &in_log),
        (format!("print\npolicy\n--check\n{policy}"), "line 1, byte 1: 0xff"),
        (model(["--policy", &policy]), "line 1, byte 1: 0xff"),
        (model(["--api-key-file", &policy]), "line 1, byte 1: 0xff"),
        (model(["--instructions", &policy]), "line 1, byte 1: 0xff"),
    ] {
        let ran = wakeful(args.lines());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args}: {}", ran.err);
        assert!(ran.err.contains(at) && ran.err.contains("not valid UTF-8"), "{}", ran.err);
    }
}

#[test]
fn a_line_that_ends_within_a_character_is_dropped_as_any_unfinished_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let (case, out) = (folder.path().join("case"), arg(&folder.path().join("out")));
    copy(&source("tests/fixtures/scheduler/dequeued_message_replays"), &case);
    let path = case.join("ledger/messages.jsonl");
    let mut bytes = fs::read(&path).expect("the file is there");
    bytes.extend(b"{\"id\":\"\xf0\x9f");
    let line = bytes.split(|byte| *byte == b'\n').count();
    fs::write(&path, bytes).expect("the file is written");
    let ran = wakeful(["export", &arg(&case), "-o", &out]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let said = format!("messages.jsonl:{line}: dropped an unfinished last line of 9 bytes");
    assert!(ran.out.contains(&said), "{}", ran.out);
}
