//! High load: many commands as tasks, and one with very long output.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};
use wakeful_core::record::{
    Record, entry::Entry, queue::envelope::MessageKind, task::TaskStatus, turn::RunStatus,
};

use super::{
    place::Place,
    tasks::{answered, task_of, tasks, until},
};
use crate::openai::answer::Answer;

#[test]
fn fifty_commands_run_at_once_and_each_result_comes_exactly_once() {
    const MANY: usize = 50;
    let place = Place::scripted(|asked| {
        match (asked.trigger().starts_with("[operator]"), asked.rounds()) {
            (true, 0) => {
                let call = |number| {
                    (
                        "ExecCommand",
                        json!({
                            "cmd": format!("{}; echo number {number}", until("go")),
                            "yield_time_ms": 1,
                        }),
                    )
                };
                let go = ("ExecCommand", json!({ "cmd": "touch go" }));
                Answer::calls(&(0..MANY).map(call).chain([go]).collect::<Vec<_>>())
            }
            _ => Answer::says("Noted."),
        }
    });
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let ends: Vec<_> =
        tasks(&entries).into_iter().filter(|task| task.status.is_terminal()).collect();
    assert!(
        ends.len() == MANY && ends.iter().all(|task| task.status == TaskStatus::Completed),
        "{} ended",
        ends.len()
    );
    let mut told = BTreeMap::<String, usize>::new();
    for entry in &entries {
        if let Record::Message(message) = &entry.record
            && message.kind == MessageKind::TaskResult
        {
            let detail = message.noted("task_detail").expect("a detail");
            *told
                .entry(detail.field("output_summary").expect("its output").read().expect("text"))
                .or_default() += 1;
        }
    }
    let expected: BTreeMap<_, _> =
        (0..MANY).map(|number| (format!("number {number}\n"), 1)).collect();
    assert_eq!(told, expected);
    let ended = |entry: &&Entry| {
        matches!(
            &entry.record,
            Record::Turn(turn) if turn.status == RunStatus::Terminal
        )
    };
    let turns = entries.iter().filter(ended).count();
    assert_eq!(turns, MANY + 1, "each result has its own turn");
}

#[test]
fn a_flood_is_capped_in_the_file_in_the_record_and_in_what_the_model_reads() {
    const FLOOD: u64 = 100 << 20;
    let (place, answers) = answered(|round, results| match round {
        0 => {
            let flood = format!("yes 'a line of the flood' | head -c {FLOOD}");
            let cmd = format!("echo first; {flood}; {}; echo; echo last", until("go"));
            let go = ("ExecCommand", json!({ "cmd": "touch go" }));
            Some(vec![("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 10 })), go])
        }
        1 => Some(vec![("TaskOutput", json!({ "task_id": task_of(&results[0]) }))]),
        _ => None,
    });
    let task = &answers[2]["result"]["task"];
    assert_eq!((&task["status"], &task["output_truncated"]), (&json!("completed"), &json!(true)));
    let preview = task["output_preview"].as_str().expect("text");
    assert!(
        preview.starts_with("first\n") && preview.ends_with("\nlast\n") && preview.len() < 9_000,
        "{} bytes",
        preview.len()
    );
    let file = fs::metadata(task["output_path"].as_str().expect("a path")).expect("the output");
    assert!(file.len() <= (8 << 20) + 100, "{} bytes", file.len());
    let records = tasks(&place.entries("default"));
    let last = records.last().expect("the end").detail.as_ref().expect("a detail").as_str();
    let detail: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(detail["output_bytes"], FLOOD + "first\n\nlast\n".len() as u64);
    assert!(
        detail["output_left_out_bytes"].as_u64().expect("bytes") > FLOOD - (9 << 20),
        "{detail}"
    );
    assert!(last.len() < 5_000, "the record has {} bytes", last.len());
}
