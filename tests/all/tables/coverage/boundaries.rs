//! What the RFC wants covered at the boundaries of the runtime. The provider's answers are facts of
//! the tests.

use serde_json::json;
use wakeful_core::{
    fact::Fact,
    record::{
        decision::DecisionKind,
        effect::Effect,
        queue::envelope::{MessageKind, QueueStatus},
        task::TaskStatus,
    },
};

use crate::tables::driven::{
    Driven, NOW, abort, condition, end, fact, hint, item, message, of_item, of_task, prompt, task,
    task_message, webhook,
};

#[test]
fn queue_dequeued_processed_transitions() {
    use QueueStatus::{Aborted, Dequeued, Dropped, Processed, Queued};
    let way = |facts: &[serde_json::Value]| {
        let mut driven = Driven::told(&[prompt("m")]);
        driven.step();
        driven.tell(facts);
        driven.run();
        driven.way_of("m")
    };
    assert_eq!(way(&[end("completed")]), [Queued, Dequeued, Processed]);
    assert_eq!(way(&[abort("operator_aborted")]), [Queued, Dequeued, Aborted]);
    let mut reduced = Driven::told(&[webhook("m", "")]);
    reduced.run();
    assert_eq!(reduced.way_of("m"), [Queued, Dequeued, Processed], "even without a turn");
    let mut withdrawn =
        Driven::told(&[prompt("m"), json!({"fact": "message_dropped", "message_id": "m"})]);
    withdrawn.run();
    assert_eq!(
        withdrawn.way_of("m"),
        [Queued, Dropped],
        "a host may withdraw what no run has taken"
    );
}

/// contract 5.2: every kind of message reaches a terminal status, but only some kinds start a turn.
#[test]
fn provider_turn_started_only_when_allowed() {
    for kind in MessageKind::ALL {
        let origin = json!({"kind": "system", "subsystem": "host"});
        let origin =
            if *kind == MessageKind::OperatorPrompt { json!({"kind": "operator"}) } else { origin };
        let trust = if *kind == MessageKind::OperatorPrompt {
            "trusted_operator"
        } else {
            "trusted_system"
        };
        for text in ["it says something", ""] {
            let mut driven = Driven::told(&[message(
                "m",
                &kind.to_string(),
                origin.clone(),
                trust,
                text,
                json!({}),
            )]);
            driven.run();
            // contract 6.3, `observed-decisions.md` 6.1: a message that is not a trigger never
            // starts a turn. Without a wait, some triggers must have content, and a result must
            // belong to an ended task.
            let starts = match kind {
                MessageKind::OperatorPrompt
                | MessageKind::TimerTick
                | MessageKind::InternalFollowup => true,
                MessageKind::ChannelEvent
                | MessageKind::WebhookEvent
                | MessageKind::CallbackEvent
                | MessageKind::SystemTick => !text.is_empty(),
                MessageKind::TaskResult
                | MessageKind::TaskStatus
                | MessageKind::Control
                | MessageKind::BriefAck
                | MessageKind::BriefResult => false,
            };
            let asked = driven
                .effects
                .iter()
                .filter(|effect| matches!(effect, Effect::StartTurn(_)))
                .count();
            assert_eq!(
                (driven.started().len(), asked),
                (usize::from(starts), usize::from(starts)),
                "{kind}, `{text}`"
            );
            driven.run_to_rest();
            assert!(
                driven.way_of("m").last().is_some_and(|status| status.is_terminal()),
                "{kind}, `{text}`"
            );
        }
    }
    // One turn at a time: a message that comes while a run is open waits.
    let mut driven = Driven::told(&[prompt("m1"), prompt("m2")]);
    driven.run();
    assert_eq!(driven.started(), ["m1"]);
    driven.tell(&[end("completed")]);
    driven.run();
    assert_eq!(driven.started(), ["m1", "m2"]);
}

