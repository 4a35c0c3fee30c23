//! Time after a bad clock: what a correction moves, and what stays (contract 1.3).

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::{Answer, Refusal},
    record::decision::DecisionKind,
    time::Timestamp,
};

use super::driven::{Driven, NOW, condition, end, fact, item, of_item, prompt, timer};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const YEAR: u64 = 365 * 24 * HOUR;

fn corrected(elapsed_ms: Option<u64>) -> Value {
    json!({"fact": "clock_corrected", "elapsed_ms": elapsed_ms})
}

/// An agent whose clock was ahead by `ahead` while it got these facts, and is right again at
/// [`NOW`]. Time stood still otherwise.
fn after_a_clock_ahead(ahead: u64, facts: &[Value]) -> Driven {
    let mut driven = Driven::new();
    driven.now = NOW.plus_ms(ahead);
    driven.tell(facts);
    driven.now = NOW;
    driven.tell(&[corrected(None)]);
    driven
}

/// How long after [`NOW`] the agent is woken, in milliseconds; `None` if it is not.
fn wakes_in(driven: &Driven) -> Option<i64> {
    driven.machine().next_wake(NOW).map(|at| at.nanos_since(NOW) / 1_000_000)
}

#[test]
fn what_was_derived_from_a_bad_clock_moves_with_it() {
    let blocked = |more: Value| {
        let mut block =
            json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": "b"});
        block.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        vec![item("w"), block]
    };
    let waits = |more: Value| {
        let mut wait = condition("c", "external", None, json!({"kind": "external_ingress"}));
        wait.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        vec![wait]
    };
    let timer_wait = condition("c", "timer", None, json!({"kind": "timer", "wake_in_ms": 5_000}));
    let cases: [(&str, Vec<Value>); 4] = [
        ("timer", vec![timer("t", 5 * SECOND)]),
        ("deadline", waits(json!({"expires_in_ms": 5_000}))),
        ("instant", vec![timer_wait]),
        ("recheck", blocked(json!({"recheck_in_ms": 5_000}))),
    ];
    for ahead in [2 * MINUTE, 2 * HOUR, 50 * YEAR] {
        for (what, facts) in &cases {
            let mut driven = after_a_clock_ahead(ahead, facts);
            driven.run_to_rest();
            assert_eq!(wakes_in(&driven), Some(5_000), "{what}, {ahead} ms ahead");
            driven.now = NOW.plus_ms(5 * SECOND);
            let decided = driven.run_to_rest();
            assert!(
                decided.iter().any(|decision| decision.kind == DecisionKind::StartModelTurn),
                "{what}, {ahead} ms ahead: {decided:?}"
            );
        }
    }
}

#[test]
fn what_passed_meanwhile_counts_if_the_host_knows_it() {
    let mut driven = Driven::new();
    driven.now = NOW.plus_ms(HOUR);
    driven.tell(&[timer("short", 5 * SECOND), timer("long", 30 * MINUTE)]);
    driven.now = NOW;
    driven.tell(&[corrected(Some(10 * MINUTE))]);
    let due = |id: &str| {
        driven.state().waiting().timers[&id.into()].record.due_at().nanos_since(NOW) / 1_000_000
    };
    assert_eq!(due("short"), 0, "it is overdue, and never before the correction");
    assert_eq!(due("long"), 20 * 60_000);
}

#[test]
fn a_retry_keeps_its_backoff() {
    let mut driven = Driven::new();
    driven.now = NOW.plus_ms(2 * HOUR);
    driven.tell(&[prompt("m")]);
    driven.run();
    driven.tell(&[end("deferred_to_fallback")]);
    driven.now = NOW;
    driven.tell(&[corrected(None)]);
    assert_eq!(wakes_in(&driven), Some(10_000));
}

#[test]
fn what_was_named_absolutely_or_made_by_a_right_clock_stays() {
    let at = NOW.plus_ms(3 * HOUR);
    let named = |id: &str| {
        let mut wait = condition(id, "external", None, json!({"kind": "external_ingress"}));
        wait["expires_at"] = json!(at.to_string());
        wait
    };
    let driven = after_a_clock_ahead(2 * HOUR, &[named("c")]);
    assert_eq!(wakes_in(&driven), Some(3 * 3_600_000), "an instant that the fact named");

    let mut driven = Driven::told(&[timer("t", 3 * HOUR)]);
    driven.now = NOW.plus_ms(2 * HOUR);
    driven.tell(&[item("w")]);
    driven.now = NOW;
    driven.tell(&[corrected(None)]);
    assert_eq!(wakes_in(&driven), Some(3 * 3_600_000), "a timer of the right clock");
}

