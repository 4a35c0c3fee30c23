//! Child agents, with real processes and worktrees: what their parents learn, and what remains of
//! them.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use wakeful_core::record::{
    Record,
    entry::Entry,
    queue::envelope::MessageKind,
    task::{TaskRecord, TaskStatus},
};

use super::{
    model::Asked,
    place::{Place, eventually, lives},
    tasks::{task_of, tasks, until},
    turns::{calls, output},
};
use crate::{
    openai::answer::Answer,
    program::{arg, wakeful},
};

/// The workspace that the system message names.
pub(super) fn workspace(asked: &Asked) -> PathBuf {
    let told = asked.system().split_once("You work in ").expect("the message names it").1;
    told.split_once(". Your commands").expect("a sentence").0.into()
}

/// The detail of a task record.
pub(super) fn detail(task: &TaskRecord) -> Value {
    serde_json::from_str(task.detail.as_ref().expect("a detail").as_str()).expect("JSON")
}

pub(super) fn ended(entries: &[Entry]) -> Vec<TaskRecord> {
    tasks(entries).into_iter().filter(|task| task.status.is_terminal()).collect()
}

/// The task results that were queued as messages.
fn results(entries: &[Entry]) -> Vec<String> {
    let messages = entries.iter().filter_map(|entry| {
        if let Record::Message(message) = &entry.record { Some(message) } else { None }
    });
    messages
        .filter(|message| message.kind == MessageKind::TaskResult)
        .map(|message| message.body.as_text().to_owned())
        .collect()
}

pub(super) fn spawn(message: &str) -> (&'static str, Value) {
    ("SpawnAgent", json!({ "initial_message": message }))
}

pub(super) fn in_worktree(message: &str) -> (&'static str, Value) {
    ("SpawnAgent", json!({ "initial_message": message, "workspace_mode": "worktree" }))
}

/// How long a turn waits for a command that must end within it.
const LONG: u64 = 600_000;

fn exec(cmd: &str, yield_time_ms: u64) -> (&'static str, Value) {
    ("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": yield_time_ms }))
}

/// A command that waits for a file.
fn wait_for(file: &str) -> (&'static str, Value) {
    exec(&until(file), LONG)
}

pub(super) fn is_goal(asked: &Asked) -> bool {
    asked.trigger().starts_with("[operator]")
}

