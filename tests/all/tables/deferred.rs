//! Deferred content fits, and what a provider refuses is not told again (contract 5.3).

use serde_json::{Value, json};
use wakeful_core::record::{
    effect::{Effect, TurnRequest},
    policy::Policy,
    queue::envelope::QueueStatus,
};

use super::driven::{Driven, NOW, end, message, prompt, timer, webhook};

/// An agent that rests on a timer, so that events are deferred.
fn resting(policy: Policy) -> Driven {
    let mut driven = Driven::with_policy(policy);
    driven.tell(&[timer("nightly", 3_600_000)]);
    driven.run_to_rest();
    driven
}

fn request(driven: &Driven) -> &TurnRequest {
    let requests = driven.effects.iter().rev().filter_map(|effect| match effect {
        Effect::StartTurn(request) => Some(request),
        _ => None,
    });
    requests.into_iter().next().expect("a turn")
}

/// Asks once, and returns the deferred messages that the turn is told.
fn told(driven: &mut Driven, id: &str) -> Vec<String> {
    driven.tell(&[prompt(id)]);
    driven.run();
    request(driven).deferred.iter().map(|told| told.message.id.to_string()).collect()
}

fn bytes(request: &TurnRequest) -> usize {
    let text = |told: &wakeful_core::record::effect::DeferredMessage| {
        told.message.body.bytes()
            + told.message.metadata.as_ref().map_or(0, |data| data.as_str().len())
    };
    request.deferred.iter().map(text).sum()
}

#[test]
fn a_long_event_is_told_cut_with_its_length() {
    let mut driven = resting(Policy::default());
    driven.tell(&[webhook("log", &"line é\n".repeat(30_000))]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m1"), ["log"]);
    let request = request(&driven);
    assert!(bytes(request) <= 16 << 10, "{}", bytes(request));
    assert_eq!(request.deferred[0].body_bytes, Some(240_000));
    driven.tell(&[end("completed")]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m2"), Vec::<String>::new(), "it was told");
}

#[test]
fn a_night_of_events_is_told_within_the_budget_and_nothing_is_lost() {
    let mut driven = resting(Policy::default());
    let ids: Vec<String> = (0..64).map(|n| format!("e{n}")).collect();
    for id in &ids {
        driven.tell(&[webhook(id, &"x".repeat(7_000))]);
        driven.run_to_rest();
    }
    let mut heard = Vec::new();
    for turn in 0..64 {
        let now = told(&mut driven, &format!("m{turn}"));
        let request = request(&driven);
        assert!(bytes(request) <= 16 << 10, "turn {turn}: {} bytes", bytes(request));
        assert_eq!(request.deferred_later as usize, ids.len() - heard.len() - now.len());
        heard.extend(now);
        driven.tell(&[end("completed")]);
        driven.run_to_rest();
        if heard.len() == ids.len() {
            break;
        }
    }
    assert_eq!(heard, ids, "each once, oldest first");
}

#[test]
fn what_a_failed_turn_was_told_is_told_again() {
    let mut driven = resting(Policy::default());
    for n in 0..40 {
        driven.tell(&[webhook(&format!("e{n}"), &"x".repeat(2_000))]);
        driven.run_to_rest();
    }
    let first = told(&mut driven, "m1");
    assert!(first.len() < 40);
    driven.tell(&[end("deferred_to_fallback")]);
    driven.run();
    assert_eq!(told(&mut driven, "m2"), first);
}

#[test]
fn long_metadata_is_left_out() {
    let mut driven = resting(Policy::default());
    let event = message(
        "e",
        "webhook_event",
        json!({"kind": "webhook", "source": "ci"}),
        "trusted_integration",
        "short",
        json!({"metadata": {"log": "x".repeat(100_000)}}),
    );
    driven.tell(&[event]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m1"), ["e"]);
    assert!(bytes(request(&driven)) <= 16 << 10);
    assert_eq!(request(&driven).deferred[0].body_bytes, None, "the content itself is whole");
}

fn refused(ids: &[&str]) -> Value {
    json!({"fact": "content_refused", "run_id": "$run", "message_ids": ids, "reason": "content_filter"})
}

#[test]
fn a_message_that_the_provider_refuses_is_dropped_and_owes_nothing() {
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    driven.tell(&[refused(&["m"])]);
    driven.run_to_rest();
    assert_eq!(
        driven.way_of("m"),
        [QueueStatus::Queued, QueueStatus::Dequeued, QueueStatus::Dropped]
    );
    assert!(driven.state().open_run().is_none());
    assert_eq!(driven.machine().next_wake(NOW), None, "no retry");
    assert_eq!(driven.diagnostics("content_refused"), 1);
    assert_eq!(told(&mut driven, "m2"), Vec::<String>::new());
}

#[test]
fn a_deferred_message_that_the_provider_refuses_is_never_told_again() {
    let mut driven = resting(Policy::default());
    for id in ["good", "bad", "fine"] {
        driven.tell(&[webhook(id, "text")]);
        driven.run_to_rest();
    }
    assert_eq!(told(&mut driven, "m1"), ["good", "bad", "fine"]);
    driven.tell(&[refused(&["bad"])]);
    assert!(driven.state().open_run().is_some(), "the turn continues without it");
    driven.tell(&[end("provider_failed_needs_recovery")]);
    driven.run();
    assert_eq!(told(&mut driven, "m2"), ["good", "fine"]);
}

#[test]
fn a_refusal_without_a_culprit_tells_one_message_at_a_time() {
    let mut driven = resting(Policy::default());
    for id in ["good", "bad", "fine"] {
        driven.tell(&[webhook(id, "text")]);
        driven.run_to_rest();
    }
    assert_eq!(told(&mut driven, "m1"), ["good", "bad", "fine"]);
    driven.tell(&[refused(&[]), end("deferred_to_fallback")]);
    // The retry shows whether the culprit is deferred content at all.
    driven.now = NOW.plus_ms(10_000);
    driven.run();
    assert!(request(&driven).deferred.is_empty(), "{:?}", request(&driven).deferred);
    assert_eq!(request(&driven).deferred_later, 3);
    driven.tell(&[end("completed")]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m2"), ["good"]);
    driven.tell(&[end("completed")]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m3"), ["bad"]);
    driven.tell(&[refused(&["bad"]), end("completed")]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m4"), ["fine"]);
    driven.tell(&[end("completed")]);
    driven.run_to_rest();
    driven.tell(&[webhook("e1", "text")]);
    driven.run_to_rest();
    driven.tell(&[webhook("e2", "text")]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m5"), ["e1", "e2"], "and then as before");
}

#[test]
fn a_host_that_continues_without_deferred_content_has_told_none_of_it() {
    let mut driven = resting(Policy::default());
    driven.tell(&[webhook("bad", "text")]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m1"), ["bad"]);
    driven.tell(&[refused(&[]), end("completed")]);
    driven.run_to_rest();
    assert_eq!(told(&mut driven, "m2"), ["bad"]);
}
