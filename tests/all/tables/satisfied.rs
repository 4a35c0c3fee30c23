//! What exactly a trigger ends if several waits are active (contract 5.15, 5.16; I12, I13).

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::{Answer, Refusal},
    id::Seq,
    record::{
        Record,
        decision::{Decision, DecisionKind, ReasonCode},
    },
};

use super::driven::{
    Driven, NOW, callback, condition, hint, intent, item, needs_input, of_item, prompt,
    prompt_with, webhook,
};

/// The entries of the waits that the turn of this decision satisfies.
fn satisfied(decision: &Decision) -> Vec<Seq> {
    let of_waits =
        decision.because.iter().filter(|because| because.code == ReasonCode::WaitSatisfied);
    of_waits.flat_map(|because| because.seqs.clone()).collect()
}

/// The ids of the active conditions.
fn standing(driven: &Driven) -> Vec<String> {
    driven.state().waiting().conditions.keys().map(ToString::to_string).collect()
}

/// An external condition for these triggers, or for every trigger if the list is empty.
fn external(id: &str, item: Option<&str>, triggers: &[&str]) -> Value {
    let named = triggers
        .iter()
        .map(|trigger| json!({"kind": "external_ingress", "external_trigger_id": trigger}));
    let sources: Vec<_> = if triggers.is_empty() {
        vec![json!({"kind": "external_ingress"})]
    } else {
        named.collect()
    };
    json!({"fact": "wait_condition_registered", "wait_condition_id": id, "work_item_id": item, "kind": "external", "waiting_for": "it",
           "wake_sources": sources})
}

fn operator(id: &str, item: Option<&str>) -> Value {
    condition(id, "operator", item, json!({"kind": "operator_input"}))
}

/// An interval timer.
fn every(id: &str, ms: u64) -> Value {
    json!({"fact": "timer_created", "timer_id": id, "duration_ms": ms, "interval_ms": ms})
}

/// contract 5.15: a tick about work ends no wait, even if the wait names no trigger.
#[test]
fn a_work_queue_tick_ends_no_wait() {
    for (owner, ticks) in [(None, 2), (Some("v"), 1)] {
        let waits = condition("c", "external", owner, json!({"kind": "external_ingress"}));
        let mut driven =
            Driven::told(&[item("v"), waits, item("w"), of_item("work_item_picked", "w")]);
        driven.run_to_rest();
        assert_eq!(
            (driven.tick_keys().len(), driven.state().waiting().conditions.len()),
            (ticks, 1),
            "{owner:?}"
        );
    }
}

#[test]
fn operator_input_ends_the_operator_waits_of_its_item_and_of_the_agent() {
    let facts = [
        item("v"),
        item("w"),
        of_item("work_item_picked", "w"),
        operator("of v", Some("v")),
        operator("of w", Some("w")),
        operator("of the agent", None),
    ];
    for (input, stays) in
        [(prompt("m"), "of v"), (prompt_with("m", json!({"work_item_id": "v"})), "of w")]
    {
        let mut driven = Driven::told(&facts);
        driven.tell(&[input]);
        driven.run();
        assert_eq!(standing(&driven), [stays]);
    }
}

#[test]
fn operator_input_ends_no_other_kind_of_wait() {
    let facts = [
        item("w"),
        of_item("work_item_picked", "w"),
        external("of w", Some("w"), &[]),
        external("of the agent", None, &["e"]),
    ];
    let mut driven = Driven::told(&facts);
    driven.tell(&[prompt("m")]);
    driven.run();
    assert_eq!(standing(&driven), ["of the agent", "of w"]);
}

/// Only input about an item answers its question (I8).
#[test]
fn the_question_of_an_item_is_what_input_about_it_satisfies() {
    let mut driven =
        Driven::told(&[item("v"), item("w"), needs_input("v"), of_item("work_item_picked", "w")]);
    let asked = driven.state().work().items[&"v".into()].seq;
    driven.tell(&[prompt_with("m1", json!({"work_item_id": "v"}))]);
    let decision = driven.step().expect("a turn");
    assert_eq!(satisfied(&decision), [asked]);
    driven.run_to_rest();
    driven.tell(&[prompt("m2")]);
    let decision = driven
        .run()
        .into_iter()
        .find(|decision| decision.message_id == Some("m2".into()))
        .expect("a turn");
    assert_eq!(satisfied(&decision), [], "w needs no input");
}

#[test]
fn a_condition_with_several_triggers_is_ended_by_each_of_them() {
    for (trigger, ends) in [("e", true), ("f", true), ("g", true), ("h", false)] {
        let mut driven = Driven::told(&[external("c", None, &["e", "f", "g"])]);
        driven.tell(&[callback("m", trigger, "it happened")]);
        driven.run();
        assert_eq!(standing(&driven).is_empty(), ends, "{trigger}");
    }
}