#[test]
fn a_child_is_supervised_while_it_works_and_its_last_words_wake_its_parent() {
    let words = "All is well. ".repeat(1_000).trim().to_owned();
    let last = words.clone();
    let place =
        Place::scripted(move |asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
            (true, _, 0) => Answer::calls(&[wait_for("go")]),
            (true, ..) => Answer::says(&last),
            (_, true, 0) => Answer::calls(&[spawn("Look after it.")]),
            (_, true, 1) => {
                let task = task_of(&asked.results()[0]).clone();
                let look = ("TaskOutput", json!({ "task_id": task, "block": false }));
                let wait = ("TaskOutput", json!({ "task_id": task }));
                Answer::calls(&[
                    ("TaskStatus", json!({ "task_id": task })),
                    ("AgentGet", json!({})),
                    look,
                    exec("touch go", LONG),
                    wait,
                ])
            }
            (_, true, _) => Answer::says("I saw it."),
            _ => {
                assert!(
                    asked.trigger().contains("child agent task completed: Look after it.")
                        && asked.trigger().contains(&last)
                );
                Answer::says("I was told.")
            }
        });
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let answers: Vec<_> = calls(&entries).iter().map(output).collect();
    let spawned = &answers[0]["result"];
    let child = spawned["child_agent_id"].as_str().expect("a child");
    assert_eq!(spawned["supervision_task_id"], spawned["task_handle"]["task_id"]);
    let status = &answers[1]["result"]["task"];
    for supervision in [
        &spawned["child_supervision"],
        &status["child_supervision"],
        &answers[2]["result"]["active_children"][0],
    ] {
        assert_eq!(supervision["child_agent_id"], child);
        assert_eq!(
            (&supervision["cleanup_owner"], &supervision["workspace_mode"]),
            (&json!("supervision_task"), &json!("inherit"))
        );
        assert_eq!(
            (&supervision["parent_agent_id"], &supervision["cleanup_status"]),
            (&json!("default"), &Value::Null)
        );
    }
    assert_eq!(
        (&status["running"], &status["accepts_input"], &status["can_be_stopped"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert_eq!(answers[3]["result"]["retrieval_status"], "not_ready");
    let seen = &answers[5]["result"]["task"];
    assert_eq!(
        (&seen["status"], seen["output_preview"].as_str()),
        (&json!("completed"), Some(words.as_str())),
        "its last answer, complete"
    );
    assert_eq!(results(&entries).len(), 1);
    assert!(
        super::turns::ended(&entries)
            .iter()
            .any(|turn| turn.last_assistant_message.as_deref() == Some("I was told."))
    );
}

#[test]
fn a_follow_up_reaches_a_child_that_waits_for_its_operator_and_ends_that_wait() {
    let place = Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, _, 0) if asked.trigger().contains("Paint it.") => Answer::calls(&[
            exec("touch asks", LONG),
            ("WaitFor", json!({ "reason": "which colour", "wake": "operator_input" })),
        ]),
        (true, ..) => Answer::says(&format!("Painted, for I was told: {}", asked.trigger())),
        (_, true, 0) => Answer::calls(&[spawn("Paint it.")]),
        (_, true, 1) => {
            let task = task_of(&asked.results()[0]).clone();
            Answer::calls(&[
                wait_for("asks"),
                ("TaskInput", json!({ "task_id": task, "input": "Blue." })),
            ])
        }
        _ => Answer::says("So be it."),
    });
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let told = output(&calls(&entries)[2]);
    assert_eq!(
        (&told["result"]["accepted_input"], &told["result"]["input_target"]),
        (&json!(true), &json!("child_followup"))
    );
    let task = &ended(&entries)[0];
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(
        detail(task)["output_summary"],
        "Painted, for I was told: [runtime] your parent agent\nBlue."
    );
}

#[test]
fn a_child_that_is_stopped_ends_with_its_commands() {
    let place = Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, _, 0) => Answer::calls(&[exec(
            "echo 401.0417 > pid.new; mv pid.new pid; exec sleep 401.0417",
            100,
        )]),
        (true, ..) => Answer::says("It runs."),
        (_, true, 0) => Answer::calls(&[spawn("Run it.")]),
        (_, true, 1) => {
            let task = task_of(&asked.results()[0]).clone();
            let stop = ("TaskStop", json!({ "task_id": task }));
            Answer::calls(&[
                wait_for("pid"),
                stop,
                ("TaskOutput", json!({ "task_id": task })),
                ("TaskInput", json!({ "task_id": task, "input": "more" })),
            ])
        }
        _ => Answer::says("So be it."),
    });
    place.rest(&["--prompt", "go"]);
    let pid = fs::read_to_string(place.workspace().join("pid")).expect("the command has started");
    assert!(!lives(&pid));
    let entries = place.entries("default");
    assert_eq!(
        ended(&entries).iter().map(|task| task.status).collect::<Vec<_>>(),
        [TaskStatus::Cancelled]
    );
    assert_eq!(output(&calls(&entries)[4])["result"]["accepted_input"], false);
    assert_eq!(results(&entries).len(), 1);
}

#[test]
fn a_child_that_fails_or_leaves_its_items_as_they_are_ends_and_its_parent_is_told() {
    let place = Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, ..) if asked.trigger().contains("Fail.") => Answer::error(
            400,
            "too long",
            "invalid_request_error",
            json!("context_length_exceeded"),
        ),
        (true, _, 0) if asked.trigger().contains("Begin.") => {
            Answer::calls(&[("CreateWorkItem", json!({ "objective": "never done" }))])
        }
        (true, ..) => Answer::says("I leave it."),
        (_, true, 0) => Answer::calls(&[spawn("Fail."), spawn("Begin.")]),
        _ => Answer::says("So be it."),
    });
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let mut ends: Vec<_> = ended(&entries)
        .iter()
        .map(|task| (task.status, detail(task)["output_summary"].to_string()))
        .collect();
    ends.sort_by_key(|(status, _)| *status == TaskStatus::Failed);
    assert_eq!(ends[0], (TaskStatus::Completed, "\"I leave it.\"".to_owned()));
    assert!(ends[1].0 == TaskStatus::Failed && ends[1].1.contains("too long"), "{ends:?}");
    assert_eq!(results(&entries).len(), 2);
}

