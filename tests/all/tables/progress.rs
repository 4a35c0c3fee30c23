//! Progress (contract 5.3, 5.8, 5.24, 8.4, 9.4, 9.5): items that no turn moves, agents that start
//! too many turns on their own, messages that reached no turn or whose runs are interrupted, silent
//! runs, and waits for the runtime.

use serde_json::{Value, json};
use wakeful_core::record::{
    decision::{Boundary, DecisionKind},
    edition::Edition,
    effect::Effect,
    queue::envelope::QueueStatus,
    turn::TurnTerminalKind,
};

use super::driven::{
    Driven, NOW, abort, callback, condition, end, fact, followup, hint, item, of_item, of_task,
    prompt, prompt_with, task, timer, webhook,
};

const MINUTE: u64 = 60_000;

/// The instants at which an item is offered if nothing moves it, in minutes after its first turn.
fn offers(driven: &mut Driven) -> Vec<u64> {
    let mut at = Vec::new();
    loop {
        driven.run_to_rest();
        let Some(next) = driven.machine().next_wake(driven.now) else { return at };
        let minutes = (next.as_nanos() - NOW.as_nanos()).unsigned_abs() / 60_000_000_000;
        assert!(at.len() < 50 && at.last() != Some(&minutes), "{at:?} {minutes}");
        at.push(minutes);
        driven.now = next;
    }
}

#[test]
fn an_item_without_progress_is_offered_again() {
    for picked in [false, true] {
        let mut driven = Driven::told(&[item("w")]);
        if picked {
            driven.tell(&[of_item("work_item_picked", "w")]);
        }
        assert_eq!(
            offers(&mut driven),
            [1, 11, 71, 431, 1871],
            "1 min, 10 min, 1 h, 6 h and 24 h, each after the previous turn"
        );
        assert_eq!(
            (driven.tick_keys().len(), driven.diagnostics("parked")),
            (6, 1),
            "picked: {picked}"
        );
        let posture = driven.machine().summary().scheduling_posture;
        assert!(
            posture.posture.to_string() == "blocked" && posture.reason.ends_with("is parked"),
            "{posture:?}"
        );

        // Only a move of its epoch ends the parking.
        for fact in [prompt_with("m", json!({"work_item_id": "v"})), fact("runtime_restarted")] {
            driven.say(&fact);
            driven.run_to_rest();
        }
        assert_eq!(driven.tick_keys().len(), 6);
        driven.tell(&[json!({"fact": "work_item_updated", "work_item_id": "w", "objective": "Ship half of it"})]);
        driven.run_to_rest();
        assert_eq!(
            (driven.tick_keys().len(), driven.diagnostics("parked")),
            (7, 1),
            "it is offered at once, and the intervals start again"
        );
        assert_eq!(driven.machine().next_wake(driven.now), Some(driven.now.plus_ms(MINUTE)));
    }
}

#[test]
fn every_end_of_a_turn_but_a_retry_and_a_stop_is_no_progress() {
    let ends = TurnTerminalKind::ALL.iter().map(|kind| end(&kind.to_string()));
    let aborts =
        ["operator_aborted", "agent_stopped", "daemon_shutdown", "runtime_error"].map(abort);
    for ends in ends.chain(aborts) {
        let mut driven = Driven::told(&[item("w")]);
        driven.run();
        driven.tell(std::slice::from_ref(&ends));
        let item = &driven.state().work().items[&"w".into()];
        let owes_retry = !driven.state().turns().retries.is_empty();
        let parked = ends["reason"] == "operator_aborted";
        let moved = ends["reason"] == "agent_stopped";
        assert_eq!(item.progress.parked.is_some(), parked, "{ends}");
        assert_eq!(item.progress.rest.is_some(), !parked && !moved && !owes_retry, "{ends}");
    }
}

/// contract 9.3, 7.2: arrivals are due during a run too. Something that only a step after the run
/// can do is not a reason to wake.
#[test]
fn while_a_run_is_open_only_what_becomes_a_message_wakes() {
    let mut driven = Driven::told(&[item("w")]);
    driven.run_to_rest();
    let offer = driven.now.plus_ms(MINUTE);
    assert_eq!(driven.machine().next_wake(driven.now), Some(offer));
    driven.tell(&[prompt("m")]);
    driven.run();
    let (started, lease) = (driven.now, 30 * MINUTE);
    assert_eq!(
        driven.machine().next_wake(driven.now),
        Some(started.plus_ms(lease)),
        "an offer waits for the end of the run"
    );
    driven.now = started.plus_ms(2 * MINUTE);
    assert_eq!(
        driven.machine().next_wake(driven.now),
        Some(started.plus_ms(lease)),
        "even when it is due"
    );
    driven.tell(&[timer("t", MINUTE)]);
    assert_eq!(
        driven.machine().next_wake(driven.now),
        Some(started.plus_ms(3 * MINUTE)),
        "a timer does not wait"
    );
    driven.now = started.plus_ms(3 * MINUTE);
    driven.run();
    assert_eq!(driven.machine().next_wake(driven.now), Some(started.plus_ms(lease)));
    driven.now = started.plus_ms(lease);
    driven.run();
    assert_eq!(
        (driven.diagnostics("stalled_run"), driven.machine().next_wake(driven.now)),
        (1, None),
        "it is reported once"
    );
    driven.tell(&[end("completed")]);
    assert_eq!(
        driven.machine().next_wake(driven.now),
        Some(driven.now),
        "and the overdue offer is due at once"
    );
}

