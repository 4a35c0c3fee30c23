//! The tools for work items, as a model calls them: their answers, and the items afterwards.

use serde_json::{Value, json};
use wakeful_core::record::{Record, turn::TurnTerminalKind, work::WorkItemState};

use super::{tasks::answered, turns::ended};

/// The item in the answer of a call.
fn item(answer: &Value) -> &Value {
    &answer["result"]["work_item"]
}

fn ids(answer: &Value) -> Vec<&str> {
    let items =
        answer["result"]["work_items"].as_array().unwrap_or_else(|| panic!("a list: {answer}"));
    items.iter().map(|item| item["id"].as_str().expect("an id")).collect()
}

#[test]
fn an_item_is_created_picked_blocked_unblocked_and_shown_and_completing_it_ends_the_turn() {
    let (place, answers) = answered(|round, results| match round {
        0 => Some(vec![
            (
                "CreateWorkItem",
                json!({
                    "objective": " Ship it ",
                    "plan": "build, then sign",
                    "todo_list": [{ "text": "build", "state": "in_progress" }],
                }),
            ),
            ("CreateWorkItem", json!({ "objective": "Ask first", "plan_status": "needs_input" })),
        ]),
        1 => {
            let ship = &item(&results[0])["id"];
            Some(vec![
                ("PickWorkItem", json!({ "work_item_id": ship, "reason": "it is first" })),
                (
                    "UpdateWorkItem",
                    json!({
                        "work_item_id": ship,
                        "blocked_by": "the key is missing",
                        "recheck_after": 60_000,
                    }),
                ),
                (
                    "UpdateWorkItem",
                    json!({
                        "work_item_id": ship,
                        "blocked_by": "",
                        "objective": "Ship it signed",
                        "plan_status": "ready",
                    }),
                ),
                ("GetWorkItem", json!({ "work_item_id": ship })),
            ])
        }
        2 => {
            let ship = &item(&results[0])["id"];
            Some(vec![
                ("CompleteWorkItem", json!({ "work_item_id": ship })),
                ("TaskList", json!({})),
            ])
        }
        _ => panic!("the turn has ended"),
    });
    let created = item(&answers[0]);
    assert_eq!(
        (&created["objective"], &created["plan_status"], &created["focus"]),
        (&json!("Ship it"), &json!("draft"), &json!("queued"))
    );
    assert_eq!(
        (&created["plan"], &created["todo_list"][0]["state"]),
        (&json!("build, then sign"), &json!("in_progress"))
    );
    assert_eq!(
        answers[0]["result"]["current_work_item_id"],
        Value::Null,
        "creating an item does not move the focus"
    );
    let asks = item(&answers[1]);
    assert_eq!(
        (&asks["scheduling_state"], &asks["is_runnable"]),
        (&json!("waiting_operator"), &json!(false))
    );

    let picked = item(&answers[2]);
    assert_eq!(
        (&picked["is_current"], &answers[2]["result"]["current_work_item_id"]),
        (&json!(true), &created["id"])
    );
    assert!(
        answers[2]["summary_text"].as_str().expect("a line").ends_with("it is first"),
        "{}",
        answers[2]
    );
    let blocked = item(&answers[3]);
    assert_eq!(
        (&blocked["scheduling_state"], &blocked["blocked_by"], &blocked["is_current"]),
        (&json!("blocked"), &json!("the key is missing"), &json!(true))
    );
    assert!(blocked["recheck_at"].is_string(), "{blocked}");
    let freed = item(&answers[4]);
    assert_eq!(
        (&freed["scheduling_state"], &freed["objective"]),
        (&json!("runnable"), &json!("Ship it signed"))
    );
    assert_eq!(
        (&freed["blocked_by"], &freed["recheck_at"], &freed["plan"]),
        (&Value::Null, &Value::Null, &json!("build, then sign"))
    );
    assert_eq!(item(&answers[5]), freed, "`GetWorkItem` shows the current item");

    let completed = &answers[6]["result"];
    assert_eq!(
        (&completed["completed_transition"], &completed["work_item"]["state"]),
        (&json!(true), &json!("completed"))
    );
    assert_eq!(answers.len(), 8, "the round is completed, and no other follows");
    let turns = ended(&place.entries("default"));
    assert_eq!(
        turns.iter().map(|turn| turn.kind).collect::<Vec<_>>(),
        [Some(TurnTerminalKind::Completed)]
    );
}