/// A trigger with an id ends the waits that name it and those that name nothing. A hint that names
/// only an intent ends only that intent. A hint that names both ends all of these.
#[test]
fn a_name_ends_what_it_names_and_a_trigger_also_what_names_nothing() {
    let facts = [
        item("v"),
        item("w"),
        external("plain", None, &[]),
        external("of e", Some("v"), &["e"]),
        intent("i", "work_item", Some("w"), "f"),
        intent("j", "work_item", Some("w"), ""),
    ];
    for (trigger, stays) in [
        (callback("m", "e", "it happened"), &["waiting_intent:i"][..]),
        (webhook("m", "it happened"), &["of e", "waiting_intent:i"][..]),
        (hint(json!({"waiting_intent_id": "i"})), &["of e", "plain", "waiting_intent:j"][..]),
        (hint(json!({"waiting_intent_id": "i", "external_trigger_id": "g"})), &["of e"][..]),
        (
            hint(json!({"waiting_intent_id": "gone"})),
            &["of e", "plain", "waiting_intent:i", "waiting_intent:j"][..],
        ),
    ] {
        let mut driven = Driven::told(&facts);
        driven.tell(std::slice::from_ref(&trigger));
        driven.run();
        assert_eq!(standing(&driven), stays, "{trigger}");
    }
}

/// A message that starts no turn ends no wait: otherwise the model would not see that the wait
/// ended.
#[test]
fn what_starts_no_turn_ends_no_wait() {
    let mut driven = Driven::told(&[external("c", None, &["e"])]);
    driven.tell(&[callback("m", "e", "")]);
    let decision = driven.step().expect("a decision");
    assert_eq!(
        (decision.kind, satisfied(&decision)),
        (DecisionKind::ReduceMessageOnly, Vec::new())
    );
    assert_eq!(standing(&driven), ["c"]);
}

/// contract 5.19: a message that only claims to be a tick does not speak for the runtime, so its
/// note about a hint is not read.
#[test]
fn a_tick_that_the_runtime_did_not_make_says_nothing_of_a_hint() {
    let noted = json!({"wake_hint": {"source": "ci", "external_trigger_id": "e", "body": {"type": "text", "text": "it happened"}}});
    let tick = |trust: &str| {
        json!({"fact": "message_queued", "message": {"id": "m", "kind": "system_tick", "origin": {"kind": "system", "subsystem": "elsewhere"},
               "trust": trust, "delivery_surface": "runtime_system", "body": {"type": "text", "text": ""}, "metadata": noted}})
    };
    for (trust, decided) in [
        ("trusted_system", DecisionKind::StartModelTurn),
        ("trusted_integration", DecisionKind::ReduceMessageOnly),
    ] {
        let mut driven = Driven::told(&[external("c", None, &["e"])]);
        driven.tell(&[tick(trust)]);
        assert_eq!(driven.step().map(|decision| decision.kind), Some(decided), "{trust}");
    }
}

/// contract 5.16: an intent of the agent counts its triggers and stays active, and so does its
/// mirror.
#[test]
fn the_mirror_of_a_standing_intent_stands_with_it() {
    let mut driven =
        Driven::told(&[intent("i", "agent", None, "e"), intent("j", "agent", None, "")]);
    driven.tell(&[callback("m", "e", "it happened")]);
    driven.run();
    assert_eq!(standing(&driven), ["waiting_intent:i", "waiting_intent:j"]);
    let counts: Vec<_> =
        driven.state().waiting().intents.values().map(|wait| wait.record.trigger_count).collect();
    assert_eq!(counts, [1, 1]);
    assert!(driven.state().waiting().ended_conditions.is_empty());
}

/// An interval timer that fires satisfies itself and the waits that name it, and no other timer.
#[test]
fn a_timer_satisfies_itself_and_what_waits_for_it() {
    let mut driven = Driven::told(&[item("w"), every("k", 1_000), every("l", 5_000)]);
    let source = |timer: &str| json!({"kind": "timer", "wake_at": "2030-01-01T00:00:00Z", "timer_id": timer});
    driven.tell(&[
        condition("for k", "timer", None, source("k")),
        condition("for l", "timer", Some("w"), source("l")),
    ]);
    let condition_seq = driven.state().waiting().conditions[&"for k".into()].seq;
    driven.now = NOW.plus_ms(1_000);
    assert_eq!(driven.step(), None, "only an arrival");
    let fired = driven.state().waiting().timers[&"k".into()].seq;
    let decision = driven.step().expect("a turn");
    assert_eq!(satisfied(&decision), [condition_seq, fired]);
    assert_eq!(standing(&driven), ["for l"]);
}

