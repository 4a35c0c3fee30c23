//! A whole story, with both engines. It has two work items, a wait for a command that takes longer
//! than its turn, and an operator who interferes. The process is killed in the middle of a turn
//! (`kill -9`), and a child works in a worktree.

use serde_json::{Value, json};
use wakeful_core::record::{
    Record, entry::Entry, event::EventKind, queue::envelope::QueueStatus, task::TaskStatus,
    turn::RunStatus, work::WorkItemState,
};

use super::{
    model::Asked,
    place::{KEY, Place, eventually},
    tasks::until,
};
use crate::{
    openai::{answer::Answer, server::Server},
    program::source,
};

const GOAL: &str = "Build the parser, and write its notes.";
const WISH: &str = "Use tabs, please.";

/// The two commands. Each runs until the test lets it end.
const BUILD: &str = "sh build.sh";
const CHECK: &str = "sh check.sh";

fn model(asked: &Asked) -> Answer {
    if asked.is_child() {
        return child(asked);
    }
    let trigger = asked.trigger();
    match asked.rounds() {
        0 if trigger.contains(GOAL) => Answer::calls(&[
            ("CreateWorkItem", json!({ "objective": "Build the parser", "plan_status": "ready" })),
            (
                "CreateWorkItem",
                json!({
                    "objective": "Write the notes",
                    "todo_list": [{ "text": "ask the child", "state": "pending" }],
                }),
            ),
        ]),
        1 if trigger.contains(GOAL) => {
            let item = asked.results()[0]["result"]["work_item"]["id"].clone();
            Answer::calls(&[
                ("PickWorkItem", json!({ "work_item_id": item })),
                ("ExecCommand", json!({ "cmd": BUILD, "yield_time_ms": 100 })),
            ])
        }
        2 if trigger.contains(GOAL) => {
            let task = asked.results()[1]["result"]["task_handle"]["task_id"].clone();
            Answer::calls(&[(
                "WaitFor",
                json!({ "reason": "the build", "wake": "task_result", "resource": task }),
            )])
        }
        // The build has ended. The operator's message arrives while the next command runs, and
        // reaches the model with its result. Then the process is killed.
        0 if trigger.contains(BUILD) && !asked.is_told("interrupted") => {
            Answer::calls(&[("ExecCommand", json!({ "cmd": CHECK }))])
        }
        1 if trigger.contains(BUILD) && !asked.is_told("interrupted") => {
            assert!(asked.hears(WISH), "the model gets the operator's message: {}", asked.text());
            Answer::never()
        }
        0 if trigger.contains(BUILD) => {
            assert!(
                asked.is_told(&format!("ExecCommand: command exited with status 0: {CHECK}")),
                "{}",
                asked.text()
            );
            let message = "Print the branch that you are on.";
            Answer::calls(&[(
                "SpawnAgent",
                json!({ "initial_message": message, "workspace_mode": "worktree" }),
            )])
        }
        1 if trigger.contains(BUILD) => {
            let task = asked.results()[0]["result"]["task_handle"]["task_id"].clone();
            Answer::calls(&[(
                "WaitFor",
                json!({ "reason": "the child", "wake": "task_result", "resource": task }),
            )])
        }
        0 if trigger.contains("I am on a branch of my own") => {
            Answer::calls(&[("ListWorkItems", json!({ "filter": "current" }))])
        }
        0 if trigger.contains("queued available") || trigger.contains("work queue") => {
            Answer::calls(&[("ListWorkItems", json!({ "filter": "runnable" }))])
        }
        1 => {
            let item = asked.results()[0]["result"]["work_items"][0]["id"].clone();
            Answer::calls(&[(
                "CompleteWorkItem",
                json!({ "work_item_id": item, "result_summary": "done" }),
            )])
        }
        _ => panic!("what is this? {}", asked.text()),
    }
}

fn child(asked: &Asked) -> Answer {
    match asked.rounds() {
        0 => Answer::calls(&[("ExecCommand", json!({ "cmd": "git branch --show-current" }))]),
        _ => {
            let branch = asked.results()[0]["result"]["stdout_preview"]
                .as_str()
                .expect("a branch")
                .trim()
                .to_owned();
            assert!(branch.starts_with("task-"), "the child has its own branch: {branch}");
            Answer::says("I am on a branch of my own.")
        }
    }
}

