//! Arrivals: the events of which the core itself makes messages. These are ends of tasks,
//! deadlines, rechecks and failed turns (contract 5.6, 5.11, 5.17, 7.2).

use serde_json::{Value, json};
use wakeful_core::{
    record::{
        Record,
        decision::DecisionKind,
        queue::envelope::MessageKind,
        turn::{AbortReason, TurnTerminalKind},
        waiting::{EndedBy, WaitConditionStatus},
    },
    time::Timestamp,
};

use super::driven::{Driven, NOW, abort, end, item, of_item, of_task, prompt, task, task_message};

fn later(ms: u64) -> Timestamp {
    NOW.plus_ms(ms)
}

fn queued(driven: &Driven, kind: MessageKind) -> usize {
    driven
        .records
        .iter()
        .filter(|record| matches!(record, Record::Message(message) if message.kind == kind))
        .count()
}

#[test]
fn a_terminal_task_queues_its_one_result() {
    for ends in ["task_completed", "task_failed", "task_cancelled", "task_interrupted"] {
        let mut driven = Driven::told(&[item("w"), task("t", Some("w"), true)]);
        let before = driven.records.len();
        driven.tell(&[of_task(ends, "t")]);
        let batch = &driven.records[before..];
        let [
            Record::Task(ended),
            Record::Message(result),
            Record::QueueEntry(_),
            Record::Event(moved),
        ] = batch
        else {
            panic!("{ends}: {batch:?}")
        };
        assert_eq!(moved.kind, "task_result_queued");
        assert_eq!(
            (result.kind, result.task_id.as_ref(), result.work_item_id.as_ref()),
            (MessageKind::TaskResult, Some(&ended.id), Some(&"w".into()))
        );
        // Every further result is a duplicate, however it is reported.
        for again in [
            of_task("task_failed", "t"),
            task_message("m", "task_result", "t", "completed"),
            of_task(ends, "t"),
        ] {
            driven.say(&again);
        }
        driven.run_to_rest();
        driven.restart();
        driven.run_to_rest();
        assert_eq!(
            (queued(&driven, MessageKind::TaskResult), driven.started().len()),
            (1, 1),
            "{ends}: one turn, about the item"
        );
    }
    // If a status message ends the task, its result follows too.
    let mut driven =
        Driven::told(&[task("t", None, false), task_message("m", "task_status", "t", "failed")]);
    driven.run_to_rest();
    assert_eq!((queued(&driven, MessageKind::TaskResult), driven.started().len()), (1, 1));
}

fn wait(owner: Option<&str>, sources: Value, expires: Option<Timestamp>) -> Value {
    json!({"fact": "wait_condition_registered", "wait_condition_id": "c", "work_item_id": owner, "kind": "external", "waiting_for": "it",
           "wake_sources": sources, "expires_at": expires})
}

#[test]
fn a_reached_deadline_ends_its_condition() {
    let instant = |ms| json!([{"kind": "timer", "wake_at": later(ms)}]);
    let ingress = json!([{"kind": "external_ingress"}]);
    for (what, sources, expires, due, how) in [
        ("a deadline", &ingress, Some(5_000), 5_000, WaitConditionStatus::Expired),
        ("an instant", &instant(5_000), None, 5_000, WaitConditionStatus::Resolved),
        (
            "an instant before the deadline",
            &instant(5_000),
            Some(9_000),
            5_000,
            WaitConditionStatus::Resolved,
        ),
        (
            "a deadline before the instant",
            &instant(9_000),
            Some(5_000),
            5_000,
            WaitConditionStatus::Expired,
        ),
    ] {
        for owner in [None, Some("w")] {
            let mut driven = Driven::told(&[
                item("w"),
                of_item("work_item_picked", "w"),
                wait(owner, sources.clone(), expires.map(later)),
            ]);
            driven.run_to_rest();
            assert_eq!(
                driven.machine().next_wake(driven.now),
                Some(later(due)),
                "{what}, {owner:?}"
            );
            driven.now = later(due - 1);
            driven.run_to_rest();
            assert_eq!(driven.state().waiting().conditions.len(), 1, "{what}, {owner:?}: not yet");
            driven.now = later(due);
            driven.step();
            driven.restart();
            let turns = driven.started().len();
            let told = driven.step().expect("a turn");
            assert_eq!(
                (told.kind, driven.started().len()),
                (DecisionKind::StartModelTurn, turns + 1),
                "{what}, {owner:?}"
            );
            let ended = driven.records.iter().rev().find_map(|record| match record {
                Record::WaitCondition(wait) => Some((wait.status, wait.ended_by)),
                _ => None,
            });
            assert_eq!(ended, Some((how, Some(EndedBy::Deadline))), "{what}, {owner:?}");
            driven.run_to_rest();
            driven.now = later(86_400_000);
            driven.run_to_rest();
            assert_eq!(
                driven.events_of_subsystem("wait_deadline"),
                1,
                "{what}, {owner:?}: one message"
            );
        }
    }
}