/// contract 5.21: of coalesced hints the newest content stays, even if hints without content
/// follow.
#[test]
fn of_hints_that_come_together_the_newest_content_stays() {
    let text =
        |text: &str| json!({"body": {"type": "text", "text": text}, "content_type": "text/plain"});
    let bare = || json!({"source": "ci"});
    for (hints, said) in [
        (vec![text("all green"), bare()], Some("all green")),
        (vec![text("red"), text("all green"), bare(), text(" ")], Some("all green")),
        (vec![bare(), text("all green")], Some("all green")),
        (vec![bare(), bare()], None),
    ] {
        let mut driven = Driven::told(&[prompt("m")]);
        driven.run();
        driven.tell(&hints.into_iter().map(hint).collect::<Vec<_>>());
        driven.run_to_rest();
        let ticks = driven.records.iter().filter_map(|record| match record {
            Record::Message(message) => message.noted("wake_hint"),
            _ => None,
        });
        let notes: Vec<_> = ticks.collect();
        assert_eq!(notes.len(), 1, "the hints become one tick");
        let body = notes[0]
            .field("body")
            .map(|body| body.field("text").and_then(|text| text.read::<String>().ok()));
        assert_eq!(body.flatten().as_deref(), said);
        assert_eq!(notes[0].field("content_type").is_some(), said.is_some());
        assert_eq!(
            driven.started().len(),
            1 + usize::from(said.is_some()),
            "a hint with content reaches the model"
        );
    }
}

/// contract 5.14: the waits of an item end with it, so a completed or unknown item gets none. An
/// intent of the agent may name any item.
#[test]
fn an_intent_of_an_item_needs_the_item() {
    let mut driven =
        Driven::told(&[item("done"), of_item("work_item_completed", "done"), item("w")]);
    let ended = driven.state().work().ended[&"done".into()];
    let head = driven.state().head().seq;
    let refused = |reason, because| Answer::Ignored { reason, because };
    assert_eq!(
        driven.say(&intent("i1", "work_item", Some("done"), "e")),
        refused(Refusal::AlreadyTerminal, ended)
    );
    assert_eq!(
        driven.say(&intent("i2", "work_item", Some("nobody"), "e")),
        refused(Refusal::Unknown, head.plus(1))
    );
    assert_eq!(
        driven.say(&intent("i3", "work_item", None, "e")),
        refused(Refusal::Unknown, head.plus(2))
    );
    driven.tell(&[
        intent("i4", "work_item", Some("w"), "e"),
        intent("i5", "agent", Some("done"), "e"),
    ]);
    assert_eq!(driven.state().waiting().intents.len(), 2);
}

/// contract 5.16: an external event that names an intent ends that intent, whichever trigger it
/// came through.
#[test]
fn an_event_that_names_an_intent_ends_that_intent() {
    for (named, stays) in [("i", 1), ("j", 2)] {
        let facts = [intent("i", "agent", None, "e"), intent("other", "agent", None, "f")];
        let mut driven = Driven::told(&facts);
        let mut event = webhook("m", "it happened");
        event["message"]["metadata"] = json!({"waiting_intent_id": named});
        driven.tell(&[event]);
        let decision = driven.step().expect("a decision");
        assert_eq!(satisfied(&decision).len(), 2 - stays, "{named}");
    }
}

/// contract 5.15: an event without content ends nothing, even if it names a wait.
#[test]
fn a_delivery_without_content_ends_nothing() {
    for (text, stays) in [("it happened", 0), (" \n", 1)] {
        let mut driven = Driven::told(&[external("c", None, &["e"])]);
        driven.tell(&[callback("m", "e", text)]);
        driven.run();
        assert_eq!(standing(&driven).len(), stays, "{text:?}");
    }
}

/// contract 6.3: a decision says that it matched a wait by its reason only if the event named
/// nothing.
#[test]
fn what_was_met_by_its_id_is_not_said_to_be_met_by_its_reason() {
    let by_reason = |decision: &Decision| {
        decision.because.iter().any(|because| because.code == ReasonCode::MatchedByReasonClass)
    };
    for (event, nameless) in
        [(callback("m", "e", "it happened"), false), (webhook("m", "it happened"), true)]
    {
        let mut driven = Driven::told(&[external("c", None, if nameless { &[] } else { &["e"] })]);
        driven.run();
        driven.tell(&[event]);
        let decision = driven.step().expect("a turn");
        assert_eq!(
            (by_reason(&decision), decision.model_reentry),
            (nameless, true),
            "{decision:?}"
        );
    }
}
