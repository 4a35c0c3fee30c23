//! `wakeful list tasks`, `items` and `waits`: what is listed, in which groups, and that it fits a
//! terminal.

use std::path::Path;

use serde_json::{Value, json};
use wakeful_host::ledger::SqliteFile;

use crate::{
    program::{Ran, arg, source, wakeful},
    sqlite::agent::{ledger, observed},
};

/// Facts that leave a task, an item and a wait in each group.
fn facts() -> Vec<Value> {
    let item = |id: &str| json!({ "fact": "work_item_created", "work_item_id": id, "objective": format!("The goal of {id}.") });
    let task = |id: &str, item: Option<&str>, policy: &str| {
        json!({
            "fact": "task_created", "task_id": id, "task_kind": "command_task",
            "work_item_id": item, "summary": format!("Run {id}"),
            "detail": { "wait_policy": policy, "cmd": id },
        })
    };
    let wait = |id: &str, item: Option<&str>, kind: &str, sources: Value| {
        json!({
            "fact": "wait_condition_registered", "wait_condition_id": id, "work_item_id": item,
            "kind": kind, "waiting_for": format!("what {id} is for"), "wake_sources": sources,
        })
    };
    let operator = json!([{ "kind": "operator_input" }]);
    let mut facts: Vec<_> =
        ["free", "focused", "asks", "builds", "mails", "sleeps", "ticks", "stuck", "done"]
            .map(item)
            .to_vec();
    facts.extend([
        json!({ "fact": "work_item_picked", "work_item_id": "focused" }),
        json!({ "fact": "work_item_blocked", "work_item_id": "stuck", "blocked_by": "the weather",
                "recheck_at": "2100-01-01T00:00:00Z" }),
        json!({ "fact": "work_item_completed", "work_item_id": "done", "result_summary": "All of it." }),
        task("holds", Some("builds"), "blocking"),
        task("awaited", None, "background"),
        task("aside", Some("free"), "background"),
        task("over", None, "background"),
        json!({ "fact": "task_completed", "task_id": "over" }),
        wait("w-task", Some("focused"), "task", json!([{ "kind": "task_result", "task_id": "awaited" }])),
        wait("w-operator", Some("asks"), "operator", operator.clone()),
        wait("w-external", Some("mails"), "external", json!([{ "kind": "external_ingress", "external_trigger_id": "mail" }])),
        wait("w-timer", Some("sleeps"), "timer", json!([{ "kind": "timer", "wake_at": "2100-01-01T00:00:00Z" }])),
        wait("w-system", Some("ticks"), "system", json!([{ "kind": "system_tick" }])),
        wait("w-over", None, "operator", operator),
        json!({ "fact": "wait_condition_cancelled", "wait_condition_id": "w-over", "ended_by": "operator" }),
        json!({ "fact": "waiting_intent_created", "waiting_intent_id": "intent", "scope": "agent",
                "description": "reviews", "source": "forge", "delivery_mode": "wake_hint",
                "external_trigger_id": "review" }),
        json!({ "fact": "timer_created", "timer_id": "nightly", "duration_ms": 4_000_000_000_u64 }),
    ]);
    for fact in &mut facts {
        if let Some(fields) = fact.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
    }
    facts
}

pub(crate) fn file(folder: &Path) -> String {
    let path = folder.join("agents.sqlite");
    let file = SqliteFile::open(&path).expect("it opens");
    let mut agent = observed("busy", ledger(&file, "busy"));
    for fact in facts() {
        let said = agent.propose(&fact.to_string()).expect("it is recorded");
        let said = serde_json::to_value(said).expect("JSON");
        assert_eq!(said["answer"], "accepted", "{fact}: {said}");
    }
    drop(observed("calm", ledger(&file, "calm")));
    arg(&path)
}

/// The groups of the first agent, each with the ids of its members.
fn groups(ran: &Ran) -> Vec<(String, Vec<String>)> {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let list: Value = serde_json::from_str(ran.out.lines().next().expect("a line")).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let groups = list["groups"].as_array().expect("groups").iter();
    groups
        .map(|group| {
            let members = group["members"].as_array().expect("members").iter();
            (text(&group["group"]), members.map(|member| text(&member["id"])).collect())
        })
        .collect()
}

fn of(pairs: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    pairs.iter().map(|(group, ids)| ((*group).to_owned(), owned(ids))).collect()
}

