//! Each command prints of a server what it prints of the file behind it.

use std::fs;

use serde_json::Value;

use super::place::{Place, driver, ran, read};
use crate::{
    lists,
    program::{Ran, arg, wakeful},
};

/// What a command prints of the file.
fn of_file(place: &Place, args: &[&str]) -> Ran {
    let file = arg(&place.file());
    let (name, args) = args.split_at(if args[0] == "list" { 2 } else { 1 });
    // These name the file by an option.
    let is_named = matches!(name[0], "trigger" | "send");
    let named = if is_named { vec!["--ledger", &file] } else { vec![file.as_str()] };
    wakeful([name, &named, args].concat())
}

#[test]
fn what_is_read_of_a_server_is_what_is_read_of_its_file() {
    let place = Place::over(|folder| {
        lists::file(folder);
    });
    let file = arg(&place.file());
    for line in [
        "status",
        "status --json",
        "status --agent busy",
        "status --agent busy --json",
        "agents",
        "agents --json",
        "agents --odd",
        "list heads",
        "list heads --json",
        "why",
        "why --agent busy --not Sleep",
        "why --json --not StartModelTurn",
        "list tasks --all",
        "list tasks --all --json",
        "list items --all",
        "list items --agent busy --json",
        "list waits --all",
        "list waits --json",
        "log --agent busy",
        "log --agent busy --json",
        "log --agent busy --limit 5",
        "log --agent busy --after 3 --limit 4",
        "log --agent busy --after 9999",
        "log --agent busy --diagnostics --limit 3",
        "log",
        "list budgets --agent busy",
        "list budgets --agent busy --json",
        "trigger --agent busy list",
        "replay --agent busy --edition 2026-05-08 --json",
        "status --agent eve",
    ] {
        let args = words(line);
        let (expected, found) = (of_file(&place, &args), place.at(args.iter().copied()));
        // How the place is named must differ.
        let as_file = |text: &str| {
            let text =
                text.replace(&format!("--server {}", place.url), &format!("--ledger {file}"));
            text.replace(&place.url, &file)
        };
        // A command that is shown is wrapped by its length, and a list has the time when it is
        // made.
        let told = |text: &str| {
            let words: Vec<_> = text.split_whitespace().filter(|word| *word != "\\").collect();
            without(&words.join(" "), "at")
        };
        assert_eq!(told(&as_file(&found.err)), told(&expected.err), "{line}");
        assert_eq!(told(&as_file(&found.out)), told(&expected.out), "{line}");
        assert_eq!(found.code, expected.code, "{line}");
    }
}

#[test]
fn who_drives_an_agent_is_told_by_a_server_too() {
    let place = Place::over(|folder| {
        driver(&folder.join("agents.sqlite"), "ada");
    });
    let other = wakeful_host::ledger::SqliteFile::open(&place.file()).expect("it opens");
    let owned = other.own(&"ada".into()).expect("it is free");
    let told = place.at(["agents", "--json"]);
    assert_eq!(told.out, of_file(&place, &["agents", "--json"]).out);
    assert_eq!(read(&told.out)["driven_by"]["pid"], std::process::id());
    owned.release().expect("it writes");
    assert_eq!(read(&place.at(["agents", "--json"]).out)["driven_by"], Value::Null);
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// What is said, and with which end.
const SAID: &[(&str, i32)] = &[
    ("prompt hello --id m1", 0),
    ("prompt hello --id m1", 1),
    ("prompt other --id m1", 1),
    ("prompt about --item free --lane next --id m2", 0),
    ("prompt about --item none", 2),
    ("hint look --text it --trigger build", 0),
    ("deliver --trigger build green --id d1", 0),
    ("end-wait w-task", 0),
    ("end-wait w-task", 2),
    ("fact {\"fact\":\"work_item_created\",\"work_item_id\":\"new\",\"objective\":\"x\"}", 0),
    ("fact {\"fact\":\"work_item_completed\",\"work_item_id\":\"nothing\"}", 1),
    ("stop", 0),
    ("start", 0),
    ("shutdown", 0),
];

#[test]
fn what_is_said_at_a_server_is_recorded_as_in_a_file() {
    let place = Place::over(|folder| {
        lists::file(folder);
    });
    let copy = place.folder.path().join("copy.sqlite");
    fs::copy(place.file(), &copy).expect("a copy");
    let copy = arg(&copy);
    for (line, code) in SAID {
        let args = words(line);
        let in_file = ["send", "--ledger", &copy, "--agent", "busy"];
        let expected = wakeful([&in_file[..], &args].concat());
        let found = place.at(["send", "--agent", "busy"].into_iter().chain(args));
        assert_eq!((expected.code, &expected.out), (*code, &found.out), "{line}: {}", expected.err);
        assert_eq!((found.code, &found.err), (*code, &expected.err), "{line}");
    }
    // The same records, at other times.
    let records = |file: &str| {
        let log = wakeful(["log", file, "--agent", "busy", "--json"]).out;
        let plain = |line: &str| {
            let mut entry = read(line)["record"].to_string();
            for key in ["created_at", "updated_at", "cancelled_at"] {
                entry = without(&entry, key);
            }
            entry
        };
        log.lines().map(plain).collect::<Vec<_>>()
    };
    assert_eq!(records(&arg(&place.file())), records(&copy));
}

/// A text without the times that have this name.
fn without(text: &str, key: &str) -> String {
    let begin = format!("\"{key}\":\"");
    let mut parts = text.split(&begin);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('"').map_or(part, |(_, rest)| rest));
    }
    out
}

