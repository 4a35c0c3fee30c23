//! Agents whose turns a host runs elsewhere: the server decides, and the host runs and reports.

use serde_json::{Value, json};

use crate::place::{Place, With, place, until};

/// What a host reports of a turn that says something.
fn completed(run: &Value, text: &str) -> Value {
    json!({ "fact": "turn_terminal", "run_id": run, "kind": "completed", "last_assistant_message": text })
}

#[test]
fn a_host_asks_for_the_turn_runs_it_and_reports() {
    let place = place();
    place.make("eva");
    assert_eq!(place.ask("/v1/agents/eva/turn").0, 204);
    assert_eq!(place.say("eva", "look at the build").0, 200);
    let asked = place.open_turn("eva");
    assert_eq!(asked["message"]["body"]["text"], "look at the build");
    assert_eq!(place.ask("/v1/turns").1, json!([{ "agent_id": "eva" }]));
    let said = place.report("eva", &completed(&asked["run_id"], "It is green."));
    assert_eq!(said["answer"], "accepted");
    let decisions: Vec<_> = said["steps"].as_array().expect("steps").iter().collect();
    assert!(!decisions.is_empty(), "the server decides what comes next: {said}");
    assert_eq!(place.ask("/v1/agents/eva/turn").0, 204);
    // The same report again changes nothing.
    assert_eq!(place.report("eva", &completed(&asked["run_id"], "x"))["answer"], "ignored");
}

#[test]
fn a_fact_is_answered_after_what_another_process_recorded_before_it() {
    let place = place();
    place.make("eva");
    let mut other = place.observer("eva");
    // Often, because the server notices by itself a moment later.
    for task in 0..20 {
        let created = json!({ "fact": "task_created", "task_id": format!("t{task}"), "task_kind": "command_task", "wait_policy": "background" });
        until("the other process was first", || {
            other.catch_up().expect("it reads");
            other.propose(&created.to_string()).is_ok()
        });
        let ended = json!({ "fact": "task_cancelled", "task_id": format!("t{task}"), "summary": "no more" });
        assert_eq!(place.report("eva", &ended)["answer"], "accepted", "task {task}");
    }
}

#[test]
fn a_message_may_wait_for_the_end_of_its_turn() {
    let place = place();
    place.make("eva");
    let body = json!({ "text": "how is it?" }).to_string();
    let heard = std::thread::scope(|scope| {
        let heard = scope.spawn(|| {
            let wait = [("prefer", "wait=60"), ("idempotency-key", "k")];
            place.send("POST", "/v1/agents/eva/messages", &place.operator, &body, &wait)
        });
        let asked = place.open_turn("eva");
        place.report("eva", &completed(&asked["run_id"], "Fine."));
        heard.join().expect("an answer")
    });
    assert_eq!((heard.0, &heard.1["turn"]["last_assistant_message"]), (200, &json!("Fine.")));
    // Asked again under its key, long after: the same turn.
    let wait = [("prefer", "respond-async, wait=60"), ("idempotency-key", "k")];
    let again = place.send("POST", "/v1/agents/eva/messages", &place.operator, &body, &wait);
    assert_eq!((again.0, &again.1["turn"]["last_assistant_message"]), (200, &json!("Fine.")));
    assert_eq!(again.1["reason"], "duplicate");
    let other = json!({ "text": "nobody runs this" }).to_string();
    let wait = [("prefer", "wait=1")];
    let late = place.send("POST", "/v1/agents/eva/messages", &place.operator, &other, &wait);
    assert_eq!(late.0, 202);
}