/// Waits until the agent has created a child, and returns its id.
fn child_of(place: &Place) -> String {
    place.wait_for("default", "child", |entry| {
        let Record::Task(task) = &entry.record else { return None };
        Some(detail(task)["child_agent_id"].as_str()?.to_owned())
    })
}

/// Kills an agent when its child has an entry for which `has_come` holds, and continues both.
/// Returns the child's entries.
fn killed_when(place: &Place, has_come: impl Fn(&Entry) -> bool) -> Vec<Entry> {
    let live = place.start(&["--prompt", "go"]);
    let child = child_of(place);
    place.wait_for(&child, "place to be killed at", |entry| has_come(entry).then_some(()));
    live.kill();
    place.rest(&[]);
    let entries = place.entries(&child);
    let told = |entry: &&Entry| {
        matches!(
            &entry.record,
            Record::Message(message) if message.body.as_text() == "Do it."
        )
    };
    assert_eq!(entries.iter().filter(told).count(), 1, "the child gets its task once");
    let parents = place.entries("default");
    assert_eq!(
        ended(&parents).iter().map(|task| task.status).collect::<Vec<_>>(),
        [TaskStatus::Completed],
        "the child's task completes"
    );
    assert_eq!(results(&parents).len(), 1);
    entries
}

#[test]
fn a_child_whose_host_is_killed_in_its_turn_goes_on_and_nothing_is_done_twice() {
    let was_asked = AtomicBool::new(false);
    let place =
        Place::scripted(move |asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
            (true, _, 0) if !asked.is_told("interrupted") => {
                Answer::calls(&[exec("echo once >> done", LONG)])
            }
            (true, _, 1) if !was_asked.swap(true, Ordering::SeqCst) => Answer::never(),
            (true, ..) => {
                assert!(
                    asked.is_told("ExecCommand: command exited with status 0: echo once"),
                    "{}",
                    asked.text()
                );
                Answer::says("Done.")
            }
            (_, true, 0) => Answer::calls(&[spawn("Do it.")]),
            _ => Answer::says("So be it."),
        });
    killed_when(&place, |entry| matches!(&entry.record, Record::Tool(_)));
    assert_eq!(fs::read_to_string(place.workspace().join("done")).expect("a file"), "once\n");
}

#[test]
fn a_child_whose_host_is_killed_while_its_command_runs_is_told_that_it_was_interrupted() {
    let place = Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, _, 0) if asked.trigger().contains("Do it.") => Answer::calls(&[
            exec("echo 402.0417 > pid.new; mv pid.new pid; exec sleep 402.0417", 200),
            wait_for("pid"),
        ]),
        (true, ..) if asked.trigger().contains("Do it.") => Answer::says("It runs."),
        (true, ..) => Answer::says(&format!("I was told: {}", asked.trigger())),
        (_, true, 0) => Answer::calls(&[spawn("Do it.")]),
        _ => Answer::says("So be it."),
    });
    let childs = killed_when(
        &place,
        |entry| matches!(&entry.record, Record::Turn(turn) if turn.kind.is_some()),
    );
    assert!(!lives(
        &fs::read_to_string(place.workspace().join("pid")).expect("the command had started")
    ));
    assert_eq!(
        ended(&childs).iter().map(|task| task.status).collect::<Vec<_>>(),
        [TaskStatus::Interrupted]
    );
    let words = detail(&ended(&place.entries("default"))[0])["output_summary"].to_string();
    assert!(words.contains("I was told") && words.contains("interrupted"), "{words}");
}