/// Plays the story with an engine, and checks the ledger.
fn play(engine: &str) {
    let place = Place::with(Server::scripted(|request| model(&Asked::from_request(request))));
    for of in ["build", "check"] {
        let script = format!("{}\n", until(&format!("{of}.may-end")));
        std::fs::write(place.workspace().join(format!("{of}.sh")), script).expect("a script");
    }
    let may_end = |of: &str| {
        std::fs::write(place.workspace().join(format!("{of}.may-end")), "").expect("a file")
    };
    let args = ["--engine", engine, "--until-rest"];
    let first = place.start(&[&args[..], &["--prompt", GOAL]].concat());
    place.wait_for("default", "wait for the build", |entry| {
        decision(entry).filter(|kind| kind == "WaitForTask")
    });
    may_end("build");
    place.wait_for("default", "second command", |entry| {
        let Record::Transcript(said) = &entry.record else { return None };
        said.data.as_str().contains(CHECK).then_some(())
    });
    let sent = place.send(&["prompt", WISH, "--lane", "interject"]);
    assert_eq!(sent.code, 0, "{}{}", sent.out, sent.err);
    place.wait_for("default", "message", |entry| {
        let Record::Message(message) = &entry.record else { return None };
        (message.body.as_text() == WISH).then_some(())
    });
    may_end("check");
    place.wait_for("default", "interjection", |entry| {
        let Record::QueueEntry(record) = &entry.record else { return None };
        (record.status == QueueStatus::Interjected).then_some(())
    });
    eventually("the model is asked", || {
        place.asked().last().is_some_and(|body| body.contains(WISH))
    });
    first.kill();
    let ran = place.run(&args);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    check(&place, &ran.out);
    is_told_in_the_readme(&format!("{}{}", place.shown(), ran.out));
}

/// Checks docs/tour.md: each line of the story there was printed, in the same order for each agent.
fn is_told_in_the_readme(shown: &str) {
    let readme = std::fs::read_to_string(source("docs/tour.md")).expect("the tour");
    let (_, told) = readme
        .split_once("--until-rest --prompt \"Build the parser, and write its notes.\"\n")
        .expect("the tour tells the story");
    let (told, _) = told.split_once("```").expect("the story ends");
    for whose in [true, false] {
        let is_of = |line: &&str| line.starts_with("task-") == whose;
        let mut left = shown.lines().filter(is_of);
        for line in told
            .lines()
            .filter(is_of)
            .filter(|line| !line.is_empty() && !line.starts_with('$') && !line.starts_with("..."))
        {
            assert!(
                left.any(|printed| printed == line),
                "the tour tells `{line}` at a place where it was not printed:\n{shown}"
            );
        }
    }
}

fn check(place: &Place, out: &str) {
    let entries = place.entries("default");
    let runs = |wanted: RunStatus| {
        entries
            .iter()
            .filter(|entry| matches!(&entry.record, Record::Turn(turn) if turn.status == wanted))
            .count()
    };
    assert_eq!(runs(RunStatus::Interrupted), 1, "only the killed turn is interrupted:\n{out}");
    let done = |entry: &&Entry| {
        matches!(
            &entry.record,
            Record::WorkItem(item) if item.state == WorkItemState::Completed
        )
    };
    assert_eq!(entries.iter().filter(done).count(), 2, "both items are done:\n{out}");
    // contract 15.8: the item was handed to the child, and came back.
    let said = |kind: &str| {
        let is_it =
            |entry: &&Entry| matches!(&entry.record, Record::Event(event) if event.kind == kind);
        entries.iter().filter(is_it).count()
    };
    assert_eq!((said("work_item_delegated"), said("work_item_delegation_completed")), (1, 1));
    let tasks: Vec<_> = entries
        .iter()
        .filter_map(|entry| {
            if let Record::Task(task) = &entry.record {
                task.status.is_terminal().then_some(task)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        tasks.iter().map(|task| task.status).collect::<Vec<_>>(),
        [TaskStatus::Completed; 2],
        "{out}"
    );
    let detail: Value =
        serde_json::from_str(tasks[1].detail.as_ref().expect("a detail").as_str()).expect("JSON");
    assert_eq!(detail["worktree"]["cleanup_status"], "cleaned", "{detail}");
    let decided: Vec<String> = entries.iter().filter_map(decision).collect();
    for wanted in ["WaitForTask", "EmitSystemTick", "StartModelTurn", "Sleep"] {
        assert!(decided.iter().any(|kind| kind == wanted), "no {wanted} in {decided:?}");
    }
    let child = detail["child_agent_id"].as_str().expect("a child");
    assert!(place.entries(child).len() > 10, "the child has its own ledger");
    no_secret_in(place);
}

fn decision(entry: &Entry) -> Option<String> {
    let Record::Event(event) = &entry.record else { return None };
    let data = event.data().filter(|_| event.kind == EventKind::SchedulerDecision.as_str())?;
    data.field("decision")?.read().ok()
}

/// Searches every file that the agent left for the key.
pub(super) fn no_secret_in(place: &Place) {
    let mut folders = vec![place.folder().to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for found in std::fs::read_dir(folder).expect("a folder") {
            let path = found.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                let bytes = std::fs::read(&path).expect("a file");
                assert!(
                    !bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()),
                    "the key is in {}",
                    path.display()
                );
            }
        }
    }
    assert!(files > 3, "the ledger and the output of commands were searched");
}

#[test]
fn a_story_with_the_native_core() {
    play("native");
}

#[test]
fn a_story_with_the_sandboxed_core() {
    play("wasm");
}
