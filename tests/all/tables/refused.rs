//! Ids that are in use, and ids that only the core makes (contract 2.2, 2.3).

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::{Answer, Refusal},
    machine::ProposeError,
};

use super::driven::{Driven, NOW, condition, intent, item, of_task, prompt, task, timer};

/// A fact that introduces an id, and the same with another content.
fn introductions() -> Vec<(Value, Value)> {
    let mut other_prompt = prompt("m");
    other_prompt["message"]["body"]["text"] = json!("something else");
    let mut other_item = item("w");
    other_item["objective"] = json!("something else");
    let mut other_task = task("t", None, false);
    other_task["summary"] = json!("something else");
    let delegated = |child: &str| json!({"fact": "work_item_delegated", "work_item_id": "w0", "delegation_id": "d", "child_agent_id": child});
    vec![
        (prompt("m"), other_prompt),
        (item("w"), other_item),
        (intent("i", "agent", None, "e"), intent("i", "agent", None, "f")),
        (
            condition("c", "operator", None, json!({"kind": "operator_input"})),
            condition("c", "external", None, json!({"kind": "external_ingress"})),
        ),
        (timer("t", 1_000), timer("t", 2_000)),
        (task("t", None, false), other_task),
        (delegated("a"), delegated("b")),
    ]
}

fn refusal(answer: Answer) -> Option<(Refusal, u64)> {
    match answer {
        Answer::Ignored { reason, because } => Some((reason, because.0)),
        Answer::Accepted => None,
    }
}

#[test]
fn a_repeated_id_with_another_content_is_said_to_differ() {
    for (fact, other) in introductions() {
        let mut driven = Driven::told(&[item("w0")]);
        let first = driven.state().next_seq().0;
        driven.tell(std::slice::from_ref(&fact));
        // Later, so that a digest with times in it would differ.
        driven.now = NOW.plus_ms(5_000);
        let again = refusal(driven.say(&fact));
        let is_task = fact["fact"] == "task_created";
        // A task may be reported again with the same content, which changes nothing.
        assert!(is_task || matches!(again, Some((Refusal::Duplicate, _))), "{fact}: {again:?}");
        assert_eq!(
            refusal(driven.say(&other)),
            Some((Refusal::ConflictingDuplicate, first)),
            "{other}"
        );
    }
}

#[test]
fn what_has_ended_still_knows_its_content() {
    let mut driven = Driven::told(&[prompt("m"), task("t", None, false)]);
    driven.run_to_rest();
    driven.tell(&[of_task("task_completed", "t")]);
    driven.run_to_rest();
    assert!(matches!(refusal(driven.say(&prompt("m"))), Some((Refusal::Duplicate, _))));
    for (_, other) in introductions() {
        if ["message_queued", "task_created"].contains(&other["fact"].as_str().expect("a name")) {
            let answer = refusal(driven.say(&other));
            assert!(matches!(answer, Some((Refusal::ConflictingDuplicate, _))), "{answer:?}");
        }
    }
}

#[test]
fn the_conversation_of_a_message_is_not_its_content() {
    let mut driven = Driven::told(&[prompt("m")]);
    let mut again = prompt("m");
    again["message"]["correlation_id"] = json!("another request");
    again["message"]["causation_id"] = json!("a retry of the client");
    assert!(matches!(refusal(driven.say(&again)), Some((Refusal::Duplicate, _))));
}

#[test]
fn a_fact_cannot_use_an_id_that_the_core_makes() {
    let mut driven = Driven::new();
    let before = driven.state().clone();
    for fact in [
        prompt("default:message-1"),
        prompt("default:message-99"),
        prompt("default:run-7"),
        task("default:message-3", None, false),
        condition("waiting_intent:i", "external", None, json!({"kind": "external_ingress"})),
    ] {
        let mut machine = wakeful_core::machine::Machine::standing(
            driven.machine().options().clone(),
            before.clone(),
        );
        let why = machine.propose_json(&fact.to_string(), NOW).expect_err("an id of the core");
        assert!(matches!(why, ProposeError::ReservedId { .. }), "{fact}: {why}");
    }
    // These only look alike.
    driven.tell(&[
        prompt("default:message-"),
        prompt("default:message-1a"),
        prompt("other:message-1"),
        prompt("message-1"),
    ]);
}