/// A parent whose three children change a file of their worktree, remove it, and check out another
/// branch in it.
fn with_three_worktrees() -> Place {
    Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, _, 0) if asked.trigger().contains("Change.") => {
            Answer::calls(&[exec("echo new > new.txt", LONG)])
        }
        (true, ..) => {
            let folder = workspace(asked);
            if asked.trigger().contains("Remove.") {
                fs::remove_dir_all(&folder).expect("it is there");
            }
            if asked.trigger().contains("Move.") {
                let moved = Command::new("git")
                    .arg("-C")
                    .arg(&folder)
                    .args(["-c", "safe.directory=*", "checkout", "-q", "-b", "by-hand"])
                    .status();
                assert!(moved.expect("git starts").success());
            }
            Answer::says("Done.")
        }
        (_, true, 0) => Answer::calls(&["Change.", "Remove.", "Move."].map(in_worktree)),
        _ => Answer::says("So be it."),
    })
}

#[test]
fn a_worktree_is_kept_where_something_would_be_lost_and_what_people_did_by_hand_is_recorded() {
    let place = with_three_worktrees();
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let ends = ended(&entries);
    let worktree = |about: &str| {
        let task = ends
            .iter()
            .find(|task| task.summary.as_deref().is_some_and(|summary| summary.contains(about)))
            .expect(about);
        assert_eq!(task.status, TaskStatus::Completed);
        detail(task)["worktree"].clone()
    };
    let changed = worktree("Change.");
    assert_eq!(
        (&changed["cleanup_status"], &changed["cleanup_reason"]),
        (&json!("retained"), &json!("changed_files"))
    );
    assert_eq!(
        (&changed["changed_files"], &changed["retained_for_review"]),
        (&json!(["new.txt"]), &json!(true))
    );
    assert!(
        PathBuf::from(changed["worktree_path"].as_str().expect("a path")).join("new.txt").is_file()
    );
    let kept =
        results(&entries).into_iter().find(|result| result.contains("Change.")).expect("a result");
    assert!(
        kept.contains("worktree") && kept.contains("retained: changed_files"),
        "the parent learns of it: {kept}"
    );
    let removed = worktree("Remove.");
    assert_eq!(
        (&removed["cleanup_status"], &removed["cleanup_reason"]),
        (&json!("already_removed"), &json!("worktree_path_missing"))
    );
    let moved = worktree("Move.");
    assert_eq!(
        (&moved["cleanup_reason"], &moved["actual_branch"]),
        (&json!("branch_mismatch"), &json!("by-hand"))
    );
    assert_eq!(results(&entries).len(), 3);
}

#[test]
fn a_worktree_that_is_not_as_the_host_made_it_is_an_event_of_its_own() {
    let place = with_three_worktrees();
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let pieces = entries.iter().filter_map(|entry| match &entry.record {
        Record::Transcript(piece) => serde_json::from_str::<Value>(piece.data.as_str()).ok(),
        _ => None,
    });
    let mut events: Vec<_> = pieces.filter(|piece| piece["kind"] == "worktree_mismatch").collect();
    events.sort_by_key(|event| event["reason"].to_string());
    let reasons: Vec<_> = events.iter().map(|event| &event["reason"]).collect();
    assert_eq!(reasons, ["branch_mismatch", "changed_files"], "one for each, and no other");
    assert_eq!(events[0]["actual_branch"], "by-hand");
    assert_eq!(
        (&events[1]["changed_files"], &events[1]["changed_file_count"]),
        (&json!(["new.txt"]), &json!(1))
    );
    for event in &events {
        let task = ended(&entries).into_iter().find(|task| event["task_id"] == task.id.as_str());
        let detail = detail(&task.expect("its task has ended"));
        assert_eq!(event["child_agent_id"], detail["child_agent_id"]);
        assert_eq!(event["worktree_path"], detail["worktree"]["worktree_path"]);
        assert_eq!(event["worktree_branch"], detail["worktree"]["worktree_branch"]);
    }
    let log = wakeful(["log", &arg(&place.ledger()), "--agent", "default"]).out;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("  worktree ")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(
        lines.iter().any(|line| line.contains("has branch `by-hand` instead of `task-"))
            && lines.iter().any(|line| line.ends_with("has 1 changed file: new.txt")),
        "{log}"
    );
}