#[test]
fn a_recheck_arrives_once_per_instant() {
    let block = |at: u64| json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": "a freeze", "recheck_at": later(at)});
    let mut driven = Driven::told(&[item("w"), block(5_000)]);
    driven.run_to_rest();
    let revision = driven.state().work().items[&"w".into()].record.revision;
    for (now, told) in [(4_999, 0), (5_000, 1), (60_000, 1)] {
        driven.now = later(now);
        driven.run_to_rest();
        assert_eq!(driven.events_of_subsystem("work_item_recheck"), told, "at {now} ms");
    }
    assert_eq!(
        driven.state().work().items[&"w".into()].record.revision,
        revision,
        "D29: without a snapshot"
    );
    // A new instant gives a new message. A recheck whose turn was interrupted replays, and gives no
    // second message.
    driven.tell(&[block(90_000)]);
    driven.now = later(90_000);
    driven.run();
    driven.restart();
    driven.run_to_rest();
    driven.now = later(900_000);
    driven.run_to_rest();
    assert_eq!(driven.events_of_subsystem("work_item_recheck"), 2);
}

/// Fails the open run in one of the three ways that owe a retry.
fn fail(driven: &mut Driven, way: usize) {
    match way % 3 {
        0 => driven.tell(&[end("provider_failed_needs_recovery")]),
        1 => driven.tell(&[end("deferred_to_fallback")]),
        _ => driven.tell(&[abort("runtime_error")]),
    }
}

#[test]
fn a_failed_turn_owes_its_retries() {
    for first in 0..3 {
        let mut driven = Driven::told(&[prompt("m")]);
        driven.run();
        let mut due = 0;
        for (attempt, backoff) in [10_000, 60_000, 600_000].into_iter().enumerate() {
            fail(&mut driven, first + attempt);
            driven.run();
            due += backoff;
            assert_eq!(driven.machine().next_wake(driven.now), Some(later(due)), "try {attempt}");
            driven.now = later(due - 1);
            driven.run();
            assert_eq!(driven.started().len(), attempt + 1, "try {attempt}: not yet");
            driven.restart();
            driven.now = later(due);
            driven.run();
            let run = driven.state().turns().run.as_ref().expect("a try");
            assert_eq!(
                (run.retry_of.as_ref(), run.attempt),
                (Some(&"m".into()), attempt as u64 + 1)
            );
        }
        fail(&mut driven, first);
        driven.run();
        driven.now = later(86_400_000);
        driven.run();
        assert_eq!(
            (driven.started().len(), driven.state().turns().retries.len()),
            (4, 0),
            "no more retries than the policy allows"
        );
        assert_eq!(driven.diagnostics("retries_exhausted"), 1);
    }
    // A turn that completed, was aborted on purpose, or was over budget owes nothing.
    let ended = TurnTerminalKind::ALL.iter().filter(|kind| {
        matches!(kind, TurnTerminalKind::Completed | TurnTerminalKind::BaselineOverBudget)
    });
    let aborted = AbortReason::ALL.iter().filter(|reason| {
        matches!(reason, AbortReason::OperatorAborted | AbortReason::AgentStopped)
    });
    let ends = ended
        .map(|kind| end(&kind.to_string()))
        .chain(aborted.map(|reason| abort(&reason.to_string())));
    for ends in ends {
        let mut driven = Driven::told(&[prompt("m")]);
        driven.run();
        driven.tell(std::slice::from_ref(&ends));
        driven.now = later(86_400_000);
        driven.run();
        assert_eq!(
            (driven.started().len(), driven.state().turns().retries.len()),
            (1, 0),
            "{ends}"
        );
    }
}