#[test]
fn what_is_active_is_grouped_by_what_it_holds_up_by_its_state_and_by_what_ends_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file(folder.path());
    assert_eq!(
        groups(&wakeful(["list", "tasks", &file, "--json"])),
        of(&[("blocking", &["holds"]), ("awaited", &["awaited"]), ("background", &["aside"])])
    );
    assert_eq!(
        groups(&wakeful(["list", "items", &file, "--json"])),
        of(&[
            // The item in focus comes first, with its group.
            ("waiting_task", &["focused", "builds"]),
            ("runnable", &["free"]),
            ("waiting_operator", &["asks"]),
            ("waiting_external", &["mails"]),
            ("waiting_timer", &["sleeps"]),
            ("waiting_system", &["ticks"]),
            ("blocked", &["stuck"]),
        ])
    );
    assert_eq!(
        groups(&wakeful(["list", "waits", &file, "--json"])),
        of(&[
            ("task", &["w-task"]),
            ("external", &["intent", "w-external"]),
            ("operator", &["w-operator"]),
            ("timer", &["nightly", "w-timer"]),
            ("system", &["w-system"]),
        ])
    );
}

#[test]
fn what_has_ended_is_listed_only_if_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file(folder.path());
    for (command, id) in [("tasks", "over"), ("items", "done"), ("waits", "w-over")] {
        let of = |args: &[&str]| -> Value {
            let out =
                wakeful([&["list", command, &file, "--agent", "busy", "--json"], args].concat())
                    .out;
            serde_json::from_str(&out).expect("JSON")
        };
        assert_eq!(of(&[])["ended"], Value::Null, "{command}");
        let ended = &of(&["--all"])["ended"];
        assert_eq!(
            (&ended["members"][0]["id"], ended["members"].as_array().map(Vec::len)),
            (&json!(id), Some(1)),
            "{command}"
        );
        assert_eq!(ended["left_out"], 0, "{command}");
        assert!(!wakeful(["list", command, &file]).out.contains(id), "{command}");
    }
    let all = wakeful(["list", "items", &file, "--all"]).out;
    assert!(all.contains("result: All of it."), "{all}");
}

#[test]
fn only_the_newest_fifty_that_have_ended_are_listed_and_the_others_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agents.sqlite");
    let file = SqliteFile::open(&path).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    for number in 0..53 {
        for fact in ["task_created", "task_completed"] {
            let fact = json!({ "fact": fact, "task_id": format!("t{number}"), "task_kind": "command_task" });
            agent.propose(&fact.to_string()).expect("it is recorded");
        }
    }
    let list: Value =
        serde_json::from_str(&wakeful(["list", "tasks", &arg(&path), "--all", "--json"]).out)
            .expect("JSON");
    let members = list["ended"]["members"].as_array().expect("members");
    assert_eq!((members.len(), &list["ended"]["left_out"]), (50, &json!(3)));
    assert_eq!((&members[0]["id"], &members[49]["id"]), (&json!("t52"), &json!("t3")));
    let text = wakeful(["list", "tasks", &arg(&path), "--all"]).out;
    assert!(text.contains("ended: 50, and 3 more"), "{text}");
}

#[test]
fn a_list_fits_a_terminal_of_eighty_columns_and_has_no_styles_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agents.sqlite");
    let file = SqliteFile::open(&path).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    let long = "word ".repeat(100);
    for fact in [
        json!({ "fact": "work_item_created", "work_item_id": "i".repeat(100), "objective": long }),
        json!({ "fact": "task_created", "task_id": "t", "task_kind": "command_task",
                "summary": "x".repeat(300) }),
        json!({ "fact": "wait_condition_registered", "wait_condition_id": "w", "kind": "external",
                "work_item_id": "i".repeat(100),
                "waiting_for": long, "source": long, "expires_in_ms": 1_000_000,
                "wake_sources": [{ "kind": "external_ingress", "external_trigger_id": "e".repeat(90) }] }),
    ] {
        agent.propose(&fact.to_string()).expect("it is recorded");
    }
    for command in ["tasks", "items", "waits"] {
        let ran = wakeful(["list", command, &arg(&path)]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.lines().count() > 3, "{}", ran.out);
        // A word of a command stays whole, so that it can be copied.
        let is_whole = |line: &str| line.contains(&arg(&path));
        let too_long = ran.out.lines().filter(|line| line.chars().count() > 80 && !is_whole(line));
        assert_eq!(too_long.collect::<Vec<_>>(), Vec::<&str>::new(), "{command}");
        assert!(!ran.out.contains('\u{1b}'), "{command}");
    }
}