#[test]
fn non_model_reentry_task_status_does_not_start_a_turn() {
    for status in TaskStatus::ALL {
        let mut driven = Driven::told(&[
            item("w"),
            of_item("work_item_picked", "w"),
            task("t", Some("w"), true),
        ]);
        driven.run_to_rest();
        driven.tell(&[task_message("m", "task_status", "t", &status.to_string())]);
        let decisions = driven.run_to_rest();
        assert!(!driven.started().contains(&"m".to_owned()), "{status}");
        let reduced = decisions
            .iter()
            .find(|decision| decision.message_id == Some("m".into()))
            .map(|decision| decision.kind);
        assert_eq!(reduced, Some(DecisionKind::ReduceMessageOnly), "{status}");
        assert_eq!(driven.way_of("m").last(), Some(&QueueStatus::Processed), "{status}");
    }
}

#[test]
fn terminal_blocking_task_result_resumes_the_expected_wait() {
    for status in TaskStatus::ALL {
        let mut driven = Driven::told(&[
            item("w"),
            of_item("work_item_picked", "w"),
            task("t", Some("w"), true),
        ]);
        let waits =
            condition("c", "task", Some("w"), json!({"kind": "task_result", "task_id": "t"}));
        driven.tell(&[waits]);
        assert_eq!(
            driven.run().pop().map(|decision| decision.kind),
            Some(DecisionKind::WaitForTask)
        );
        driven.tell(&[task_message("m", "task_result", "t", &status.to_string())]);
        driven.run();
        let ended =
            !matches!(status, TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling);
        assert_eq!(driven.started() == ["m"], ended, "{status}");
        assert_eq!(
            driven.state().waiting().conditions.is_empty(),
            ended,
            "{status}: the wait ends with the admission of its turn"
        );
    }
}

#[test]
fn paused_runtime_persists_task_terminal_state_but_does_not_start_a_provider_turn() {
    for name in Fact::NAMES.iter().filter(|name| {
        ["completed", "failed", "cancelled", "interrupted"]
            .iter()
            .any(|end| **name == format!("task_{end}"))
    }) {
        let mut driven = Driven::told(&[
            item("w"),
            of_item("work_item_picked", "w"),
            fact("stop_requested"),
            task("t", Some("w"), true),
        ]);
        driven.tell(&[of_task(name, "t")]);
        driven.run();
        let status = name.strip_prefix("task_").expect("a fact about a task");
        let recorded =
            driven.state().tasks().ended.get(&"t".into()).map(|(status, _)| status.to_string());
        assert_eq!(recorded.as_deref(), Some(status), "the first terminal is kept");
        assert_eq!((driven.started().len(), driven.tick_keys().len()), (0, 0), "{name}");
        driven.tell(&[fact("start_requested")]);
        driven.run();
        let result = driven
            .state()
            .turns()
            .run
            .as_ref()
            .and_then(|run| driven.state().queue().message(&run.message_id));
        let kind = result.map(|held| held.record.kind);
        assert_eq!(
            kind,
            Some(MessageKind::TaskResult),
            "{name}: and its result starts a turn once the agent may run"
        );
    }
}

#[test]
fn system_tick_generation_does_not_duplicate_across_idle_loops() {
    let wait = condition("c", "system", None, json!({"kind": "system_tick"}));
    let mut driven = Driven::told(&[
        item("v"),
        item("w"),
        of_item("work_item_picked", "w"),
        hint(json!({})),
        wait,
    ]);
    let mut kinds = driven
        .run_to_rest()
        .iter()
        .filter(|decision| decision.kind == DecisionKind::EmitSystemTick)
        .count();
    // From here on only offers of the two items tick (contract 9.4), two for each within this time.
    for minute in [2, 3, 4, 15, 16, 17] {
        driven.now = NOW.plus_ms(minute * 60_000);
        kinds += driven
            .run_to_rest()
            .iter()
            .filter(|decision| decision.kind == DecisionKind::EmitSystemTick)
            .count();
    }
    let mut keys = driven.tick_keys();
    assert_eq!((keys.len(), kinds), (8, 8), "{keys:?}");
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 8, "{keys:?}");
}