#[test]
fn what_is_said_beside_a_completion_is_its_result_where_none_is_given() {
    use crate::openai::{
        answer::{Answer, Events},
        server::Server,
    };
    let place = super::place::Place::with(Server::scripted(|request| {
        let asked = super::model::Asked::from_request(request);
        match asked.rounds() {
            0 => Answer::calls(&[("CreateWorkItem", json!({ "objective": "Count" }))]),
            _ => {
                let arguments =
                    json!({ "work_item_id": item(&asked.results()[0])["id"] }).to_string();
                let events = Events::new()
                    .text("There are three.")
                    .call(0, "c", "CompleteWorkItem")
                    .arguments(0, &arguments);
                Answer::stream(events.finish("tool_calls").done())
            }
        }
    }));
    let ran = place.run(&["--until-rest", "--prompt", "go"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let done = place.entries("default").into_iter().find_map(|entry| match entry.record {
        Record::WorkItem(item) if item.state == WorkItemState::Completed => item.result_summary,
        _ => None,
    });
    assert_eq!(done.as_deref(), Some("There are three."));
}

#[test]
fn the_list_shows_what_a_filter_asks_for_and_says_how_many_there_are() {
    let (_, answers) = answered(|round, results| match round {
        0 => Some(
            ["a", "b", "c", "d"]
                .map(|objective| ("CreateWorkItem", json!({ "objective": objective })))
                .to_vec(),
        ),
        1 => {
            let id = |at: usize| &item(&results[at])["id"];
            Some(vec![
                ("PickWorkItem", json!({ "work_item_id": id(0) })),
                ("UpdateWorkItem", json!({ "work_item_id": id(1), "blocked_by": "rain" })),
                ("UpdateWorkItem", json!({ "work_item_id": id(2), "plan_status": "needs_input" })),
                ("ListWorkItems", json!({})),
                ("ListWorkItems", json!({ "filter": "current" })),
                ("ListWorkItems", json!({ "filter": "queued" })),
                ("ListWorkItems", json!({ "filter": "blocked" })),
                ("ListWorkItems", json!({ "filter": "waiting_for_operator" })),
                ("ListWorkItems", json!({ "filter": "runnable", "limit": 1 })),
                ("ListWorkItems", json!({ "filter": "completed" })),
                ("ListWorkItems", json!({ "filter": "mine" })),
                ("CompleteWorkItem", json!({ "work_item_id": id(0) })),
                ("ListWorkItems", json!({ "filter": "completed" })),
                ("ListWorkItems", json!({ "filter": "open" })),
                // Without open items the agent rests.
                ("UpdateWorkItem", json!({ "work_item_id": id(1), "blocked_by": "" })),
                ("CompleteWorkItem", json!({ "work_item_id": id(1) })),
                ("CompleteWorkItem", json!({ "work_item_id": id(3) })),
            ])
        }
        _ => None,
    });
    let id = |at: usize| item(&answers[at])["id"].as_str().expect("an id");
    let (a, b, c, d) = (id(0), id(1), id(2), id(3));
    let lists = &answers[7..];
    assert_eq!(
        (lists[0]["result"]["total_matching"].as_u64(), ids(&lists[0])[0]),
        (Some(4), a),
        "the item in focus is first"
    );
    assert_eq!(ids(&lists[1]), [a]);
    assert_eq!(ids(&lists[2]), [d]);
    assert_eq!(ids(&lists[3]), [b]);
    assert_eq!(ids(&lists[4]), [c]);
    assert_eq!(
        (ids(&lists[5]), &lists[5]["result"]["total_matching"], &lists[5]["result"]["returned"]),
        (vec![a], &json!(2), &json!(1))
    );
    assert_eq!(ids(&lists[6]), [""; 0]);
    assert_eq!(lists[7]["error"]["kind"], "invalid_tool_input");
    assert_eq!(ids(&lists[9]), [a]);
    let mut open = ids(&lists[10]);
    open.sort_unstable();
    let mut expected = [b, c, d];
    expected.sort_unstable();
    assert_eq!(open, expected);
}

#[test]
fn what_cannot_be_done_with_an_item_is_said_and_changes_nothing() {
    let (place, answers) = answered(|round, results| match round {
        0 => Some(vec![
            ("CreateWorkItem", json!({ "objective": "once" })),
            ("CreateWorkItem", json!({ "objective": "  " })),
        ]),
        1 => {
            let id = &item(&results[0])["id"];
            Some(vec![
                ("PickWorkItem", json!({ "work_item_id": "work-999" })),
                ("GetWorkItem", json!({ "work_item_id": "work-999" })),
                ("UpdateWorkItem", json!({ "work_item_id": "work-999", "objective": "other" })),
                ("CompleteWorkItem", json!({ "work_item_id": "work-999" })),
                ("UpdateWorkItem", json!({ "work_item_id": id, "recheck_after": 5 })),
                (
                    "UpdateWorkItem",
                    json!({ "work_item_id": id, "blocked_by": "x", "recheck_after": 0 }),
                ),
                ("UpdateWorkItem", json!({ "work_item_id": id, "state": "completed" })),
                ("CompleteWorkItem", json!({ "work_item_id": id, "result_summary": "done" })),
                ("CompleteWorkItem", json!({ "work_item_id": id })),
                ("PickWorkItem", json!({ "work_item_id": id })),
                ("UpdateWorkItem", json!({ "work_item_id": id, "objective": "again" })),
                ("GetWorkItem", json!({ "work_item_id": id })),
            ])
        }
        _ => None,
    });
    let kind = |at: usize| answers[at]["error"]["kind"].as_str().unwrap_or("-");
    assert_eq!(kind(1), "invalid_tool_input");
    assert_eq!(
        (2..9).map(kind).collect::<Vec<_>>(),
        [
            "unknown",
            "work_item_not_found",
            "unknown",
            "unknown",
            "invalid_tool_input",
            "invalid_tool_input",
            "invalid_tool_input"
        ]
    );
    assert_eq!(answers[9]["result"]["completed_transition"], true);
    assert_eq!(
        answers[10]["result"]["completed_transition"], false,
        "completing it again is not an error: {}",
        answers[10]
    );
    assert_eq!((kind(11), kind(12)), ("already_terminal", "already_terminal"));
    assert_eq!(
        (&item(&answers[13])["result_summary"], &item(&answers[13])["objective"]),
        (&json!("done"), &json!("once"))
    );
    let items = place
        .entries("default")
        .into_iter()
        .filter(|entry| matches!(entry.record, Record::WorkItem(_)))
        .count();
    assert_eq!(items, 2, "one record at its creation, and one at its completion");
}
