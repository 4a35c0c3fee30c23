//! Stop gating: every fact while the agent is stopped or closing. It is recorded, but no message is
//! taken, no tick queued and no turn started (contract 4.2, 4.3; I1).

use serde_json::{Value, json};
use wakeful_core::{
    fact::{
        Fact,
        outcome::{Answer, Refusal},
    },
    record::{
        Record,
        decision::{Boundary, DecisionKind},
        effect::Effect,
        queue::envelope::{MessageKind, QueueStatus},
        turn::RunStatus,
    },
};

use super::driven::{
    Driven, NOW, condition, hint, intent, item, of_item, of_task, prompt, prompt_with, task, timer,
};

/// An example of the fact with this name that fits [`busy`]. A new fact needs an example here.
fn example(name: &str) -> Value {
    let mut fact = match name {
        "message_queued" => prompt_with("new", json!({"priority": "interject"})),
        "message_dequeued"
        | "message_processed"
        | "message_aborted"
        | "message_dropped"
        | "message_interjected" => {
            json!({"message_id": "m"})
        }
        "turn_started" => json!({"run_id": "$run", "message_id": "m0"}),
        "provider_round_completed" | "tool_round_completed" => {
            json!({"run_id": "$run", "round": 1})
        }
        "assistant_round_recorded" => json!({"run_id": "$run", "data": {}}),
        "turn_terminal" => json!({"run_id": "$run", "kind": "completed"}),
        "turn_aborted" => json!({"run_id": "$run", "reason": "agent_stopped"}),
        "turn_baseline_over_budget" | "content_refused" => json!({"run_id": "$run"}),
        // The clock is right, so the correction is stale in each of the two agents.
        "clock_corrected" => json!({"elapsed_ms": 1}),
        "task_created" => task("new", Some("w"), true),
        "task_running" | "task_cancelling" | "task_completed" | "task_failed"
        | "task_cancelled" | "task_interrupted" => of_task(name, "t"),
        "task_result_queued" | "task_result_delivered" => of_task(name, "ended"),
        "work_item_created" => item("new"),
        "work_item_picked"
        | "work_item_updated"
        | "work_item_unblocked"
        | "work_item_completed" => of_item(name, "w"),
        "work_item_blocked" => json!({"work_item_id": "w", "blocked_by": "b"}),
        "work_item_delegated" => {
            json!({"work_item_id": "w", "delegation_id": "new", "child_agent_id": "child"})
        }
        "work_item_delegation_completed" => json!({"delegation_id": "d"}),
        "waiting_intent_created" => intent("new", "agent", None, "f"),
        "waiting_intent_triggered" | "waiting_intent_cancelled" => {
            json!({"waiting_intent_id": "i"})
        }
        "wait_condition_registered" => {
            condition("new", "operator", None, json!({"kind": "operator_input"}))
        }
        "wait_condition_resolved" | "wait_condition_cancelled" | "wait_condition_expired" => {
            json!({"wait_condition_id": "c"})
        }
        "timer_created" => timer("new", 1),
        "timer_fired" | "timer_completed" | "timer_cancelled" => json!({"timer_id": "k"}),
        "external_trigger_created" => {
            json!({"external_trigger_id": "new", "token_hash": "a".repeat(64), "description": "d",
            "delivery_mode": "wake_hint", "trust": "trusted_integration"})
        }
        "external_trigger_rotated" => {
            json!({"external_trigger_id": "x", "token_hash": "b".repeat(64)})
        }
        "external_trigger_revoked" => json!({"external_trigger_id": "x"}),
        "external_trigger_delivered" => {
            json!({"external_trigger_id": "x", "token_hash": "a".repeat(64), "delivery_id": "d",
            "content": {"type": "text", "text": "t"}})
        }
        "budget_set" => json!({"tokens_per_day": 1_000_000}),
        "budget_granted" => json!({"grant_id": "g", "tokens": 1}),
        "agent_described" => {
            json!({"kind": "named", "visibility": "public", "ownership": "self_owned"})
        }
        "wake_hint_submitted" | "wake_hint_coalesced" | "wake_hint_ignored" => {
            hint(json!({"source": "new"}))
        }
        "start_requested" | "stop_requested" | "shutdown_requested" | "runtime_restarted"
        | "policy_set" => json!({}),
        "transcript_appended" => json!({"data": {}}),
        "tool_execution_recorded" => {
            json!({"run_id": "$run", "tool_execution_id": "x", "tool_name": "T", "status": "success", "input": {},
            "output": {}, "summary": "s"})
        }
        "brief_recorded" => json!({"brief_id": "b", "kind": "result", "text": "t"}),
        "runtime_error" => json!({"error": "e"}),
        "owner_breach_reported" => json!({"reason": "r"}),
        "context_compacted" => json!({"compacted_message_count": 3}),
        "checkpoint_recorded" => json!({"anchor_generation": 99, "data": {}}),
        other => panic!("`{other}` has no example here"),
    };
    fact["fact"] = json!(name);
    fact
}

/// An agent with much to do: a queued message, a runnable item, a pending hint, a timer that
/// becomes due, and several waits. With `run` it also has an open run.
fn busy(run: bool) -> Driven {
    let mut driven = Driven::new();
    if run {
        driven.tell(&[prompt("m0")]);
        driven.step();
    }
    driven.tell(&[
        item("w"),
        task("t", Some("w"), false),
        task("ended", None, false),
        of_task("task_completed", "ended"),
        json!({"fact": "work_item_delegated", "delegation_id": "d", "work_item_id": "w", "child_agent_id": "child"}),
        intent("i", "agent", None, "e"),
        condition("c", "external", None, json!({"kind": "external_ingress"})),
        timer("k", 1_000),
        json!({"fact": "external_trigger_created", "external_trigger_id": "x", "token_hash": "a".repeat(64),
               "description": "d", "delivery_mode": "enqueue_message", "trust": "trusted_integration"}),
        hint(json!({"source": "ci"})),
        prompt("m"),
    ]);
    driven
}

