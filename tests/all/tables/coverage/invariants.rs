//! The checklist of invariants at the end of the RFC: a test for each, with its name.

use serde_json::{Value, json};
use wakeful_core::{
    derive::closure::{self, Facts},
    fact::outcome::{Answer, Refusal},
    foreign::Folder,
    machine::{Machine, Options},
    record::{
        Record,
        continuation::WaitingReason,
        control::AgentStatus,
        decision::{Boundary, DecisionKind, IgnoredReason},
        event::EventKind,
        queue::envelope::QueueStatus,
        turn::{AbortReason, TurnTerminalKind},
    },
};

use crate::tables::driven::{
    Driven, NOW, abort, callback, condition, end, fact, hint, intent, item, needs_input, of_item,
    of_task, prompt, task, task_message, timer, webhook,
};

#[test]
fn stopped_runtime_does_not_process_messages() {
    let mut driven = Driven::told(&[prompt("m1"), webhook("m2", ""), fact("stop_requested")]);
    driven.run();
    driven.restart();
    driven.run();
    for id in ["m1", "m2"] {
        assert_eq!(driven.way_of(id), [QueueStatus::Queued], "{id}");
    }
}

/// `paused`, the older word for stopped, is read as stopped (contract 4.1).
#[test]
fn paused_runtime_does_not_start_model_turns() {
    let files = [
        ("agent.json", r#"{"id":"default","status":"paused","turn_index":0}"#),
        ("ledger/messages.jsonl", r#"{"id":"m","kind":"operator_prompt","text":"hello"}"#),
        ("ledger/queue_entries.jsonl", r#"{"message_id":"m","status":"queued"}"#),
    ];
    let mut driven = Driven::imported(&Folder::from(
        files.map(|(name, text)| (name.to_owned(), text.to_owned())),
    ));
    driven.restart();
    assert_eq!(driven.run().pop().map(|decision| decision.kind), Some(DecisionKind::Stop));
    assert_eq!(driven.started(), [""; 0]);
    driven.tell(&[fact("start_requested")]);
    driven.run();
    assert_eq!(driven.started(), ["m"]);
}

#[test]
fn current_run_id_exists_only_while_a_run_is_active() {
    let started = || {
        let mut driven = Driven::told(&[prompt("m")]);
        assert!(driven.state().turns().run.is_none());
        driven.run();
        assert!(driven.state().turns().run.is_some());
        driven
    };
    for kind in TurnTerminalKind::ALL {
        let mut driven = started();
        driven.tell(&[end(&kind.to_string())]);
        assert!(driven.state().turns().run.is_none(), "{kind}");
        // contract 5.8: a fact of a run that is not open is stale.
        assert!(matches!(
            driven.say(
                &json!({"fact": "turn_terminal", "run_id": "default:run-6", "kind": "completed"})
            ),
            Answer::Ignored { reason: Refusal::StaleRun, .. }
        ));
    }
    for reason in AbortReason::ALL {
        let mut driven = started();
        driven.tell(&[abort(&reason.to_string())]);
        assert!(driven.state().turns().run.is_none(), "{reason}");
    }
    let mut driven = started();
    driven.restart();
    assert!(driven.state().turns().run.is_none(), "a restart ends it");
}

#[test]
fn terminal_tasks_are_absent_from_active_task_ids() {
    for name in ["task_completed", "task_failed", "task_cancelled", "task_interrupted"] {
        let mut driven =
            Driven::told(&[task("t", None, true), task("u", None, true), of_task(name, "t")]);
        let active: Vec<_> = driven.state().tasks().active.keys().map(|id| id.as_str()).collect();
        assert_eq!(active, ["u"], "{name}");
        driven.restart();
        assert!(!driven.state().tasks().active.contains_key(&"t".into()), "{name}");
    }
}

#[test]
fn stale_non_terminal_task_updates_do_not_reopen_terminal_tasks() {
    for status in ["queued", "running", "cancelling"] {
        for kind in ["task_status", "task_result"] {
            let mut driven = Driven::told(&[task("t", None, true), of_task("task_completed", "t")]);
            let ended = driven.state().tasks().ended.clone();
            driven.say(&task_message("m", kind, "t", status));
            driven.run_to_rest();
            assert_eq!(
                (driven.state().tasks().active.len(), &driven.state().tasks().ended),
                (0, &ended),
                "{kind} {status}"
            );
        }
    }
}

#[test]
fn blocking_task_closure_is_based_on_latest_non_terminal_blocking_tasks() {
    let mut driven = Driven::told(&[
        item("w"),
        of_item("work_item_picked", "w"),
        task("t", Some("w"), true),
        task("u", Some("w"), true),
    ]);
    let reason =
        |driven: &Driven| closure::decide(&Facts::from_state(driven.state())).waiting_reason;
    let counted = |driven: &Driven| Facts::from_state(driven.state()).blocking_tasks;
    assert_eq!((counted(&driven), reason(&driven)), (2, Some(WaitingReason::AwaitingTaskResult)));
    driven.tell(&[of_task("task_failed", "t")]);
    assert_eq!((counted(&driven), reason(&driven)), (1, Some(WaitingReason::AwaitingTaskResult)));
    driven.tell(&[of_task("task_completed", "u")]);
    assert_eq!((counted(&driven), reason(&driven)), (0, None));
}

#[test]
fn queued_work_items_do_not_become_current_without_an_explicit_pick() {
    let mut driven = Driven::told(&[item("v"), item("w")]);
    driven.run_to_rest();
    assert_eq!(driven.tick_keys().len(), 2, "both were offered");
    assert_eq!(driven.state().work().focus, None);
    driven.tell(&[of_item("work_item_picked", "w")]);
    assert_eq!(driven.state().work().current().map(|item| item.record.id.as_str()), Some("w"));
    driven.tell(&[of_item("work_item_completed", "w")]);
    driven.run_to_rest();
    assert_eq!(
        driven.state().work().focus,
        None,
        "completion passes the focus to no other item (I7)"
    );
}

#[test]
fn needs_input_work_items_wait_for_operator_input() {
    let mut driven = Driven::told(&[item("w"), of_item("work_item_picked", "w"), needs_input("w")]);
    assert_eq!(
        driven.run().pop().map(|decision| decision.kind),
        Some(DecisionKind::WaitForOperator)
    );
    driven.tell(&[webhook("m1", "it happened")]);
    driven.run();
    assert_eq!(
        (driven.started().len(), driven.tick_keys().len()),
        (0, 0),
        "no other message answers for the operator"
    );
    driven.tell(&[prompt("m2")]);
    driven.run();
    assert_eq!(driven.started(), ["m2"]);
}

#[test]
fn duplicate_work_queue_ticks_are_suppressed_with_durable_evidence() {
    let mut driven = Driven::told(&[item("w"), of_item("work_item_picked", "w")]);
    let rest = driven.run_to_rest().pop().expect("a rest");
    let spent_by = driven.state().turns().settled.expect("a settlement");
    let [ignored] = &rest.ignored[..] else { panic!("{:?}", rest.ignored) };
    assert_eq!(
        (ignored.what.as_str(), ignored.reason),
        ("work_queue:continue_active:w:1~1", IgnoredReason::KeySpent)
    );
    assert_eq!(ignored.seqs, [spent_by], "the entry that spent the key");
    let recorded = driven.records.iter().rev().find_map(|record| match record {
        Record::Event(event) if event.kind == EventKind::SchedulerDecision.as_str() => {
            event.data().cloned()
        }
        _ => None,
    });
    let text = recorded.expect("a decision").as_str().to_owned();
    assert!(
        text.contains(r#""what":"work_queue:continue_active:w:1~1","reason":"key_spent""#),
        "{text}"
    );
}

/// contract 5.21, D19: a hint reaches the model if it has content or names an active wait.
/// Otherwise it only makes the runtime look.
#[test]
fn wake_hints_are_liveness_signals_unless_made_contentful_by_trigger_policy() {
    let body = json!({"type": "text", "text": "news"});
    for (names, says, waits, reenters) in [
        (false, false, false, false),
        (false, true, false, true),
        (true, false, false, false),
        (true, true, false, true),
        (true, false, true, true),
        (true, true, true, true),
        (false, false, true, false),
    ] {
        let mut driven = Driven::new();
        if waits {
            driven.tell(&[intent("i", "agent", None, "e")]);
        }
        driven.tell(&[hint(json!({"waiting_intent_id": names.then_some("i"), "body": says.then_some(body.clone())}))]);
        let decisions = driven.run();
        assert_eq!(decisions[0].reason, "wake_hint", "every hint becomes a tick");
        assert_eq!(
            driven.started().len(),
            usize::from(reenters),
            "names {names}, says {says}, waits {waits}"
        );
    }
}

#[test]
fn mismatched_continuation_triggers_do_not_satisfy_unrelated_waiting_reasons() {
    let by = |kind: &str, source: Value| condition("c", kind, None, source);
    for (what, wait, trigger) in [
        (
            "a webhook",
            by("operator", json!({"kind": "operator_input"})),
            webhook("m", "it happened"),
        ),
        ("a webhook", timer("k", 3_600_000), webhook("m", "it happened")),
        (
            "another callback",
            by("external", json!({"kind": "external_ingress", "external_trigger_id": "e"})),
            callback("m", "f", "it happened"),
        ),
        (
            "an empty webhook",
            by("external", json!({"kind": "external_ingress"})),
            webhook("m", " "),
        ),
        (
            "progress",
            by("task", json!({"kind": "task_result", "task_id": "t"})),
            task_message("m", "task_status", "t", "running"),
        ),
    ] {
        let mut driven = Driven::told(&[task("t", None, false), wait]);
        driven.run();
        let waiting = driven.state().waiting().clone();
        driven.tell(&[trigger]);
        let reduced = driven
            .run()
            .into_iter()
            .find(|decision| decision.message_id == Some("m".into()))
            .expect("a decision about it");
        assert_eq!(reduced.kind, DecisionKind::ReduceMessageOnly, "{what}");
        assert_eq!(driven.state().waiting(), &waiting, "{what} satisfies nothing");
        // contract 5.18: it is listed if it met a wait that it did not match.
        let names_it = reduced.ignored.iter().any(|ignored| {
            ignored.what == "m" && ignored.reason == IgnoredReason::MismatchedTrigger
        });
        assert_eq!(names_it, !matches!(what, "an empty webhook" | "progress"), "{what}");
    }
}

#[test]
fn turn_end_work_item_commits_run_only_for_real_turn_terminals() {
    let facts = [item("w"), of_item("work_item_picked", "w")];
    for kind in TurnTerminalKind::ALL {
        let mut driven = Driven::told(&facts);
        driven.run();
        let before = driven.state().work().items[&"w".into()].record.clone();
        driven.tell(&[end(&kind.to_string())]);
        assert_eq!(driven.events(EventKind::WorkItemTurnEndCommitted), 1, "{kind}");
        assert_eq!(
            driven.state().work().items[&"w".into()].record,
            before,
            "D8: the commit never writes the item"
        );
    }
    let mut reduced = Driven::told(&facts);
    reduced.run_to_rest();
    let commits = reduced.events(EventKind::WorkItemTurnEndCommitted);
    reduced.tell(&[webhook("m", "")]);
    reduced.run();
    assert_eq!(
        reduced.events(EventKind::WorkItemTurnEndCommitted),
        commits,
        "a reduction is not the end of a turn"
    );
    let mut interrupted = Driven::told(&facts);
    interrupted.run();
    interrupted.restart();
    assert_eq!(
        interrupted.events(EventKind::WorkItemTurnEndCommitted),
        0,
        "an interruption is not the end of a turn"
    );
    let mut about_nothing = Driven::told(&[prompt("m")]);
    about_nothing.run_to_rest();
    assert_eq!(
        about_nothing.events(EventKind::WorkItemTurnEndCommitted),
        0,
        "a turn about no item commits no item"
    );
}

/// I15: a compaction does not change the decision, in every state on the way of a busy agent.
#[test]
fn compaction_does_not_rewrite_scheduler_truth() {
    for (at, facts) in busy().into_iter().enumerate() {
        let mut driven = Driven::told(&facts);
        driven.run_to_rest();
        let (work, tasks, waiting) = (
            driven.state().work().clone(),
            driven.state().tasks().clone(),
            driven.state().waiting().clone(),
        );
        let before = driven.decided();
        driven.tell(&[json!({"fact": "context_compacted", "compacted_message_count": 40, "context_summary": "so far so good"})]);
        assert_eq!(driven.decided(), before, "state {at}");
        assert_eq!(
            (driven.state().work(), driven.state().tasks(), driven.state().waiting()),
            (&work, &tasks, &waiting),
            "state {at}"
        );
    }
}

/// The facts of a busy agent: all prefixes of one list, each one fact longer.
fn busy() -> Vec<Vec<Value>> {
    let all = [
        item("w"),
        of_item("work_item_picked", "w"),
        item("v"),
        task("t", Some("w"), true),
        intent("i", "agent", None, "e"),
        timer("k", 3_600_000),
        condition("c", "operator", Some("v"), json!({"kind": "operator_input"})),
        of_task("task_completed", "t"),
        hint(json!({"source": "ci"})),
        prompt("m"),
        needs_input("w"),
        fact("stop_requested"),
    ];
    (0..=all.len()).map(|length| all[..length].to_vec()).collect()
}

/// I16: the entries alone give the state of the machine and the same explanations.
#[test]
fn ledger_replay_can_explain_the_final_scheduler_projection() {
    for facts in busy() {
        let mut driven = Driven::told(&facts);
        driven.run_to_rest();
        let mut replayed = Machine::new(Options::new("default".into()));
        for entry in &driven.entries {
            replayed.load(entry).expect("the ledger verifies");
        }
        assert_eq!(replayed.state(), driven.state());
        for boundary in Boundary::ALL {
            assert_eq!(
                replayed.explain(*boundary, NOW),
                driven.machine().explain(*boundary, NOW),
                "{boundary}"
            );
        }
        let explained = replayed.explain(Boundary::RunLoopIdle, NOW);
        let last = driven.state().head().seq;
        let named = explained.decision.because.iter().flat_map(|because| &because.seqs);
        assert!(
            named.clone().all(|seq| *seq >= wakeful_core::id::Seq(1) && *seq <= last),
            "I22: the ledger has all evidence"
        );
        assert_ne!(explained.status, AgentStatus::Booting);
    }
}