#[test]
fn a_restart_of_the_server_interrupts_no_turn_that_runs_elsewhere() {
    let mut place = place();
    place.make("eva");
    place.say("eva", "take your time");
    let before = place.open_turn("eva");
    place.stop();
    place.start(With::default());
    let after = place.open_turn("eva");
    assert_eq!(after, before, "the same request, decided again");
    let said = place.report("eva", &completed(&before["run_id"], "Done."));
    assert_eq!(said["answer"], "accepted");
    let restarts = |place: &Place| {
        place.lines("eva").iter().filter(|line| line.contains(r#""runtime_restarted""#)).count()
    };
    assert_eq!(restarts(&place), 1);
    // When the host itself begins anew, it says so.
    place.say("eva", "again");
    place.open_turn("eva");
    let body = r#"{"action":"restart"}"#;
    let (status, said) = place.post("/v1/agents/eva/control", &place.operator, body);
    assert_eq!((status, &said["answer"]), (200, &json!("accepted")));
    assert_eq!(restarts(&place), 2);
    let next = place.open_turn("eva");
    assert_eq!(next["interrupted_runs"].as_array().expect("runs").len(), 1);
}

#[test]
fn a_timer_wakes_an_agent_that_nobody_asked() {
    let place = place();
    place.make("eva");
    place.report("eva", &json!({ "fact": "timer_created", "timer_id": "t", "duration_ms": 300 }));
    let asked = place.open_turn("eva");
    assert_eq!(asked["message"]["kind"], "timer_tick");
}

#[test]
fn a_state_that_was_dropped_from_memory_is_no_restart() {
    let mut with = With::default();
    with.limits.resident_idle = std::time::Duration::ZERO;
    let place = Place::with(with);
    place.make("eva");
    place.say("eva", "hello");
    let asked = place.open_turn("eva");
    // Longer than the time between two looks for states to drop.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    assert_eq!(place.open_turn("eva"), asked);
    place.report("eva", &completed(&asked["run_id"], "Hi."));
    let lines = place.lines("eva");
    let restarts = lines.iter().filter(|line| line.contains(r#""runtime_restarted""#)).count();
    assert_eq!(restarts, 1, "{lines:#?}");
}

#[test]
fn an_agent_that_another_process_drives_is_observed_until_that_one_ends() {
    let place = place();
    let file = place.file();
    let owned = file.own(&"ada".into()).expect("it is free");
    let (status, _) =
        place.send("PUT", "/v1/agents/ada", &place.operator, r#"{"turns":"elsewhere"}"#, &[]);
    assert_eq!(status, 200);
    place.say("ada", "who hears this?");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(place.ask("/v1/agents/ada/turn").0, 204);
    owned.release().expect("it writes");
    assert_eq!(place.open_turn("ada")["message"]["body"]["text"], "who hears this?");
}

#[test]
fn agents_are_listed_in_pages_and_put_away() {
    let place = place();
    place.make("eva");
    let list = |query: &str| place.ask(&format!("/v1/agents{query}")).1;
    let names = |page: &Value| -> Vec<String> {
        let agents = page["agents"].as_array().expect("a list");
        agents.iter().map(|agent| agent["agent_id"].as_str().expect("text").to_owned()).collect()
    };
    until("all are listed", || names(&list("")).len() == 3);
    let first = list("?limit=2");
    assert_eq!((names(&first), &first["next"]), (vec!["ada".into(), "bob".into()], &json!("bob")));
    let second = list("?limit=2&cursor=bob");
    assert_eq!((names(&second), &second["next"]), (vec!["eva".to_owned()], &Value::Null));
    assert_eq!(second["agents"][0]["turns"], "elsewhere");
    place.say("eva", "hello");
    place.open_turn("eva");
    until("it is listed as active", || names(&list("?posture=active_turn")) == ["eva"]);
    let (status, problem) = place.send("DELETE", "/v1/agents/eva", &place.operator, "", &[]);
    assert_eq!((status, &problem["code"]), (409, &json!("wrong_state")));
    place.post("/v1/agents/eva/control", &place.operator, r#"{"action":"stop"}"#);
    let run = |place: &Place| place.ask("/v1/agents/eva").1["scheduling_posture"].clone();
    assert_eq!(run(&place)["posture"], "archived");
    assert_eq!(place.send("DELETE", "/v1/agents/eva", &place.operator, "", &[]).0, 204);
    assert_eq!(names(&list("")), ["ada", "bob"]);
    assert_eq!(place.ask("/v1/agents/eva").0, 200, "its ledger can be read");
}

#[test]
fn parts_of_the_state_have_the_entry_behind_them() {
    let place = place();
    place.make("eva");
    place.report(
        "eva",
        &json!({ "fact": "work_item_created", "work_item_id": "w", "objective": "ship it" }),
    );
    place.report("eva", &json!({ "fact": "task_created", "task_id": "t", "task_kind": "command_task", "work_item_id": "w", "wait_policy": "background" }));
    place
        .report("eva", &json!({ "fact": "timer_created", "timer_id": "u", "duration_ms": 60_000 }));
    let items = place.ask("/v1/agents/eva/work-items").1;
    assert_eq!(items[0]["record"]["objective"], "ship it");
    let entry = items[0]["entry"].as_u64().expect("a number");
    let line = &place.lines("eva")[usize::try_from(entry).expect("small") - 1];
    assert!(line.contains("ship it"), "{line}");
    let tasks = place.ask("/v1/agents/eva/tasks").1;
    assert_eq!(
        (&tasks[0]["work_item_id"], &tasks[0]["tasks"][0]["record"]["id"]),
        (&json!("w"), &json!("t"))
    );
    assert_eq!(place.ask("/v1/agents/eva/timers").1[0]["record"]["id"], "u");
    for part in ["waits", "children", "triggers", "diagnostics"] {
        assert_eq!(place.ask(&format!("/v1/agents/eva/{part}")).0, 200, "{part}");
    }
}
