//! Messages and diagnostics that the core writes on its own name their origin and their subject
//! (contract 5.2, 5.8, 5.21, 5.24, 6.2, 9.1).

use std::num::NonZeroU64;

use serde_json::{Value, json};
use wakeful_core::{
    derive::closure::Facts,
    fact::outcome::{Answer, Refusal},
    record::{
        Record,
        policy::Policy,
        queue::envelope::{MessageBody, MessageKind},
        turn::TurnTerminalKind,
        waiting::TimerRecord,
    },
    state::autonomy::keeps_coming,
};

use super::driven::{
    Driven, NOW, abort, condition, end, hint, intent, item, message, of_item, of_task, prompt,
    prompt_with, task, task_message, timer,
};

const MINUTE: u64 = 60_000;

/// The newest recorded message of this kind.
fn newest(driven: &Driven, kind: &str) -> Value {
    let messages = driven.records.iter().rev().filter_map(|record| match record {
        Record::Message(message) => serde_json::to_value(message).ok(),
        _ => None,
    });
    messages
        .into_iter()
        .find(|message| message["kind"] == kind)
        .unwrap_or_else(|| panic!("no {kind}"))
}

/// The newest diagnostic of this kind.
fn diagnostic(driven: &Driven, kind: &str) -> Value {
    let events = driven.records.iter().rev().filter_map(|record| match record {
        Record::Event(event) => serde_json::to_value(event.data()?).ok(),
        _ => None,
    });
    events.into_iter().find(|data| data["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// An agent with an open run for `m` and the focus on `w`.
fn about_an_item() -> Driven {
    let mut driven = Driven::told(&[item("w"), of_item("work_item_picked", "w"), prompt("m")]);
    driven.run();
    assert!(driven.state().turns().run.is_some());
    driven
}

#[test]
fn a_timer_tick_names_its_timer_and_its_delivery_surface() {
    let mut driven = Driven::told(&[timer("t", MINUTE)]);
    driven.now = NOW.plus_ms(MINUTE);
    driven.run();
    let tick = newest(&driven, "timer_tick");
    assert_eq!(tick["origin"], json!({"kind": "timer", "timer_id": "t"}));
    assert_eq!(tick["delivery_surface"], "timer_scheduler");
}

#[test]
fn a_retry_says_that_the_core_made_it_and_for_which_message() {
    let mut driven = about_an_item();
    driven.tell(&[end("provider_failed_needs_recovery")]);
    driven.now = NOW.plus_ms(10_000);
    driven.run();
    let retry = newest(&driven, "internal_followup");
    assert_eq!(retry["origin"], json!({"kind": "system", "subsystem": "turn_retry"}));
    assert_eq!((&retry["causation_id"], &retry["work_item_id"]), (&json!("m"), &json!("w")));
    assert_eq!(retry["metadata"]["turn_retry"]["attempt"], 1);
}

/// contract 5.6: a follow-up that names a failed message is the retry of that message, even if
/// others owe retries too.
#[test]
fn a_followup_is_the_retry_of_the_message_that_caused_it() {
    for failed in ["a", "b"] {
        let mut driven = Driven::told(&[prompt("a"), prompt("b")]);
        for _ in 0..2 {
            driven.run();
            driven.tell(&[end("provider_failed_needs_recovery")]);
        }
        let more = json!({"causation_id": failed});
        driven.tell(&[message(
            "f",
            "internal_followup",
            json!({"kind": "system", "subsystem": "host"}),
            "trusted_system",
            "go on",
            more,
        )]);
        let tries = driven
            .state()
            .turns()
            .retries
            .values()
            .map(|retry| (retry.retry_of.as_str(), retry.message_id.is_some()));
        assert_eq!(Vec::from_iter(tries), [("a", failed == "a"), ("b", failed == "b")]);
    }
}

#[test]
fn a_retry_names_the_timer_that_started_its_lineage() {
    let mut driven = Driven::told(&[timer("t", MINUTE)]);
    driven.now = NOW.plus_ms(MINUTE);
    driven.run();
    for attempt in 1..=2 {
        driven.tell(&[end("provider_failed_needs_recovery")]);
        driven.now = driven.now.plus_ms(MINUTE);
        driven.run();
        let note = &newest(&driven, "internal_followup")["metadata"]["turn_retry"];
        assert_eq!((&note["attempt"], &note["timer_id"]), (&json!(attempt), &json!("t")));
    }
}

#[test]
fn diagnostics_name_their_item() {
    let mut silent = about_an_item();
    silent.now = NOW.plus_ms(30 * MINUTE);
    silent.run();
    assert_eq!(diagnostic(&silent, "stalled_run")["work_item_id"], "w");

    let mut worn = Driven::told(&[
        json!({"fact": "policy_set", "policy": {"replay_budget": 1}}),
        item("w"),
        of_item("work_item_picked", "w"),
        prompt_with("m", json!({"work_item_id": "w"})),
    ]);
    worn.run();
    worn.restart();
    worn.run();
    assert_eq!(diagnostic(&worn, "replay_budget")["work_item_id"], "w");

    let mut tried = about_an_item();
    tried.tell(&[
        json!({"fact": "policy_set", "policy": {"failed_turn_retries": 1}}),
        end("provider_failed_needs_recovery"),
    ]);
    tried.now = NOW.plus_ms(MINUTE);
    tried.run();
    tried.tell(&[end("provider_failed_needs_recovery")]);
    assert_eq!(diagnostic(&tried, "retries_exhausted")["work_item_id"], "w");

    let mut parked = about_an_item();
    parked.tell(&[abort("operator_aborted")]);
    assert_eq!(diagnostic(&parked, "parked")["work_item_id"], "w");

    let mut bad = task_message("r", "task_result", "x", "completed");
    bad["message"]["metadata"] = json!({});
    bad["message"]["work_item_id"] = json!("w");
    let mut malformed = Driven::told(&[item("w"), bad]);
    malformed.run();
    assert_eq!(diagnostic(&malformed, "malformed_message")["work_item_id"], "w");
}

/// contract 5.2, D15: a task message without metadata belongs to the task that it names, if that
/// task is known. With incomplete metadata it is malformed.
#[test]
fn a_task_message_is_malformed_unless_it_is_about_a_task_that_is_known() {
    for (task_id, metadata, malformed) in [
        ("active", json!({}), 0),
        ("ended", json!({}), 0),
        ("unknown", json!({}), 1),
        ("active", json!({"task_id": "active", "task_kind": "errand"}), 1),
        ("ended", json!({"task_id": "ended"}), 1),
        ("unknown", json!({"task_id": "unknown", "task_kind": "command_task"}), 0),
    ] {
        let mut result = task_message("r", "task_status", task_id, "running");
        result["message"]["metadata"] = metadata.clone();
        let mut driven = Driven::told(&[
            task("active", None, false),
            task("ended", None, false),
            of_task("task_interrupted", "ended"),
        ]);
        driven.run();
        driven.tell(&[end("completed"), result]);
        driven.run();
        assert_eq!(driven.diagnostics("malformed_message"), malformed, "{task_id}, {metadata}");
    }
}

/// contract 5.11: a result reports the end of the task in its metadata, else of the task in its
/// field, else of the task of its origin.
#[test]
fn a_result_tells_the_end_of_one_task() {
    for (carried, named, from, told) in [
        (Some("a"), Some("b"), Some("c"), Some("a")),
        (None, Some("b"), Some("c"), Some("b")),
        (None, None, Some("c"), Some("c")),
        (None, None, None, None),
    ] {
        let mut result = task_message("r", "task_result", "x", "completed");
        let message = &mut result["message"];
        message["metadata"] = carried.map_or(json!({}), |task| json!({"task_id": task}));
        message["task_id"] = json!(named);
        message["origin"] = from.map_or(
            json!({"kind": "system", "subsystem": "host"}),
            |task| json!({"kind": "task", "task_id": task}),
        );
        let mut driven = Driven::told(&[result.clone()]);
        let tasks: Vec<_> = driven.state().tasks().told.keys().map(|task| task.as_str()).collect();
        assert_eq!(tasks, Vec::from_iter(told), "{carried:?}, {named:?}, {from:?}");
        result["message"]["id"] = json!("again");
        let is_refused =
            matches!(driven.say(&result), Answer::Ignored { reason: Refusal::Duplicate, .. });
        assert_eq!(is_refused, told.is_some(), "{carried:?}, {named:?}, {from:?}");
    }
}

/// contract 6.2: only a completed turn clears the runtime error, and no settlement sets it.
#[test]
fn how_a_turn_settles_clears_an_error_or_leaves_it_as_it_was() {
    for kind in TurnTerminalKind::ALL {
        for runtime_error in [false, true] {
            let mut facts = Facts::from_state(Driven::new().state());
            facts.runtime_error = runtime_error;
            let settled = facts.settled(*kind);
            assert_eq!(
                settled.runtime_error,
                runtime_error && *kind != TurnTerminalKind::Completed,
                "{kind:?}"
            );
            assert_eq!((settled.terminal, settled.run_open), (Some(*kind), false));
        }
    }
}

/// contract 9.5: a one-shot timer of a parked agent does not reach it; an interval timer does.
#[test]
fn a_parked_agent_is_reached_by_what_keeps_coming() {
    let once = timer("t", MINUTE);
    let every = json!({"fact": "timer_created", "timer_id": "t", "duration_ms": MINUTE, "interval_ms": MINUTE});
    for (timer, reaches) in [(once, false), (every, true)] {
        let mut driven = Driven::told(&[
            json!({"fact": "policy_set", "policy": {"autonomous_turns": 1}}),
            timer,
            item("w"),
            item("v"),
        ]);
        driven.run_to_rest();
        assert_eq!(driven.diagnostics("parked"), 1);
        driven.now = NOW.plus_ms(MINUTE);
        driven.run();
        let told = driven.records.iter().any(|record| {
            matches!(record, Record::Message(message) if message.kind == MessageKind::TimerTick)
        });
        assert_eq!(told, reaches);
    }
}

#[test]
fn a_timer_keeps_coming_if_it_repeats_and_has_an_interval() {
    let driven = Driven::told(&[timer("t", MINUTE)]);
    let timer = &driven.state().waiting().timers[&"t".into()].record;
    for (repeat, interval_ms, keeps) in
        [(true, Some(1), true), (true, None, false), (false, Some(1), false), (false, None, false)]
    {
        assert_eq!(
            keeps_coming(&TimerRecord { repeat, interval_ms, ..timer.clone() }),
            keeps,
            "{repeat} {interval_ms:?}"
        );
    }
}

#[test]
fn a_hint_without_content_keeps_the_content_of_the_hint_before() {
    let text = |text: &str| {
        hint(json!({"body": {"type": "text", "text": text}, "content_type": "text/plain"}))
    };
    let bodies = [
        (" ", "", None),
        ("a build", "", Some("a build")),
        (" ", "a test", Some("a test")),
        ("a build", "a test", Some("a test")),
    ];
    for (first, second, kept) in bodies {
        let second = if second.is_empty() { hint(json!({})) } else { text(second) };
        let driven = Driven::told(&[text(first), second]);
        let pending = &driven.state().control().hint.as_ref().expect("a hint").hint;
        assert_eq!(
            pending.body,
            kept.map(|text| MessageBody::Text { text: text.to_owned() }),
            "after `{first}`"
        );
        assert_eq!(pending.content_type.is_some(), kept.is_some(), "after `{first}`");
    }
}

#[test]
fn briefs_are_counted() {
    let brief =
        |id: &str| json!({"fact": "brief_recorded", "brief_id": id, "kind": "ack", "text": "t"});
    let driven = Driven::told(&[brief("one"), brief("two"), brief("three")]);
    assert_eq!(driven.state().context().briefs, 3);
}

#[test]
fn names_in_hints_are_kept_if_they_are_waited_for_and_else_up_to_the_limit_of_the_policy() {
    let names = |named: &str| match named.split_at(1) {
        ("i", _) => json!({"waiting_intent_id": named}),
        ("e", _) => json!({"external_trigger_id": named}),
        _ => json!({}),
    };
    // The newest hint is not among the coalesced ones, so its names are missing.
    let told: [(&str, &[&str], &[&str], u64); 6] = [
        ("e1 e2 e3 e4", &[], &["e1", "e2"], 1),
        ("e1 e1 e2 e2 e1 -", &[], &["e1", "e2"], 0),
        ("i1 i1 i2 i3 i4 -", &["i1", "i2"], &[], 2),
        ("i1 e1 i2 e2 -", &["i1"], &["e1"], 2),
        ("e1 e2 i e e3 -", &["i"], &["e1", "e2", "e"], 1),
        ("e1 e2 ec -", &[], &["e1", "e2", "ec"], 0),
    ];
    for (hints, intents, triggers, overflow) in told {
        let mut driven = Driven::with_policy(Policy {
            hint_ids: NonZeroU64::MIN.saturating_add(1),
            ..Policy::default()
        });
        let ingress = json!({"kind": "external_ingress", "external_trigger_id": "ec"});
        driven.tell(&[intent("i", "agent", None, "e"), condition("c", "external", None, ingress)]);
        hints.split(' ').for_each(|named| driven.tell(&[hint(names(named))]));
        let coalesced = serde_json::to_value(
            &driven.state().control().hint.as_ref().expect("a hint").coalesced,
        )
        .expect("JSON");
        let kept = |name: &str| coalesced.get(name).cloned().unwrap_or_else(|| json!([]));
        assert_eq!(
            (kept("intents"), kept("triggers")),
            (json!(intents), json!(triggers)),
            "{hints}"
        );
        assert_eq!(
            coalesced.get("overflow").and_then(Value::as_u64).unwrap_or(0),
            overflow,
            "{hints}"
        );
    }
}

#[test]
fn a_single_hint_has_no_coalesced_hints() {
    let pending = |hints: &[Value]| {
        serde_json::to_value(Driven::told(hints).state().control().hint.as_ref().expect("a hint"))
            .expect("JSON")
    };
    assert_eq!(pending(&[hint(json!({}))]).get("coalesced"), None);
    assert!(
        pending(&[hint(json!({"external_trigger_id": "e"})), hint(json!({}))])
            .get("coalesced")
            .is_some()
    );
}