/// contract 1.3, 11.3: each kind of diagnostic is recorded separately: a silent run does not hide a
/// clock that is behind.
#[test]
fn a_silent_run_and_a_clock_that_is_behind_are_both_recorded() {
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    driven.now = NOW.plus_ms(60 * MINUTE);
    driven.run();
    driven.now = NOW;
    driven.run();
    driven.run();
    assert_eq!((driven.diagnostics("stalled_run"), driven.diagnostics("clock_behind")), (1, 1));
}

#[test]
fn the_edition_of_the_rfc_has_no_offers() {
    let mut driven =
        Driven::told(&[json!({"fact": "policy_set", "edition": Edition::Rfc20260508}), item("w")]);
    assert_eq!(offers(&mut driven), [0; 0]);
    assert_eq!((driven.tick_keys().len(), driven.diagnostics("parked")), (1, 0));
}

#[test]
fn a_turn_is_told_that_its_item_rests() {
    let mut driven = Driven::told(&[item("w")]);
    driven.run_to_rest();
    driven.now = NOW.plus_ms(MINUTE);
    driven.run();
    driven.tell(&[of_item("work_item_picked", "w"), end("completed")]);
    driven.run();
    let told: Vec<Value> =
        driven.effects.iter().map(|effect| serde_json::to_value(effect).expect("JSON")).collect();
    let rests: Vec<_> = told
        .iter()
        .filter(|effect| effect.to_string().contains("run_id"))
        .map(|effect| effect["work_item_rests"] == true)
        .collect();
    assert_eq!(rests, [false, true, false], "{told:?}");
}

#[test]
fn a_message_that_was_interrupted_too_often_is_dropped() {
    for (closes, budget) in [(false, 5), (true, 5), (false, 1)] {
        let mut driven = Driven::told(&[
            json!({"fact": "policy_set", "policy": {"replay_budget": budget}}),
            item("w"),
            of_item("work_item_picked", "w"),
        ]);
        driven.tell(&[prompt("m")]);
        for interruptions in 0..budget {
            driven.run();
            assert_eq!(driven.started().len() as u64, interruptions + 1);
            if closes {
                driven.tell(&[fact("shutdown_requested")]);
            }
            driven.restart();
        }
        driven.run();
        let dropped = driven.way_of("m").last() == Some(&QueueStatus::Dropped);
        assert_eq!(dropped, !closes, "shutdowns are not counted");
        let parked = driven.state().work().items[&"w".into()].progress.parked.is_some();
        assert_eq!(
            (parked, driven.diagnostics("replay_budget"), driven.diagnostics("parked")),
            (dropped, dropped.into(), dropped.into())
        );
    }
}

#[test]
fn a_system_wait_ticks_after_its_delay() {
    let system = |owner| condition("c", "system", owner, json!({"kind": "system_tick"}));
    for facts in [vec![item("w"), system(Some("w"))], vec![system(None)]] {
        let mut driven = Driven::told(&facts);
        assert_eq!(driven.run().first().map(|decision| decision.kind), Some(DecisionKind::Sleep));
        assert_eq!(driven.machine().next_wake(driven.now), Some(NOW.plus_ms(MINUTE)));
        driven.now = NOW.plus_ms(MINUTE - 1);
        driven.run();
        assert_eq!(driven.tick_keys(), [""; 0]);
        driven.now = NOW.plus_ms(MINUTE);
        driven.run();
        assert_eq!(driven.tick_keys(), ["system_wait:c"]);
    }
}

