//! Waits and rests that a model asks for: what ends each, what does not, and that none keeps an
//! agent busy.

use serde_json::{Value, json};
use wakeful_core::record::{
    Record,
    entry::Entry,
    queue::{envelope::MessageKind, message::MessageRecord},
    waiting::{EndedBy, TimerRecord, TimerStatus, WaitConditionRecord},
};

use super::{
    place::Place,
    tasks::until,
    turns::{calls, ended, output},
};
use crate::openai::answer::Answer;

fn waits(entries: &[Entry]) -> Vec<&WaitConditionRecord> {
    entries
        .iter()
        .filter_map(
            |entry| if let Record::WaitCondition(wait) = &entry.record { Some(wait) } else { None },
        )
        .collect()
}

/// The causes that ended waits, in order. A wait that continues has none.
fn ends(place: &Place) -> Vec<EndedBy> {
    waits(&place.entries("default")).iter().filter_map(|wait| wait.ended_by).collect()
}

fn messages(entries: &[Entry], kind: MessageKind) -> Vec<&MessageRecord> {
    let messages = entries.iter().filter_map(|entry| {
        if let Record::Message(message) = &entry.record { Some(message) } else { None }
    });
    messages.filter(|message| message.kind == kind).collect()
}

/// The model's last answer in each turn.
fn said(place: &Place) -> Vec<String> {
    ended(&place.entries("default"))
        .into_iter()
        .map(|turn| turn.last_assistant_message.unwrap_or_default())
        .collect()
}

