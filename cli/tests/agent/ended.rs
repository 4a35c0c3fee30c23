//! Commands end with the stop and the shutdown of their agent.

use serde_json::json;
use wakeful_core::record::{Record, task::TaskStatus};

use super::{
    model::Asked,
    place::{Place, eventually, lives},
    tasks::tasks,
};
use crate::openai::{answer::Answer, server::Server};

#[test]
fn a_stop_of_the_agent_ends_its_commands() {
    let place =
        Place::with(Server::scripted(|request| match Asked::from_request(request).rounds() {
            0 => Answer::calls(&[(
                "ExecCommand",
                json!({ "cmd": "exec sleep 405.0417", "yield_time_ms": 100 }),
            )]),
            _ => Answer::says("It runs."),
        }));
    let live = place.start(&["--prompt", "go"]);
    place.wait_for("default", "task", |entry| {
        matches!(&entry.record, Record::Task(task) if task.status == TaskStatus::Running)
            .then_some(())
    });
    eventually("the command has started", || lives("405.0417"));
    assert_eq!(place.send(&["stop"]).code, 0);
    eventually("the command ends with the agent's stop", || !lives("405.0417"));
    assert_eq!(
        tasks(&place.entries("default")).last().map(|task| task.status),
        Some(TaskStatus::Interrupted)
    );
    assert_eq!(place.send(&["shutdown"]).code, 0);
    assert_eq!(live.end(), 0);
}

#[test]
fn a_command_that_a_turn_waits_for_does_not_outlive_an_agent_that_is_shut_down() {
    let place = Place::scripted(move |_| {
        Answer::calls(&[("ExecCommand", json!({ "cmd": "exec sleep 406.0417" }))])
    });
    let live = place.start(&["--prompt", "go"]);
    eventually("the command starts", || lives("406.0417"));
    place.tell(&["shutdown"]);
    assert_eq!(live.end(), 0);
    assert!(!lives("406.0417"));
}