#[test]
fn a_worktree_needs_a_repository_and_a_child_makes_no_children() {
    let place = Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, _, 0) => Answer::calls(&[spawn("More of us.")]),
        (true, ..) => {
            Answer::says(asked.results()[0]["error"]["kind"].as_str().unwrap_or("a grandchild"))
        }
        (_, true, 0) => Answer::calls(&[in_worktree("Work."), spawn(" "), spawn("Multiply.")]),
        _ => Answer::says("So be it."),
    });
    fs::remove_dir_all(place.workspace().join(".git")).expect("a repository");
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let answers: Vec<_> = calls(&entries).iter().map(output).collect();
    assert_eq!(answers[0]["error"]["kind"], "task_spawn_failed");
    let why = answers[0]["error"]["message"].as_str().expect("a message");
    assert!(
        why.contains("is not in a git repository") && why.contains("workspace_mode = inherit"),
        "{why}"
    );
    assert_eq!(answers[1]["error"]["kind"], "invalid_tool_input");
    let ends = ended(&entries);
    assert_eq!(ends.len(), 1, "a child that was not created leaves no task");
    assert_eq!(detail(&ends[0])["output_summary"], "unsupported_agent_profile_capability");
}

#[test]
fn a_stop_of_the_parent_ends_its_children_and_their_commands() {
    let place = Place::scripted(|asked| match (asked.is_child(), asked.rounds()) {
        (true, 0) => Answer::calls(&[exec(
            "echo 403.0417 > pid.new; mv pid.new pid; exec sleep 403.0417",
            300,
        )]),
        (false, 0) => Answer::calls(&[spawn("Run it.")]),
        _ => Answer::says("It runs."),
    });
    let live = place.start(&["--prompt", "go"]);
    let pid = place.workspace().join("pid");
    let child = child_of(&place);
    place.wait_for(&child, "task of the child", |entry| {
        matches!(&entry.record, Record::Task(task) if task.status == TaskStatus::Running)
            .then_some(())
    });
    eventually("the command has started", || pid.is_file());
    let pid = fs::read_to_string(pid).expect("it is there");
    place.tell(&["stop"]);
    eventually("the command ends", || !lives(&pid));
    let ends = ended(&place.entries("default"));
    assert_eq!(ends.iter().map(|task| task.status).collect::<Vec<_>>(), [TaskStatus::Interrupted]);
    eventually("the child's own task ends", || ended(&place.entries(&child)).len() == 1);
    place.tell(&["shutdown"]);
    assert_eq!(live.end(), 0);
}

#[test]
fn ten_children_work_at_once_and_each_result_comes_once() {
    let place = Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, _, 0) => Answer::calls(&[exec("sleep 0.3; echo done", LONG)]),
        (true, ..) => Answer::says(&format!("I heard {}", asked.trigger())),
        (_, true, 0) => Answer::calls(
            &(0..10).map(|number| spawn(&format!("Number {number}."))).collect::<Vec<_>>(),
        ),
        _ => Answer::says("So be it."),
    });
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let ends = ended(&entries);
    assert!(ends.iter().all(|task| task.status == TaskStatus::Completed));
    let mut words: Vec<_> =
        ends.iter().map(|task| detail(task)["output_summary"].to_string()).collect();
    words.sort_unstable();
    assert_eq!(
        words,
        (0..10)
            .map(|number| json!(format!("I heard [runtime] your parent agent\nNumber {number}."))
                .to_string())
            .collect::<Vec<_>>()
    );
    assert_eq!(results(&entries).len(), 10);
}

/// A parent with a child in a worktree that runs this command.
fn with_a_child_that_runs(cmd: &'static str) -> Place {
    Place::scripted(move |asked| match (asked.is_child(), asked.rounds()) {
        (true, 0) => Answer::calls(&[exec(cmd, LONG)]),
        (true, _) => Answer::says("Done."),
        (false, 0) if asked.trigger().contains("go") => Answer::calls(&[in_worktree("Work.")]),
        _ => Answer::says("So be it."),
    })
}

