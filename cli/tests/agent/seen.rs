//! What people see of children: in `wakeful status`, `agents` and `log`, while they are active and
//! when they have ended.

use serde_json::{Value, json};
use wakeful_core::record::{Record, entry::Entry, task::TaskStatus};

use super::{
    children::{detail, ended, in_worktree, is_goal, spawn},
    place::{Place, eventually},
};
use crate::{
    openai::answer::Answer,
    program::{arg, wakeful},
};

#[test]
fn people_see_which_children_are_active_and_whose_child_an_agent_is() {
    let place = Place::scripted(|asked| match (asked.is_child(), is_goal(asked), asked.rounds()) {
        (true, _, 0) => {
            Answer::calls(&[("WaitFor", json!({ "reason": "a word", "wake": "operator_input" }))])
        }
        (true, ..) => Answer::says("Done."),
        (_, true, 0) => Answer::calls(&[in_worktree("Work there."), spawn("Work here.")]),
        _ => Answer::says("So be it."),
    });
    let ledger = arg(&place.ledger());
    let live = place.start(&["--prompt", "go"]);
    let is_running = |entry: &Entry| match &entry.record {
        Record::Task(task) if task.status == TaskStatus::Running => Some(task.clone()),
        _ => None,
    };
    let of_worktree = place.wait_for("default", "child in a worktree", |entry| {
        is_running(entry).filter(|task| task.summary.as_deref() == Some("Work there."))
    });
    let of_workspace = place.wait_for("default", "child in the workspace", |entry| {
        is_running(entry).filter(|task| task.summary.as_deref() == Some("Work here."))
    });
    let (there, here) = (detail(&of_worktree), detail(&of_workspace));
    let child = there["child_agent_id"].as_str().expect("a child").to_owned();
    for id in [&there, &here].map(|detail| detail["child_agent_id"].as_str().expect("a child")) {
        place.wait_for(id, "wait", |entry| {
            matches!(&entry.record, Record::WaitCondition(_)).then_some(())
        });
    }
    let shown = wakeful(["status", &ledger, "--agent", "default"]).out;
    let path = there["worktree"]["worktree_path"].as_str().expect("a path");
    let line = format!(
        "child    `{child}` running, supervised by `{}`, in the worktree `{path}`",
        of_worktree.id
    );
    assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
    assert!(shown.contains(", in the workspace of its parent"), "{shown}");
    let json: Value =
        serde_json::from_str(&wakeful(["status", &ledger, "--agent", "default", "--json"]).out)
            .expect("JSON");
    let children = json["active_children"].as_array().expect("a list");
    assert_eq!((children.len(), &json["active_task_count"]), (2, &json!(2)));
    let of_json = children.iter().find(|one| one["child_agent_id"] == child.as_str());
    let of_json = of_json.expect("the child");
    assert_eq!(
        (&of_json["supervision_task_id"], &of_json["status"], &of_json["cleanup_owner"]),
        (&json!(of_worktree.id), &json!("running"), &json!("supervision_task"))
    );
    assert_eq!(of_json["worktree"]["worktree_path"], path);
    // Also after the child has ended, and its task with it.
    for is_over in [false, true] {
        if is_over {
            place.tell(&["stop"]);
            eventually("the tasks end", || ended(&place.entries("default")).len() == 2);
        }
        let agents = wakeful(["agents", &ledger]).out;
        let of_child = format!("{child}, child of `default`");
        assert!(agents.lines().any(|line| line.starts_with(&of_child)), "{agents}");
        assert!(agents.lines().any(|line| line.starts_with("default  ")), "{agents}");
        let rows = wakeful(["agents", &ledger, "--json"]).out;
        let rows: Vec<Value> =
            rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
        let of = |id: &str| {
            rows.iter().find(|row| row["agent"]["identity"]["agent_id"] == id).expect("a row")
        };
        assert_eq!(
            of(&child)["parent"],
            json!({ "agent_id": "default", "supervision_task_id": of_worktree.id })
        );
        assert_eq!(of("default")["parent"], Value::Null);
    }
    let log = wakeful(["log", &ledger, "--agent", "default"]).out;
    for status in ["running", "interrupted"] {
        let line = format!("`{}` child agent task {status} with child `{child}`", of_worktree.id);
        assert!(log.contains(&line), "{line}\n{log}");
    }
    place.tell(&["shutdown"]);
    assert_eq!(live.end(), 0);
}
