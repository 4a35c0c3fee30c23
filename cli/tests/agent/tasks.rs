//! The task surface, row by row, with real processes: the answers to the model, and the records in
//! the ledger.

use serde_json::{Value, json};
use wakeful_core::record::{
    Record,
    entry::Entry,
    task::{TaskRecord, TaskStatus, recovery::TaskRecovery},
};

use super::{
    model::Asked,
    place::{Place, eventually, lives},
    turns::{calls, output},
};
use crate::{
    openai::{answer::Answer, server::Server},
    program::arg,
};

pub(super) fn tasks(entries: &[Entry]) -> Vec<TaskRecord> {
    entries
        .iter()
        .filter_map(
            |entry| if let Record::Task(task) = &entry.record { Some(task.clone()) } else { None },
        )
        .collect()
}

/// Runs an agent until it rests. Its model makes one list of calls per round, from the results so
/// far. Returns the answer of each call.
pub(super) fn answered(
    rounds: impl Fn(usize, &[Value]) -> Option<Vec<(&'static str, Value)>> + Send + Sync + 'static,
) -> (Place, Vec<Value>) {
    let place = Place::with(Server::scripted(move |request| {
        let asked = Asked::from_request(request);
        let next = if asked.trigger().starts_with("[operator]") {
            rounds(asked.rounds(), &asked.results())
        } else {
            None
        };
        next.map_or_else(|| Answer::says("Done."), |calls| Answer::calls(&calls))
    }));
    let ran = place.run(&["--until-rest", "--prompt", "go"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let answers = calls(&place.entries("default")).iter().map(output).collect();
    (place, answers)
}

pub(super) fn task_of(answer: &Value) -> &Value {
    &answer["result"]["task_handle"]["task_id"]
}

/// A loop of the shell that ends when this file is in its folder.
pub(super) fn until(file: &str) -> String {
    format!("until test -e {file}; do sleep 0.1; done")
}

/// A command that ends the loops that wait for `go`.
fn go() -> (&'static str, Value) {
    ("ExecCommand", json!({ "cmd": "touch go" }))
}

#[test]
fn a_command_that_ends_in_time_is_completed_and_makes_no_task() {
    let (place, answers) = answered(|round, _| {
        let commands = ["printf out; printf err >&2; exit 3", "kill -TERM $$", "true"];
        (round == 0)
            .then(|| commands.iter().map(|cmd| ("ExecCommand", json!({ "cmd": cmd }))).collect())
    });
    assert_eq!(
        answers[0]["result"],
        json!({
            "disposition": "completed",
            "exit_status": 3,
            "stdout_preview": "out",
            "stderr_preview": "err",
            "truncated": false,
        })
    );
    assert_eq!(
        answers[1]["result"]["exit_status"], 143,
        "what a signal has ended has the exit code of a shell"
    );
    assert_eq!(answers[2]["summary_text"], "command exited with status 0: true");
    assert!(tasks(&place.entries("default")).is_empty());
}

#[test]
fn a_command_that_takes_longer_is_promoted_with_its_handle_and_its_result_comes_as_a_message() {
    let cmd = format!("echo begun; {}; echo ended; exit 7", until("go"));
    let (place, answers) = answered(move |round, results| match results.first() {
        Some(answer) if answer["result"]["disposition"] == "completed" => None,
        Some(answer) if answer["result"]["task_handle"]["initial_output"] == "begun\n" => {
            Some(vec![go()])
        }
        // Nobody knows how soon it writes its first line, so the turn waits longer each time.
        _ if round < 12 => Some(vec![(
            "ExecCommand",
            json!({
                "cmd": cmd, "yield_time_ms": 150 << round, "duplicate_policy": "start_new"
            }),
        )]),
        _ => Some(vec![go()]),
    });
    let promoted = &answers[answers.len() - 2]["result"];
    assert_eq!(promoted["disposition"], "promoted_to_task");
    assert_eq!(promoted["task_handle"]["initial_output"], "begun\n");
    assert_eq!(promoted["initial_output_preview"], Value::Null, "nothing says it twice");
    assert_eq!(promoted["task_handle"]["task_kind"], "command_task");
    let entries = place.entries("default");
    let mut records = tasks(&entries);
    records.retain(|task| task.id.as_str() == promoted["task_handle"]["task_id"]);
    let statuses: Vec<_> = records.iter().map(|task| task.status).collect();
    assert_eq!(statuses, [TaskStatus::Queued, TaskStatus::Running, TaskStatus::Failed]);
    assert!(records.iter().all(|task| task.recovery.is_none()), "it may not run again");
    let detail: Value =
        serde_json::from_str(records[2].detail.as_ref().expect("a detail").as_str()).expect("JSON");
    assert_eq!(
        (&detail["exit_status"], &detail["output_summary"]),
        (&json!(7), &json!("begun\nended\n"))
    );
    let result = entries.iter().find_map(|entry| match &entry.record {
        Record::Message(message) if message.kind.to_string() == "task_result" => {
            Some(message.body.as_text().to_owned())
        }
        _ => None,
    });
    let result = result.expect("a result");
    assert!(
        result.starts_with("command task failed: Run command: echo begun")
            && result.ends_with("it exited with status 7"),
        "{result}"
    );
}

#[test]
fn the_same_command_is_not_started_twice_unless_that_is_asked_for() {
    let (_, answers) = answered(|round, _| {
        let slow = |more: Value| {
            let mut call = json!({ "cmd": until("go"), "yield_time_ms": 50 });
            call.as_object_mut()
                .expect("an object")
                .extend(more.as_object().expect("an object").clone());
            ("ExecCommand", call)
        };
        (round == 0).then(|| {
            vec![
                slow(json!({})),
                slow(json!({})),
                slow(json!({ "duplicate_policy": "start_new" })),
                slow(json!({ "tty": true })),
                go(),
            ]
        })
    });
    let dispositions: Vec<_> = answers
        .iter()
        .map(|answer| answer["result"]["disposition"].as_str().expect("one"))
        .collect();
    assert_eq!(
        dispositions,
        [
            "promoted_to_task",
            "already_running",
            "promoted_to_task",
            "promoted_to_task",
            "completed"
        ]
    );
    assert_eq!(task_of(&answers[0]), task_of(&answers[1]));
    assert_ne!(task_of(&answers[0]), task_of(&answers[2]));
}

#[test]
fn list_status_and_output_say_how_a_task_stands_while_it_runs_and_when_it_has_ended() {
    let cmd = format!("echo first; {}; echo last", until("go"));
    let given = cmd.clone();
    let (_, answers) = answered(move |round, results| match round {
        0 => Some(vec![("ExecCommand", json!({ "cmd": given, "yield_time_ms": 100 }))]),
        1 => {
            let task = task_of(&results[0]);
            Some(vec![
                ("TaskList", json!({})),
                ("TaskStatus", json!({ "task_id": task })),
                ("TaskOutput", json!({ "task_id": task, "block": false })),
                ("TaskOutput", json!({ "task_id": task, "timeout_ms": 50 })),
                go(),
                ("TaskOutput", json!({ "task_id": task })),
                ("TaskStatus", json!({ "task_id": task })),
                ("TaskList", json!({})),
                ("TaskOutput", json!({ "task_id": "task-999" })),
            ])
        }
        _ => None,
    });
    let listed = answers[1]["result"].as_array().expect("a list");
    assert_eq!((listed.len(), &listed[0]["status"]), (1, &json!("running")));
    assert_eq!(listed[0]["command"]["cmd"], cmd);
    let running = &answers[2]["result"]["task"];
    for (key, value) in [
        ("running", true),
        ("terminal", false),
        ("accepts_input", false),
        ("can_be_stopped", true),
        ("output_available", true),
    ] {
        assert_eq!(running[key], value, "{key}: {running}");
    }
    let retrieved: Vec<_> = [3, 4, 6]
        .map(|at| &answers[at])
        .iter()
        .map(|answer| answer["result"]["retrieval_status"].as_str().expect("one"))
        .collect();
    assert_eq!(retrieved, ["not_ready", "timeout", "success"]);
    let ended = &answers[6]["result"]["task"];
    assert_eq!(
        (&ended["output_preview"], &ended["exit_status"], &ended["status"]),
        (&json!("first\nlast\n"), &json!(0), &json!("completed"))
    );
    let over = &answers[7]["result"]["task"];
    assert_eq!(
        (&over["terminal"], &over["can_be_stopped"], &over["command"]["exit_status"]),
        (&json!(true), &json!(false), &json!(0))
    );
    assert_eq!(answers[8]["result"], json!([]), "only active tasks are listed");
    assert_eq!(answers[9]["error"]["kind"], "task_not_found");
}

#[test]
fn input_reaches_a_command_by_its_standard_input_or_its_terminal_and_nothing_else() {
    let (_, answers) = answered(|round, results| match round {
        0 => Some(vec![
            (
                "ExecCommand",
                json!({
                    "cmd": "read line; echo \"got $line\"",
                    "yield_time_ms": 50,
                    "accepts_input": true,
                }),
            ),
            (
                "ExecCommand",
                json!({
                    "cmd": "test -t 0 && read line && echo \"typed $line\"",
                    "yield_time_ms": 50,
                    "tty": true,
                }),
            ),
            ("ExecCommand", json!({ "cmd": until("go"), "yield_time_ms": 50 })),
        ]),
        1 => {
            let mut calls: Vec<_> = results
                .iter()
                .map(|result| {
                    ("TaskInput", json!({ "task_id": task_of(result), "input": "tea\n" }))
                })
                .collect();
            calls.push(go());
            calls.extend(
                results.iter().map(|result| ("TaskOutput", json!({ "task_id": task_of(result) }))),
            );
            calls
                .push(("TaskInput", json!({ "task_id": task_of(&results[0]), "input": "more\n" })));
            Some(calls)
        }
        _ => None,
    });
    let inputs: Vec<_> = answers[3..6].iter().map(|answer| &answer["result"]).collect();
    assert_eq!(
        (&inputs[0]["accepted_input"], &inputs[0]["input_target"], &inputs[0]["bytes_written"]),
        (&json!(true), &json!("stdin"), &json!(4))
    );
    assert_eq!(
        (&inputs[1]["accepted_input"], &inputs[1]["input_target"]),
        (&json!(true), &json!("tty"))
    );
    assert_eq!(inputs[2]["accepted_input"], false, "{}", inputs[2]);
    assert_eq!(answers[7]["result"]["task"]["output_preview"], "got tea\n");
    assert!(
        answers[8]["result"]["task"]["output_preview"]
            .as_str()
            .expect("text")
            .contains("typed tea"),
        "{}",
        answers[8]
    );
    assert_eq!(
        answers[10]["result"]["accepted_input"], false,
        "a task that has ended takes no input"
    );
}

#[test]
fn a_stopped_task_is_cancelled_and_one_that_ignores_that_is_killed_at_the_second_stop() {
    let stubborn = "trap '' TERM; touch deaf; while :; do sleep 0.1; done";
    let place = Place::scripted(move |asked| match asked.rounds() {
        _ if !asked.trigger().starts_with("[operator]") => Answer::says("Done."),
        0 => Answer::calls(&[
            ("ExecCommand", json!({ "cmd": "sleep 3600", "yield_time_ms": 50 })),
            ("ExecCommand", json!({ "cmd": stubborn, "yield_time_ms": 50 })),
            ("ExecCommand", json!({ "cmd": until("deaf") })),
        ]),
        1 => {
            let results = asked.results();
            let (meek, stubborn) = (task_of(&results[0]), task_of(&results[1]));
            Answer::calls(&[
                ("TaskStop", json!({ "task_id": meek })),
                ("TaskOutput", json!({ "task_id": meek })),
                ("TaskStop", json!({ "task_id": stubborn })),
                ("TaskStatus", json!({ "task_id": stubborn })),
                ("TaskStop", json!({ "task_id": stubborn })),
                ("TaskOutput", json!({ "task_id": stubborn })),
                ("TaskStop", json!({ "task_id": stubborn })),
            ])
        }
        _ => Answer::says("Done."),
    });
    // The second stop ends it, not the end of its grace period.
    let policy = place.folder().join("policy.toml");
    std::fs::write(&policy, "[limits]\nstop_grace_ms = 3600000\n").expect("a policy");
    place.rest(&["--prompt", "go", "--policy", &arg(&policy)]);
    let answers: Vec<_> = calls(&place.entries("default")).iter().map(output).collect();
    assert_eq!(
        (&answers[3]["result"]["stop_requested"], &answers[3]["result"]["force_stop_requested"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(answers[4]["result"]["task"]["status"], "cancelled");
    assert_eq!(answers[6]["result"]["task"]["status"], "cancelling");
    assert_eq!(answers[7]["result"]["force_stop_requested"], true);
    assert_eq!(answers[8]["result"]["task"]["status"], "cancelled");
    assert_eq!(answers[9]["error"]["kind"], "already_terminal");
    let ends =
        tasks(&place.entries("default")).into_iter().filter(|task| task.status.is_terminal());
    assert!(ends.map(|task| task.status).eq([TaskStatus::Cancelled; 2]));
}

#[test]
fn a_command_ends_with_its_host_and_its_task_is_interrupted() {
    let cmd = "(setsid sh -c 'exec sleep 431.0417' &); echo 430.0417 > pid; exec sleep 430.0417";
    let place = Place::scripted(move |asked| match asked.rounds() {
        0 if asked.trigger().starts_with("[operator]") && !asked.is_told("interrupted") => {
            Answer::calls(&[("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 200 }))])
        }
        _ => Answer::says("So be it."),
    });
    let live = place.start(&["--prompt", "go"]);
    place.wait_for("default", "task", |entry| {
        matches!(&entry.record, Record::Task(task) if task.status == TaskStatus::Running)
            .then_some(())
    });
    let words = ["430.0417", "431.0417"];
    eventually("the command and its daemon run", || words.iter().all(|word| lives(word)));
    live.kill();
    eventually("they end with their host", || !words.iter().any(|word| lives(word)));
    place.rest(&[]);
    let last = tasks(&place.entries("default")).last().map(|task| task.status);
    assert_eq!(last, Some(TaskStatus::Interrupted));
}

#[test]
fn what_a_host_that_was_killed_left_running_is_ended_and_its_task_interrupted() {
    // In a container a command survives its host, and only its mark says whose it is.
    let place = Place::with(Server::scripted(|request| {
        let asked = Asked::from_request(request);
        match (
            asked.trigger().starts_with("[operator]") && !asked.is_told("interrupted"),
            asked.rounds(),
        ) {
            (true, 0) => Answer::calls(&[(
                "ExecCommand",
                json!({
                    "cmd": "echo $$ > pid.new; mv pid.new pid; exec sleep 404.0417",
                    "yield_time_ms": 100,
                }),
            )]),
            (true, _) => Answer::says("It runs."),
            (false, _) => Answer::says("It was interrupted."),
        }
    }));
    let script = "\"$@\" --prompt go & host=$!; until test -e ../kill; do sleep 0.02; done; kill -9 \
                  $host; wait $host; kill -0 $(cat pid) && echo survived; \"$@\" --until-rest; kill -0 \
                  $(cat pid) 2> /dev/null || echo ended";
    let ran = std::thread::scope(|scope| {
        let running = scope.spawn(|| place.in_container(script, &["--wall", "container"]));
        place.wait_for("default", "task", |entry| {
            matches!(&entry.record, Record::Task(task) if task.status == TaskStatus::Running)
                .then_some(())
        });
        eventually("the command runs", || place.workspace().join("pid").is_file());
        std::fs::write(place.folder().join("kill"), "").expect("a file");
        running.join().expect("it does not panic")
    });
    assert!(
        ran.out.contains("survived\n"),
        "a command survives a host that was killed: {}",
        ran.out
    );
    assert!(ran.out.ends_with("ended\n"), "the next process of the host ends it: {}", ran.out);
    let entries = place.entries("default");
    assert_eq!(tasks(&entries).last().map(|task| task.status), Some(TaskStatus::Interrupted));
    let answers = |entry: &Entry| {
        matches!(
            &entry.record,
            Record::Transcript(said) if said.data.as_str().contains("It was interrupted.")
        )
    };
    assert!(entries.iter().any(answers), "the model learns of it:\n{}", ran.out);
}

/// The file in which each run of a command leaves a line.
const RUNS: &str = "runs";

/// An agent that runs a command which may run again. It lasts until its third run.
fn with_a_command_that_may_run_again() -> Place {
    Place::scripted(|asked| match asked.rounds() {
        0 if asked.trigger().starts_with("[operator]") => {
            let cmd = "echo ran >> runs; test $(wc -l < runs) -ge 3 || exec sleep 407.0417; echo 3";
            let call = json!({ "cmd": cmd, "yield_time_ms": 100, "restartable": true });
            Answer::calls(&[("ExecCommand", call)])
        }
        _ => Answer::says("So be it."),
    })
}

fn runs(place: &Place) -> usize {
    std::fs::read_to_string(place.workspace().join(RUNS)).unwrap_or_default().lines().count()
}

/// Runs the agent until its command has run this often and its task is recorded so, and kills it.
fn killed_after(place: &Place, times: usize, extra: &[&str]) {
    let live = place.start(extra);
    let is_recorded = || {
        let entries = place.entries("default");
        // Only between turns: the message of an interrupted one would ask for the command again.
        let has_rested = entries
            .iter()
            .any(|entry| matches!(&entry.record, Record::Turn(turn) if turn.kind.is_some()));
        let runs = tasks(&entries).iter().filter(|task| task.status == TaskStatus::Running).count();
        has_rested && runs == times
    };
    eventually("the command runs", || runs(place) >= times && is_recorded());
    live.kill();
}

#[test]
fn a_command_that_may_run_again_is_started_once_by_each_restart_under_the_same_task() {
    let place = with_a_command_that_may_run_again();
    killed_after(&place, 1, &["--prompt", "go"]);
    killed_after(&place, 2, &[]);
    place.rest(&[]);
    assert_eq!(runs(&place), 3);
    let entries = place.entries("default");
    let records = tasks(&entries);
    let statuses: Vec<_> = records.iter().map(|task| task.status).collect();
    let runs = [TaskStatus::Running; 3];
    assert_eq!(
        statuses,
        [&[TaskStatus::Queued][..], &runs, &[TaskStatus::Completed]].concat(),
        "never interrupted"
    );
    assert!(records.iter().all(|task| task.id == records[0].id));
    assert!(
        matches!(&records[0].recovery, Some(TaskRecovery::CommandTask { spec, .. })
            if spec.cmd.starts_with("echo ran")),
        "{:?}",
        records[0].recovery
    );
    let detail: Value =
        serde_json::from_str(records[4].detail.as_ref().expect("a detail").as_str()).expect("JSON");
    assert_eq!((&detail["restarts"], &detail["output_summary"]), (&json!(2), &json!("3\n")));
    let results: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.record {
            Record::Message(message) if message.kind.to_string() == "task_result" => {
                Some(message.body.as_text().to_owned())
            }
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 1);
    assert!(
        results[0].ends_with("it exited with status 0, after a restart had started it again"),
        "{results:?}"
    );
}

#[test]
fn a_command_of_an_agent_that_the_operator_has_stopped_is_not_started_again() {
    let place = with_a_command_that_may_run_again();
    killed_after(&place, 1, &["--prompt", "go"]);
    place.tell(&["stop"]);
    place.rest(&[]);
    place.tell(&["start"]);
    place.rest(&[]);
    assert_eq!(runs(&place), 1);
    let last = tasks(&place.entries("default")).last().map(|task| task.status);
    assert_eq!(last, Some(TaskStatus::Interrupted));
}

#[test]
fn only_a_wanted_command_that_the_model_called_restartable_is_started_again() {
    let place = Place::scripted(|_| Answer::says("So be it."));
    place.rest(&["--prompt", "go"]);
    // Earlier versions recorded for every command how it ran, without asking whether it may again.
    let facts =
        [("earlier", false), ("unwanted", true), ("wanted", true)].map(|(id, restartable)| {
            let cmd = format!("touch {id}.ran");
            json!({
                "fact": "task_created", "task_id": id, "task_kind": "command_task", "summary": id,
                "detail": { "cmd": cmd, "restartable": restartable },
                "recovery": {
                    "kind": "command_task", "summary": id, "trust": "trusted_operator",
                    "promoted_from_exec_command": true,
                    "spec": { "cmd": cmd, "login": false, "yield_time_ms": 10 },
                },
            })
        });
    facts.iter().for_each(|fact| place.tell(&["fact", &fact.to_string()]));
    let cancelling = json!({ "fact": "task_cancelling", "task_id": "unwanted" });
    place.tell(&["fact", &cancelling.to_string()]);
    place.rest(&[]);
    let all = tasks(&place.entries("default"));
    for (id, ran, status) in [
        ("earlier", false, TaskStatus::Interrupted),
        ("unwanted", false, TaskStatus::Interrupted),
        ("wanted", true, TaskStatus::Completed),
    ] {
        assert_eq!(place.workspace().join(format!("{id}.ran")).exists(), ran, "{id}");
        let last = all.iter().rfind(|task| task.id.as_str() == id).map(|task| task.status);
        assert_eq!(last, Some(status), "{id}");
    }
}

#[test]
fn a_command_whose_folder_is_gone_by_now_is_not_started_again_and_its_task_fails() {
    let place = Place::scripted(|asked| match asked.rounds() {
        0 if asked.trigger().starts_with("[operator]") => {
            let cmd = "echo ran >> ../runs; exec sleep 407.0418";
            let call = json!({
                "cmd": cmd, "workdir": "sub", "yield_time_ms": 100, "restartable": true
            });
            Answer::calls(&[("ExecCommand", call)])
        }
        _ => Answer::says("So be it."),
    });
    let folder = place.workspace().join("sub");
    std::fs::create_dir(&folder).expect("a folder");
    killed_after(&place, 1, &["--prompt", "go"]);
    std::fs::remove_dir(&folder).expect("it is empty");
    place.rest(&[]);
    assert_eq!(runs(&place), 1);
    let all = tasks(&place.entries("default"));
    let last = all.last().expect("a task");
    let summary = last.summary.as_deref().unwrap_or_default();
    assert_eq!(last.status, TaskStatus::Failed);
    assert!(
        summary.contains("could not be started again after a restart")
            && summary.contains("no such folder"),
        "{summary}"
    );
}