/// Whether a record takes a message, queues a tick or starts a turn.
fn acts(record: &Record) -> bool {
    match record {
        Record::QueueEntry(entry) => {
            matches!(entry.status, QueueStatus::Dequeued | QueueStatus::Interjected)
        }
        // A stop reports the interrupted tasks in its own batch (contract 5.11).
        Record::Message(message) if message.noted("interrupted_tasks").is_some() => false,
        Record::Message(message) => {
            matches!(message.kind, MessageKind::SystemTick | MessageKind::TimerTick)
        }
        Record::Turn(turn) => turn.status == RunStatus::Started,
        _ => false,
    }
}

fn reason(answer: &Answer) -> Option<Refusal> {
    match answer {
        Answer::Accepted => None,
        Answer::Ignored { reason, .. } => Some(*reason),
    }
}

/// Steps at every boundary, twice, a day later.
fn ask_everywhere(driven: &mut Driven) {
    driven.now = NOW.plus_ms(86_400_000);
    for boundary in Boundary::ALL.iter().chain(Boundary::ALL) {
        driven.step_at(*boundary);
    }
}

/// Holds the agent with `control`, reports every fact, and steps. Only the fact `lifts` may let it
/// act again.
fn gated(control: &str, lifts: &str, refuses_hints: bool) {
    for name in Fact::NAMES {
        for run in [false, true] {
            let case = format!("{name} after {control}, run open: {run}");
            let mut held = busy(run);
            held.tell(&[json!({ "fact": control })]);
            let since = held.state().control().stopped.unwrap_or(held.state().head().seq);
            let (records, effects) = (held.records.len(), held.effects.len());
            let answer = held.say(&example(name));
            assert!(
                held.records.len() > records,
                "{case}: the fact must be recorded, or that it was ignored"
            );

            // The answer is the same as without the hold, except for hints while stopped.
            let mut free = busy(run);
            if control == "stop_requested" {
                // contract 4.2: a stop interrupts tasks, so the free agent must have lost them too.
                free.tell(&[of_task("task_interrupted", "t")]);
            }
            let free = free.say(&example(name));
            if refuses_hints && matches!(*name, "wake_hint_submitted" | "wake_hint_coalesced") {
                assert_eq!(
                    answer,
                    Answer::Ignored { reason: Refusal::Stopped, because: since },
                    "{case}"
                );
            } else {
                assert_eq!(reason(&answer), reason(&free), "{case}");
            }

            assert!(
                !held.records[records..].iter().any(acts),
                "{case}: the fact itself starts nothing"
            );
            let said = held.records.len();
            ask_everywhere(&mut held);
            let acted = held.records[said..].iter().any(acts);
            let started = held.effects[effects..]
                .iter()
                .any(|effect| matches!(effect, Effect::StartTurn(_) | Effect::Interject { .. }));
            if *name == lifts {
                // The core does not abort a run that was open before the stop. Without an open run
                // the agent continues.
                assert!(acted || run, "{case}: it must continue");
            } else {
                assert!(!acted && !started, "{case}");
                assert_eq!(held.decided().kind, DecisionKind::Stop, "{case}");
                assert_eq!(
                    held.machine().next_wake(held.now),
                    None,
                    "{case}: nothing wakes it (contract 9.3)"
                );
                assert_eq!(
                    held.way_of("m")
                        .iter()
                        .filter(|status| **status == QueueStatus::Dequeued)
                        .count(),
                    0,
                    "{case}"
                );
            }
        }
    }
}

#[test]
fn pause_stop_gating() {
    gated("stop_requested", "start_requested", true);
}

#[test]
fn closing_gates_like_a_stop_but_takes_hints() {
    gated("shutdown_requested", "runtime_restarted", false);
}

/// contract 4.2: a start makes no message and starts no turn. What waited continues with the next
/// step.
#[test]
fn start_itself_starts_nothing() {
    let mut driven = busy(false);
    driven.tell(&[json!({"fact": "stop_requested"})]);
    ask_everywhere(&mut driven);
    let (before, effects) = (driven.records.len(), driven.effects.len());
    driven.tell(&[json!({"fact": "start_requested"})]);
    assert_eq!((driven.records.len() - before, driven.effects.len() - effects), (1, 0));
    let decisions = driven.run();
    assert!(
        decisions.iter().any(|decision| decision.kind == DecisionKind::StartModelTurn),
        "{decisions:?}"
    );
}

/// contract 4.3: stop and shutdown at once are lifted one by one.
#[test]
fn a_stopped_agent_that_restarts_stays_stopped() {
    let mut driven = busy(false);
    driven.tell(&[json!({"fact": "stop_requested"}), json!({"fact": "shutdown_requested"})]);
    driven.restart();
    assert_eq!(driven.decided().reason, "stopped");
    driven.tell(&[json!({"fact": "shutdown_requested"}), json!({"fact": "start_requested"})]);
    assert_eq!(driven.decided().reason, "shutdown");
    driven.restart();
    assert_ne!(driven.decided().kind, DecisionKind::Stop);
}
