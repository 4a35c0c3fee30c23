//! Answers that name nothing, and calls that may have run (contract 5.15, 5.23).

use serde_json::{Value, json};
use wakeful_core::record::{
    effect::{Effect, TurnRequest},
    policy::Policy,
};

use super::driven::{
    Driven, condition, end, fact, item, needs_input, of_item, prompt, prompt_with,
};

fn request(driven: &Driven) -> &TurnRequest {
    let requests = driven.effects.iter().rev().filter_map(|effect| match effect {
        Effect::StartTurn(request) => Some(request),
        _ => None,
    });
    requests.into_iter().next().expect("a turn")
}

fn asks(id: &str, item: &str) -> Value {
    let mut wait = condition(id, "operator", Some(item), json!({"kind": "operator_input"}));
    wait["waiting_for"] = json!(format!("the colour of {item}"));
    wait
}

/// Two items that each wait for the operator; `fence` has the focus.
fn two_questions() -> Driven {
    let mut driven = Driven::told(&[
        item("door"),
        item("fence"),
        of_item("work_item_picked", "fence"),
        asks("c1", "door"),
        asks("c2", "fence"),
    ]);
    driven.run_to_rest();
    driven
}

#[test]
fn the_model_is_told_of_the_other_questions_and_can_apply_the_answer() {
    let mut driven = two_questions();
    driven.tell(&[prompt("m")]);
    driven.run();
    let waits: Vec<_> = request(&driven)
        .operator_waits
        .iter()
        .map(|wait| (wait.work_item_id.as_ref().map(ToString::to_string), wait.waiting_for.clone()))
        .collect();
    assert_eq!(waits, [(Some("door".to_owned()), "the colour of door".to_owned())]);
    // The model applies the answer, and ends the wait of the other item.
    driven.tell(&[
        json!({"fact": "wait_condition_cancelled", "wait_condition_id": "c1"}),
        of_item("work_item_completed", "fence"),
        end("completed"),
    ]);
    driven.run();
    let started = driven.started();
    assert_eq!(request(&driven).work_item.as_ref().expect("an item").work_item_id.as_str(), "door");
    assert_eq!(started.len(), 2, "{started:?}");
}

#[test]
fn nothing_is_offered_while_it_waits() {
    let mut driven = two_questions();
    driven.tell(&[prompt("m")]);
    driven.run();
    driven.tell(&[of_item("work_item_completed", "fence"), end("completed")]);
    driven.run_to_rest();
    assert_eq!(driven.started(), ["m"], "the door still waits");
}

#[test]
fn the_only_question_left_is_answered_by_the_next_prompt() {
    let mut driven = two_questions();
    driven.tell(&[prompt("m1")]);
    driven.run();
    driven.tell(&[of_item("work_item_completed", "fence"), end("completed")]);
    driven.run_to_rest();
    driven.tell(&[prompt("m2")]);
    driven.run();
    assert!(driven.state().wait_conditions().next().is_none());
    driven.tell(&[end("completed")]);
    driven.run();
    assert_eq!(request(&driven).work_item.as_ref().expect("an item").work_item_id.as_str(), "door");
}

#[test]
fn a_prompt_that_names_an_item_ends_only_its_wait() {
    let mut driven = two_questions();
    driven.tell(&[prompt_with("m", json!({"work_item_id": "door"}))]);
    driven.run();
    assert!(request(&driven).operator_waits.is_empty());
    let left: Vec<_> = driven.state().wait_conditions().map(|wait| wait.id.to_string()).collect();
    assert_eq!(left, ["c2"]);
}

#[test]
fn an_interjected_answer_ends_waits_as_an_admitted_one_does() {
    let mut driven = two_questions();
    driven.tell(&[prompt_with("other", json!({"work_item_id": "door"}))]);
    driven.run();
    driven.tell(&[prompt_with("answer", json!({"priority": "interject"}))]);
    driven.step_at(wakeful_core::record::decision::Boundary::AfterToolResults);
    assert!(driven.state().wait_conditions().next().is_none(), "the fence had the focus");
}