/// What the child left in a file of its worktree.
fn left_by_the_child(place: &Place, name: &str) -> String {
    let made = place.folder().join(".wakeful-worktrees-parser");
    let made = fs::read_dir(made).expect("worktrees").next().expect("a worktree").expect("it");
    fs::read_to_string(made.path().join(name)).expect("it is there")
}

#[test]
fn a_child_works_on_its_branch_and_writes_nothing_that_others_execute() {
    const WORK: &str = "git config user.name c; d=$(git rev-parse --path-format=absolute \
                        --git-common-dir); echo '[core] fsmonitor = x' >> $d/config; echo x > \
                        $d/hooks/pre-commit; mkdir $d/hooks; echo x > $d/info/attributes; git -c \
                        user.name=c -c user.email=c@d.e commit -q --allow-empty -m own; git log -1 \
                        --format=%s > said";
    let place = with_a_child_that_runs(WORK);
    let config = fs::read(place.workspace().join(".git/config")).expect("settings");
    let hooks = fs::read_dir(place.workspace().join(".git/hooks")).expect("hooks").count();
    place.rest(&["--prompt", "go"]);
    let after = fs::read(place.workspace().join(".git/config")).expect("settings");
    assert_eq!(String::from_utf8_lossy(&after), String::from_utf8_lossy(&config));
    assert!(!place.workspace().join(".git/info/attributes").exists());
    assert_eq!(fs::read_dir(place.workspace().join(".git/hooks")).expect("hooks").count(), hooks);
    assert_eq!(left_by_the_child(&place, "said"), "own\n");
}

#[test]
fn a_child_writes_no_branch_and_no_log_but_its_own() {
    const WORK: &str = "d=$(git rev-parse --path-format=absolute --git-common-dir); \
                        echo x >> $d/logs/HEAD; ln -sf $d/hooks/pre-commit $d/logs/planted; \
                        ln -sf $d/hooks/pre-commit $d/refs/heads/planted; echo x > \
                        $d/refs/heads/main; echo x > $d/packed-refs; git -c user.name=c -c \
                        user.email=c@d.e commit -q --allow-empty -m own; git log -1 --format=%s > \
                        said";
    let place = with_a_child_that_runs(WORK);
    let git = place.workspace().join(".git");
    let of = |name: &str| fs::read(git.join(name)).unwrap_or_default();
    let before = ["logs/HEAD", "refs/heads/main", "packed-refs"].map(of);
    place.rest(&["--prompt", "go"]);
    assert_eq!(["logs/HEAD", "refs/heads/main", "packed-refs"].map(of), before);
    for planted in ["logs/planted", "refs/heads/planted"] {
        assert!(fs::symlink_metadata(git.join(planted)).is_err(), "{planted}");
    }
    assert_eq!(left_by_the_child(&place, "said"), "own\n");
}

#[test]
fn what_a_child_lets_git_run_at_its_end_has_no_more_rights_than_the_child() {
    // Git at the child's end is led to settings of the child, whose filter writes a hook.
    const WORK: &str = "d=$(git rev-parse --path-format=absolute --git-common-dir); \
                        o=$(git rev-parse --absolute-git-dir); mkdir fake; cp -r $d/refs $d/HEAD \
                        $d/objects $d/config fake/; git config -f fake/config filter.evil.clean \
                        \"sh $PWD/evil.sh $d\"; echo 'echo ran >> '$PWD'/ran; echo x > \
                        $1/hooks/planted; echo x >> $1/config; cat' > evil.sh; echo '* filter=evil' \
                        > .gitattributes; echo changed >> README; echo $PWD/fake > $o/commondir";
    let place = with_a_child_that_runs(WORK);
    let git = place.workspace().join(".git");
    let before = fs::read(git.join("config")).expect("settings");
    place.rest(&["--prompt", "go"]);
    assert_eq!(fs::read(git.join("config")).expect("settings"), before);
    assert!(!git.join("hooks/planted").exists());
    assert!(left_by_the_child(&place, "ran").starts_with("ran\n"), "git did run the filter");
}