/// The command that a list names for ending a wait, as words.
fn end_command(file: &str, id: &str) -> Vec<String> {
    let out = wakeful(["list", "waits", file, "--agent", "busy", "--json"]).out;
    let list: Value = serde_json::from_str(&out).expect("JSON");
    let members = list["groups"].as_array().expect("groups").iter();
    let mut members = members.flat_map(|group| group["members"].as_array().expect("members"));
    let wait = members.find(|member| member["id"] == id).expect("a wait");
    let command = wait["end_command"].as_str().expect("a command");
    // The quotes of a shell, as far as these commands have them.
    let parts = command.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[test]
fn the_command_that_a_list_names_ends_the_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file(folder.path());
    for id in ["w-task", "w-external", "w-timer", "w-system", "intent", "nightly"] {
        let words = end_command(&file, id);
        assert_eq!(words[0], "wakeful");
        let ran = wakeful(&words[1..]);
        assert_eq!(ran.code, 0, "{id}: {words:?}: {}{}", ran.out, ran.err);
        let left = groups(&wakeful(["list", "waits", &file, "--agent", "busy", "--json"]));
        assert!(!left.iter().any(|(_, ids)| ids.iter().any(|left| left == id)), "{id}: {left:?}");
    }
    // Only an answer ends a wait for the operator, in the turn that reads it.
    let words = end_command(&file, "w-operator");
    assert_eq!(words[words.len() - 4..], ["prompt", "YOUR ANSWER", "--item", "asks"]);
    assert_eq!(wakeful(&words[1..]).code, 0);
}

#[test]
fn an_item_that_rests_or_is_parked_says_since_when_also_in_a_file_of_lines() {
    let lines = source("tests/ledgers/v2/36_an_item_without_progress.jsonl");
    let ran = wakeful(["list", "items", &arg(&lines), "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let list: Value = serde_json::from_str(&ran.out).expect("JSON");
    let items: Vec<_> = list["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .flat_map(|group| group["members"].as_array().expect("members"))
        .collect();
    let parked: Vec<_> = items.iter().filter(|item| item["parked_at"].is_string()).collect();
    assert!(!parked.is_empty(), "{list}");
    let entries = std::fs::read_to_string(&lines).expect("a ledger");
    for item in parked {
        let entry = entries.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let mut parks = entry.filter(|entry| {
            entry["record"]["control"] == "item_parked"
                && entry["record"]["work_item_id"] == item["id"]
        });
        assert!(parks.any(|entry| entry["at"] == item["parked_at"]), "{item}");
    }
    let text = wakeful(["list", "items", &arg(&lines)]).out;
    assert!(text.contains("parked since "), "{text}");
    // Before it was parked it rested, since the end of a turn.
    let folder = tempfile::tempdir().expect("a folder");
    let earlier = folder.path().join("earlier.jsonl");
    let all: Vec<_> = entries.lines().collect();
    let rests = (1..all.len()).rev().find_map(|count| {
        std::fs::write(&earlier, all[..count].join("\n") + "\n").expect("a file");
        let out = wakeful(["list", "items", &arg(&earlier), "--json"]).out;
        let list: Value = serde_json::from_str(&out).expect("JSON");
        Some(list["groups"][0]["members"][0]["rests_since"].as_str()?.to_owned())
    });
    let rests = rests.expect("it rested");
    let ends = all.iter().filter(|line| {
        let entry: Value = serde_json::from_str(line).expect("JSON");
        entry["class"] == "turns" && entry["record"]["status"] == "terminal" && entry["at"] == rests
    });
    assert!(ends.count() > 0, "{rests}");
    let text = wakeful(["list", "items", &arg(&earlier)]).out;
    assert!(text.contains(&format!("rests since {rests} (")), "{text}");
    // Nothing can be sent to a file of lines.
    let waits =
        wakeful(["list", "waits", &arg(&source("tests/ledgers/v2/17_waiting_for_a_task.jsonl"))]);
    assert_eq!(waits.code, 0, "{}", waits.err);
    assert!(!waits.out.contains("end it:"), "{}", waits.out);
}