#[test]
fn an_interval_continues_at_the_first_slot_of_its_grid() {
    let every = |ms: u64| json!({"fact": "timer_created", "timer_id": "t", "duration_ms": ms, "interval_ms": ms});
    let mut driven = Driven::told(&[every(10 * MINUTE)]);
    // It fires while the clock is ahead, and its next slot would be there too.
    driven.now = NOW.plus_ms(50 * YEAR);
    driven.run_to_rest();
    driven.now = NOW.plus_ms(MINUTE);
    driven.tell(&[corrected(None)]);
    let due = driven.state().waiting().timers[&"t".into()].record.due_at();
    assert_eq!(due, NOW.plus_ms(10 * MINUTE), "its grid has not moved");
}

#[test]
fn a_correction_is_said_once_and_only_of_a_clock_that_is_behind() {
    for behind in [0, SECOND, MINUTE] {
        let mut driven = Driven::new();
        driven.now = NOW.plus_ms(behind);
        driven.tell(&[item("w")]);
        driven.now = NOW;
        let answer = driven.say(&corrected(None));
        assert!(
            matches!(answer, Answer::Ignored { reason: Refusal::Stale, .. }),
            "{behind} ms: {answer:?}"
        );
    }
    let mut driven = after_a_clock_ahead(HOUR, &[timer("t", 5 * SECOND)]);
    let before = wakes_in(&driven);
    let answer = driven.say(&corrected(None));
    assert!(matches!(answer, Answer::Ignored { reason: Refusal::Stale, .. }), "{answer:?}");
    assert_eq!(wakes_in(&driven), before, "a correction that is repeated moves nothing");
}

#[test]
fn what_an_earlier_correction_moved_does_not_move_again() {
    let mut driven = after_a_clock_ahead(HOUR, &[timer("t", 30 * MINUTE)]);
    // The clock is ahead once more, while another timer is made.
    driven.now = NOW.plus_ms(2 * HOUR);
    driven.tell(&[timer("u", 40 * MINUTE)]);
    driven.now = NOW.plus_ms(MINUTE);
    driven.tell(&[corrected(None)]);
    let due = |id: &str| {
        driven.state().waiting().timers[&id.into()].record.due_at().nanos_since(NOW)
            / 60_000_000_000
    };
    assert_eq!((due("t"), due("u")), (30, 41));
}

#[test]
fn a_clock_that_is_behind_for_less_than_a_minute_changes_nothing() {
    let mut driven = Driven::told(&[timer("t", 5 * SECOND)]);
    for back in [SECOND, 30 * SECOND, MINUTE] {
        driven.now = NOW.minus_nanos(i64::try_from(back).expect("small") * 1_000_000);
        driven.run_to_rest();
        assert_eq!(driven.diagnostics("clock_behind"), 0, "{back} ms");
        assert_eq!(driven.state().at(), NOW);
    }
}

#[test]
fn a_failure_after_the_correction_is_newer_than_a_success_before_it() {
    let mut driven = Driven::new();
    driven.now = NOW.plus_ms(HOUR);
    driven
        .tell(&[json!({"fact": "brief_recorded", "brief_id": "b", "kind": "result", "text": "t"})]);
    driven.now = NOW;
    driven.tell(&[corrected(None)]);
    driven.now = NOW.plus_ms(SECOND);
    driven.tell(&[json!({"fact": "runtime_error", "error": "disk full"})]);
    assert!(driven.state().context().runtime_error().is_some());
    driven.now = NOW.plus_ms(2 * SECOND);
    driven
        .tell(&[json!({"fact": "brief_recorded", "brief_id": "c", "kind": "result", "text": "t"})]);
    assert!(driven.state().context().runtime_error().is_none());
}

#[test]
fn a_resting_item_is_offered_again_by_the_right_clock() {
    let mut driven = Driven::new();
    driven.now = NOW.plus_ms(50 * YEAR);
    driven.tell(&[item("w"), of_item("work_item_picked", "w")]);
    driven.run_to_rest();
    let offered = driven.started().len();
    driven.now = NOW;
    driven.tell(&[corrected(None)]);
    assert_eq!(wakes_in(&driven), Some(60_000), "the first interval of `offer_backoff`");
    driven.now = NOW.plus_ms(MINUTE);
    driven.run();
    assert_eq!(driven.started().len(), offered + 1);
}

#[test]
fn a_stopped_agent_is_corrected_too() {
    let mut driven = Driven::told(&[fact("stop_requested")]);
    driven.now = NOW.plus_ms(HOUR);
    driven.tell(&[timer("t", 5 * SECOND)]);
    driven.now = NOW;
    driven.tell(&[corrected(None), fact("start_requested")]);
    assert_eq!(wakes_in(&driven), Some(5_000));
    assert_eq!(driven.state().at(), NOW);
    assert!(Timestamp::MAX > driven.state().at());
}