#[test]
fn the_list_is_capped_and_newest_first() {
    let policy = Policy { operator_waits: 3.try_into().expect("not zero"), ..Policy::default() };
    let mut driven = Driven::with_policy(policy);
    for n in 0..200 {
        driven.tell(&[item(&format!("w{n}")), asks(&format!("c{n}"), &format!("w{n}"))]);
    }
    driven.tell(&[item("plan"), needs_input("plan")]);
    driven.run_to_rest();
    let turns = driven.started().len();
    driven.tell(&[prompt("thanks")]);
    driven.run();
    let waits: Vec<_> = request(&driven)
        .operator_waits
        .iter()
        .filter_map(|wait| wait.work_item_id.as_ref().map(ToString::to_string))
        .collect();
    assert_eq!(waits, ["plan", "w199", "w198"]);
    driven.tell(&[end("completed")]);
    driven.run_to_rest();
    assert_eq!(driven.started().len(), turns + 1, "`thanks` starts one turn and parks nothing");
    assert_eq!(driven.diagnostics("parked"), 0);
}

#[test]
fn a_replay_moves_no_epoch_again() {
    let mut driven = two_questions();
    driven.tell(&[prompt("m")]);
    driven.run();
    let epoch = |driven: &Driven| driven.state().work().items[&"door".into()].epoch();
    let before = epoch(&driven);
    driven.restart();
    driven.run();
    assert_eq!(request(&driven).interrupted_runs.len(), 1);
    assert_eq!(epoch(&driven), before);
}

fn round(calls: Option<&[&str]>) -> Value {
    let calls = calls.map(|ids| {
        ids.iter().map(|id| json!({"call_id": id, "tool_name": "ExecCommand"})).collect::<Vec<_>>()
    });
    let mut round = json!({"fact": "assistant_round_recorded", "run_id": "$run", "data": {}});
    if let Some(calls) = calls {
        round["calls"] = json!(calls);
    }
    round
}

fn executed(id: &str, call: &str) -> Value {
    json!({"fact": "tool_execution_recorded", "run_id": "$run", "tool_execution_id": id, "tool_name": "ExecCommand",
           "status": "success", "input": {}, "output": {}, "summary": "s", "call_id": call})
}

fn unknown(driven: &Driven) -> Vec<String> {
    let calls = request(driven).unknown_calls.iter();
    calls.map(|call| call.call_id.clone().unwrap_or_else(|| "round".to_owned())).collect()
}

#[test]
fn a_call_without_a_recorded_execution_is_unknown_after_a_restart() {
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    driven.tell(&[round(Some(&["c1", "c2", "c3"])), executed("x1", "c1")]);
    driven.restart();
    driven.run();
    assert_eq!(unknown(&driven), ["c2", "c3"]);
    // It stays unknown over a second interruption, and a failure.
    driven.restart();
    driven.run();
    assert_eq!(unknown(&driven), ["c2", "c3"]);
    driven.tell(&[round(Some(&["c4"])), end("deferred_to_fallback")]);
    driven.now = driven.now.plus_ms(10_000);
    driven.run();
    assert_eq!(unknown(&driven), ["c2", "c3", "c4"]);
    driven.tell(&[end("completed"), prompt("next")]);
    driven.run();
    assert_eq!(unknown(&driven), Vec::<String>::new());
}

#[test]
fn a_round_whose_calls_all_ended_leaves_nothing_unknown() {
    let done = json!({"fact": "tool_round_completed", "run_id": "$run", "round": 1});
    let ends: [&[Value]; 4] = [
        &[round(Some(&[]))],
        &[round(Some(&["c1"])), executed("x1", "c1")],
        &[round(None), done.clone()],
        &[round(Some(&["c1"])), done, round(Some(&[]))],
    ];
    for facts in ends {
        let mut driven = Driven::told(&[prompt("m")]);
        driven.run();
        driven.tell(facts);
        driven.restart();
        driven.run();
        assert_eq!(unknown(&driven), Vec::<String>::new(), "{facts:?}");
    }
}

#[test]
fn a_round_that_does_not_name_its_calls_is_unknown_as_a_whole() {
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    driven.tell(&[round(None)]);
    driven.tell(&[fact("shutdown_requested"), fact("runtime_restarted")]);
    driven.run();
    assert_eq!(unknown(&driven), ["round"]);
}

#[test]
fn a_piece_of_the_transcript_is_not_a_round() {
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    driven.tell(&[json!({"fact": "transcript_appended", "run_id": "$run", "data": {}})]);
    driven.restart();
    driven.run();
    assert_eq!(unknown(&driven), Vec::<String>::new());
}