/// An agent whose model makes this call after the prompt `go`, and then repeats every message that
/// it gets.
fn repeating(call: (&'static str, Value)) -> Place {
    Place::scripted(move |asked| {
        match (asked.trigger().starts_with("[operator]\ngo"), asked.rounds()) {
            (true, 0) => Answer::calls(std::slice::from_ref(&call)),
            _ => Answer::says(&format!("I heard: {}", asked.trigger())),
        }
    })
}

#[test]
fn a_wait_for_the_operator_is_ended_by_the_operator_and_by_nobody_else() {
    let place =
        repeating(("WaitFor", json!({ "reason": "which colour", "wake": "operator_input" })));
    place.rest(&["--prompt", "go"]);
    place.tell(&["deliver", "--trigger", "some-trigger", "red, says a web page"]);
    place.rest(&[]);
    assert_eq!(ends(&place), [], "an event does not end a wait for the operator");
    place.tell(&["prompt", "Blue."]);
    place.rest(&[]);
    assert_eq!(ends(&place), [EndedBy::Operator]);
    assert!(
        said(&place).iter().any(|said| said.contains("[operator]\nBlue.")),
        "{:?}",
        said(&place)
    );
}

#[test]
fn a_wait_for_an_instant_ends_then_and_the_model_is_told() {
    let place = repeating((
        "WaitFor",
        json!({ "reason": "let it settle", "wake": "timer", "duration_ms": 600 }),
    ));
    place.rest(&["--prompt", "go"]);
    let entries = place.entries("default");
    let waits = waits(&entries);
    assert_eq!(
        waits.iter().filter_map(|wait| wait.ended_by).collect::<Vec<_>>(),
        [EndedBy::Deadline]
    );
    let waited = waits[1].updated_at.as_nanos() - waits[0].created_at.as_nanos();
    assert!(waited >= 600_000_000, "it waited {waited} ns");
    assert_eq!(said(&place).len(), 2, "{:?}", said(&place));
    assert!(
        calls(&entries)[0].output.as_str().contains("wakes_at"),
        "{}",
        calls(&entries)[0].output.as_str()
    );
}

#[test]
fn a_wait_for_an_event_is_ended_by_the_one_that_it_names() {
    let place = repeating((
        "WaitFor",
        json!({ "reason": "the pipeline", "wake": "external", "resource": "ci" }),
    ));
    place.rest(&["--prompt", "go"]);
    place.tell(&["deliver", "--trigger", "billing", "paid"]);
    place.rest(&[]);
    assert_eq!(ends(&place), []);
    place.tell(&["deliver", "--trigger", "ci", "green"]);
    place.rest(&[]);
    assert_eq!(ends(&place), [EndedBy::Trigger]);
    let asked = place.asked();
    let newest = asked.last().expect("a request");
    assert!(newest.contains(r"event for trigger ci\ngreen"), "{newest}");
}

#[test]
fn what_is_there_already_is_not_waited_for_and_the_turn_goes_on() {
    let place = Place::scripted(|asked| {
        match (asked.trigger().starts_with("[operator]"), asked.rounds()) {
            (true, 0) => Answer::calls(&[
                ("ExecCommand", json!({ "cmd": until("go"), "yield_time_ms": 50 })),
                ("ExecCommand", json!({ "cmd": "touch go" })),
            ]),
            (true, 1) => {
                let task = asked.results()[0]["result"]["task_handle"]["task_id"].clone();
                Answer::calls(&[
                    ("TaskOutput", json!({ "task_id": task })),
                    ("WaitFor", json!({ "reason": "it", "wake": "task_result", "resource": task })),
                ])
            }
            (true, 2) => Answer::says(&format!("I go on: {}", asked.results()[1]["result"])),
            _ => Answer::says("It has ended."),
        }
    });
    place.rest(&["--prompt", "go"]);
    assert!(waits(&place.entries("default")).is_empty());
    let first = &said(&place)[0];
    assert!(first.starts_with("I go on:") && first.contains("\"waiting\":false"), "{first}");
}

#[test]
fn a_wait_with_a_recheck_wakes_the_model_then_to_look_again() {
    let arguments =
        json!({ "reason": "an answer", "wake": "operator_input", "recheck_after_ms": 300 });
    let place = repeating(("WaitFor", arguments));
    place.rest(&["--prompt", "go"]);
    assert_eq!(ends(&place), [EndedBy::Deadline]);
    assert_eq!(said(&place).len(), 2, "{:?}", said(&place));
}

#[test]
fn a_wait_that_nothing_could_end_is_refused_with_what_is_missing() {
    let (place, answers) = super::tasks::answered(|round, _| {
        (round == 0).then(|| {
            vec![
                ("WaitFor", json!({ "reason": "a task", "wake": "task_result" })),
                (
                    "WaitFor",
                    json!({ "reason": "a task", "wake": "task_result", "resource": "task-999" }),
                ),
                ("WaitFor", json!({ "reason": "time", "wake": "timer" })),
                ("WaitFor", json!({ "reason": "time", "wake": "timer", "duration_ms": 0 })),
                ("WaitFor", json!({ "reason": "", "wake": "operator_input" })),
                (
                    "WaitFor",
                    json!({ "reason": "x", "wake": "operator_input", "recheck_after_ms": 0 }),
                ),
                (
                    "WaitFor",
                    json!({ "reason": "x", "wake": "operator_input", "work_item_id": "work-999" }),
                ),
                ("Sleep", json!({ "duration_ms": 0 })),
                ("Enqueue", json!({ "text": " " })),
            ]
        })
    });
    let kinds: Vec<_> =
        answers.iter().map(|answer| answer["error"]["kind"].as_str().unwrap_or("-")).collect();
    let malformed = "invalid_tool_input";
    assert_eq!(
        kinds,
        [
            malformed, "unknown", malformed, malformed, malformed, malformed, "unknown", malformed,
            malformed
        ]
    );
    assert!(waits(&place.entries("default")).is_empty());
    assert_eq!(said(&place), ["Done."], "and the turn continued");
}

#[test]
fn a_sleep_ends_the_turn_and_one_with_a_duration_wakes_also_after_a_death() {
    let place = repeating(("Sleep", json!({ "reason": "nothing to do" })));
    place.rest(&["--prompt", "go"]);
    assert_eq!(said(&place), [""], "the turn ends without an answer");

    let timers = |entries: &[Entry]| -> Vec<TimerRecord> {
        let timers = entries.iter().filter_map(|entry| match &entry.record {
            Record::Timer(timer) => Some(timer.clone()),
            _ => None,
        });
        timers.collect()
    };
    // The death must come before the timer fires.
    let died = [1_500, 15_000, 150_000].into_iter().find_map(|duration| {
        let place = repeating(("Sleep", json!({ "reason": "later", "duration_ms": duration })));
        let live = place.start(&["--prompt", "go"]);
        let created = place.wait_for("default", "timer and the end of its turn", |entry| {
            let Record::Turn(turn) = &entry.record else { return None };
            turn.kind.map(|_| entry.at)
        });
        live.kill();
        let runs = timers(&place.entries("default")).len() == 1;
        runs.then_some((place, duration, created))
    });
    let (place, duration, created) = died.expect("it dies before the timer fires");
    place.rest(&[]);
    let entries = place.entries("default");
    let timers = timers(&entries);
    assert_eq!(
        timers.iter().map(|timer| timer.status).collect::<Vec<_>>(),
        [TimerStatus::Active, TimerStatus::Completed]
    );
    assert_eq!(timers[1].fire_count, 1);
    let fired = messages(&entries, MessageKind::TimerTick)[0].created_at;
    let waited = fired.as_nanos() - timers[0].created_at.as_nanos();
    assert!(waited >= duration * 1_000_000 && fired > created, "it waited {waited} ns");
    assert_eq!(said(&place).len(), 2, "{:?}", said(&place));
}

#[test]
fn a_sleep_beside_other_calls_waits_for_the_end_of_the_turn() {
    let (place, answers) = super::tasks::answered(|round, _| match round {
        0 => Some(vec![("Sleep", json!({})), ("TaskList", json!({}))]),
        1 => Some(vec![("TaskList", json!({}))]),
        _ => None,
    });
    assert_eq!(answers.len(), 3);
    assert_eq!(said(&place), ["Done."]);
}

#[test]
fn a_message_to_oneself_comes_in_a_later_turn_under_the_trust_of_this_one() {
    let place =
        repeating(("Enqueue", json!({ "text": "look at the logs", "priority": "background" })));
    place.rest(&["--prompt", "go"]);
    let said = said(&place);
    assert!(
        said[0].contains("[operator]\ngo")
            && said[1].contains("[runtime] follow-up\nlook at the logs"),
        "{said:?}"
    );
    assert_eq!(said.len(), 2);
    let entries = place.entries("default");
    let prompt = messages(&entries, MessageKind::OperatorPrompt)[0];
    let followup = messages(&entries, MessageKind::InternalFollowup)[0];
    assert_eq!(followup.trust, prompt.trust);
}

#[test]
fn while_one_item_waits_the_other_is_gone_on_with() {
    let place = Place::scripted(|asked| {
        match (asked.trigger().starts_with("[operator]"), asked.rounds()) {
            (true, 0) => Answer::calls(&[
                ("CreateWorkItem", json!({ "objective": "the slow one" })),
                ("CreateWorkItem", json!({ "objective": "the quick one" })),
            ]),
            (true, 1) => Answer::calls(&[(
                "PickWorkItem",
                json!({ "work_item_id": asked.results()[0]["result"]["work_item"]["id"] }),
            )]),
            (true, 2) => {
                let slow = &asked.results()[0]["result"]["work_item"]["id"];
                let wait = json!({
                    "reason": "the pipeline",
                    "wake": "external",
                    "resource": "ci",
                    "work_item_id": slow,
                });
                Answer::calls(&[("WaitFor", wait)])
            }
            (false, 0) => Answer::calls(&[("ListWorkItems", json!({ "filter": "runnable" }))]),
            (false, 1) => {
                let items = asked.results()[0]["result"]["work_items"].clone();
                assert_eq!(
                    (items.as_array().map(Vec::len), &items[0]["objective"]),
                    (Some(1), &json!("the quick one")),
                    "{}",
                    asked.text()
                );
                Answer::calls(&[("CompleteWorkItem", json!({ "work_item_id": items[0]["id"] }))])
            }
            _ => panic!("what is this? {}", asked.text()),
        }
    });
    place.rest(&["--prompt", "go"]);
    assert_eq!(ends(&place), [], "the slow item still waits");
    let completed = calls(&place.entries("default"))
        .into_iter()
        .filter(|call| call.tool_name == "CompleteWorkItem");
    assert_eq!(
        completed.map(|call| output(&call)["status"].clone()).collect::<Vec<_>>(),
        [json!("success")]
    );
}

#[test]
fn a_model_that_leaves_its_item_as_it_is_is_not_asked_without_end() {
    let place =
        Place::scripted(|asked| match (asked.trigger().ends_with("\ngo"), asked.rounds()) {
            (true, 0) => Answer::calls(&[("CreateWorkItem", json!({ "objective": "never done" }))]),
            (true, 1) => Answer::calls(&[(
                "PickWorkItem",
                json!({ "work_item_id": asked.results()[0]["result"]["work_item"]["id"] }),
            )]),
            _ => Answer::says("Fine."),
        });
    // If it waited for the next offer, there would be a third turn.
    place.rest(&["--prompt", "go"]);
    assert_eq!(
        said(&place).len(),
        2,
        "the turn that created the item, and the one that was offered it: {:?}",
        said(&place)
    );
    place.tell(&["prompt", "And now?"]);
    place.rest(&[]);
    assert!(said(&place).len() <= 4, "{:?}", said(&place));
}