#[test]
fn what_is_said_is_also_told_as_json() {
    let place = Place::new();
    let told = place.at(["send", "--agent", "ada", "--json", "prompt", "hello", "--id", "m1"]);
    let told = read(&told.out);
    let file = arg(&place.file());
    let again = ["send", "--ledger", &file, "--agent", "ada", "--json", "prompt", "hello"];
    let expected = read(&wakeful([&again[..], &["--id", "m2"]].concat()).out);
    let names = |value: &Value| value.as_object().expect("an object").keys().cloned().collect();
    let (found, expected): (Vec<String>, Vec<String>) = (names(&told), names(&expected));
    assert_eq!((told["answer"].as_str(), found), (Some("accepted"), expected));
}

#[test]
fn a_wrong_fact_is_refused_with_what_is_wrong() {
    let place = Place::new();
    let before = place.lines("ada").len();
    let fact = r#"{"fact":"timer_created","timer_id":"u","duration_ms":1,"intervall_ms":5}"#;
    let refused = place.at(["send", "--agent", "ada", "fact", fact]);
    assert_eq!(refused.code, 2);
    for part in [&place.url, "(422, malformed)", "did you mean `interval_ms`?"] {
        assert!(refused.err.contains(part), "{}", refused.err);
    }
    assert_eq!(place.lines("ada").len(), before);
}

#[test]
fn a_trigger_is_made_and_delivered_to_at_a_server() {
    let place = Place::new();
    let made = place.at(["trigger", "--agent", "ada", "create", "build", "--mode", "message"]);
    let token = made.out.trim();
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(made.err.contains(&format!("wakeful send deliver --server {} TOKEN", place.url)));
    let deliver = |args: &[&str]| {
        // No token of the server is needed.
        ran(&mut place.command(["send", "deliver", token].into_iter().chain(args.iter().copied())))
    };
    let first =
        deliver(&["the build is green", "--id", "b1", "--event", "ended", "--source", "ci"]);
    assert_eq!((first.code, first.out.as_str(), first.err.as_str()), (0, "accepted\n", ""));
    let before = place.lines("ada");
    let message = before.iter().find(|line| line.contains("the build is green")).expect("it");
    for part in ["b1", "ended", "\"ci\""] {
        assert!(before.iter().any(|line| line.contains(part)), "{part} is not in {message}");
    }
    assert!(!before.iter().any(|line| line.contains("content_type")), "none was given");
    // A sender learns nothing of the agent, so a repeated delivery is as good as the first.
    let again = deliver(&["the build is green", "--id", "b1", "--json"]);
    assert_eq!((again.code, again.out.as_str()), (0, "{\"accepted\":true}\n"));
    let json = deliver(&["{\"green\":1}", "--type", "application/json", "--id", "b2"]);
    assert_eq!(json.code, 0, "{}", json.err);
    assert!(place.lines("ada").iter().any(|line| line.contains("\"green\":1")));
    for (args, why) in [
        (vec!["{", "--type", "application/json"], "the content is not JSON"),
        (vec![token], "the content is a token"),
        (vec!["x", "--id", "é"], "`é` cannot be sent in a header"),
        (vec!["x", "--virtual"], "--virtual is for ledger files"),
    ] {
        let refused = deliver(&args);
        assert_eq!(refused.code, 2, "{args:?}");
        assert!(refused.err.contains(why), "{args:?}: {}", refused.err);
    }
    let count = place.lines("ada").len();
    assert_eq!(place.at(["trigger", "--agent", "ada", "rotate", "build"]).code, 0);
    let rotated = deliver(&["late"]);
    assert_eq!(rotated.code, 2);
    assert!(rotated.err.contains("(404, no_such_token)"), "{}", rotated.err);
    assert_eq!(place.at(["trigger", "--agent", "ada", "revoke", "build"]).code, 0);
    assert!(!place.lines("ada").iter().skip(count).any(|line| line.contains("late")));
}

#[test]
fn a_budget_is_set_at_a_server() {
    let place = Place::new();
    let set = place.at(["send", "--agent", "ada", "budget", "--tokens-total", "500"]);
    assert_eq!(set.code, 0, "{}", set.err);
    let shown = place.at(["list", "budgets", "--agent", "ada"]);
    assert!(shown.out.starts_with("the agent: 0 of 500 tokens in all"), "{}", shown.out);
    assert_eq!(shown.out, of_file(&place, &["list", "budgets", "--agent", "ada"]).out);
}