/// The input of an agent that has started as many turns on its own as it may.
#[test]
fn a_parked_agent_takes_input_from_outside_only() {
    let interval = json!({"fact": "timer_created", "timer_id": "k", "duration_ms": MINUTE, "interval_ms": MINUTE});
    for (what, comes, wakes) in [
        ("operator input", prompt("o"), true),
        ("an event", webhook("o", "it happened"), true),
        ("a delivery", callback("o", "e", "it happened"), true),
        ("a wake hint", hint(json!({"body": {"type": "text", "text": "news"}})), true),
        ("the result of a task", of_task("task_completed", "t"), true),
        ("a timer that fires at an interval", interval, true),
        ("a timer that fires once", timer("k", MINUTE), false),
        ("a follow-up", followup("o", "go on"), false),
        ("a new item", item("new"), false),
    ] {
        let mut driven = Driven::told(&[
            json!({"fact": "policy_set", "policy": {"autonomous_turns": 3}}),
            task("t", None, false),
        ]);
        driven.tell(&[item("a"), item("b"), item("c"), item("d")]);
        driven.run_to_rest();
        assert_eq!((driven.started().len(), driven.diagnostics("parked")), (3, 1), "{what}");
        assert_eq!(
            driven.machine().summary().scheduling_posture.posture.to_string(),
            "blocked",
            "{what}"
        );
        assert_eq!(driven.machine().next_wake(driven.now), None, "{what}");
        driven.tell(&[followup("before", "and this")]);
        driven.run_to_rest();
        assert_eq!(driven.started().len(), 3, "{what}: a follow-up waits");

        driven.tell(std::slice::from_ref(&comes));
        driven.now = NOW.plus_ms(MINUTE);
        driven.run();
        assert_eq!(driven.started().len(), if wakes { 4 } else { 3 }, "{what}");
        if wakes {
            // It passes the rest of the queue, and ends the parking.
            assert_ne!(driven.started().last().map(String::as_str), Some("before"), "{what}");
            driven.run_to_rest();
            assert!(driven.started().contains(&"before".to_owned()), "{what}");
        }
    }
}

/// contract 5.3, D11: a message with content that reached no turn is listed by every turn until one
/// that lists it completes.
#[test]
fn a_reduced_message_with_content_is_listed_by_the_next_turn() {
    let listed = |driven: &Driven| -> Vec<Vec<String>> {
        let started = driven.effects.iter().filter_map(|effect| match effect {
            Effect::StartTurn(request) => {
                Some(request.deferred.iter().map(|told| told.message.id.to_string()).collect())
            }
            _ => None,
        });
        started.collect()
    };
    // An event under a wait for the operator is reduced. One without content is not listed.
    let waits = condition("c", "operator", None, json!({"kind": "operator_input"}));
    let mut driven = Driven::told(&[waits, webhook("w1", "it happened"), webhook("blank", " ")]);
    driven.run();
    assert_eq!(driven.started().len(), 0);
    driven.tell(&[prompt("m1")]);
    driven.run();
    driven.tell(&[prompt_with("m2", json!({"priority": "interject"}))]);
    driven.step_at(Boundary::AfterProviderRound);
    driven.tell(&[end("provider_failed_needs_recovery"), prompt("m3")]);
    driven.run();
    driven.restart();
    driven.run();
    driven.tell(&[end("completed"), prompt("m4")]);
    driven.run();
    let both = || vec!["w1".to_owned(), "m2".to_owned()];
    assert_eq!(listed(&driven), [vec!["w1".to_owned()], both(), both(), vec![]]);

    // The model has read an interjection if its run completes.
    driven.tell(&[prompt_with("m5", json!({"priority": "interject"}))]);
    driven.step_at(Boundary::AfterProviderRound);
    driven.tell(&[end("completed"), prompt("m6")]);
    driven.run();
    assert_eq!(listed(&driven).last(), Some(&vec![]));

    // A turn lists at most as many as the policy allows, and says how many more there were.
    let waits = condition("c", "operator", None, json!({"kind": "operator_input"}));
    let mut driven =
        Driven::told(&[json!({"fact": "policy_set", "policy": {"deferred_cap": 2}}), waits]);
    driven.tell(&["e1", "e2", "e3"].map(|id| webhook(id, "it happened")));
    driven.run();
    driven.tell(&[prompt("m")]);
    driven.run();
    let Some(Effect::StartTurn(request)) = driven.effects.last() else {
        panic!("{:?}", driven.effects)
    };
    assert_eq!((request.deferred.len(), request.deferred_overflow), (2, 1));
}

/// contract 5.8, 9.3: a run that is silent for its whole lease is reported once. A fact of the run
/// starts the lease again.
#[test]
fn a_silent_run_is_reported_once() {
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    let lease = 30 * MINUTE;
    assert_eq!(driven.machine().next_wake(driven.now), Some(NOW.plus_ms(lease)));
    driven.now = NOW.plus_ms(10 * MINUTE);
    // Input from outside is not a fact of the run.
    driven.tell(&[
        webhook("w", "it happened"),
        json!({"fact": "provider_round_completed", "run_id": "$run", "round": 1}),
    ]);
    driven.now = NOW.plus_ms(lease);
    driven.run();
    assert_eq!(
        (driven.diagnostics("stalled_run"), driven.machine().next_wake(driven.now)),
        (0, Some(NOW.plus_ms(lease + 10 * MINUTE)))
    );
    for minutes in [40, 41, 400] {
        driven.now = NOW.plus_ms(minutes * MINUTE);
        driven.run();
        assert_eq!(
            (driven.diagnostics("stalled_run"), driven.machine().next_wake(driven.now)),
            (1, None),
            "{minutes}"
        );
    }
    driven.tell(&[json!({"fact": "tool_round_completed", "run_id": "$run", "round": 1})]);
    driven.now = NOW.plus_ms(500 * MINUTE);
    driven.run();
    assert_eq!(driven.diagnostics("stalled_run"), 2, "it was silent again");
}
