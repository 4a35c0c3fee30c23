//! The six scenarios that the RFC requires; each combines several mechanisms.

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::{Answer, Refusal},
    record::{
        Record,
        decision::{Boundary, DecisionKind},
        effect::Effect,
        event::EventKind,
        queue::envelope::QueueStatus,
        turn::TurnTerminalKind,
    },
};

use crate::tables::driven::{
    Driven, end, hint, intent, item, of_item, prompt, prompt_with, task, task_message,
};

/// A compaction: the history that the model sees becomes shorter.
fn compaction() -> Value {
    json!({"fact": "context_compacted", "compacted_message_count": 40, "context_summary": "so far so good"})
}

fn focus(driven: &Driven) -> Option<&str> {
    driven.state().work().focus.as_ref().map(|focus| focus.work_item_id.as_str())
}

#[test]
fn task_result_rejoin_after_cross_turn_compaction_preserves_current_work_truth() {
    let mut driven =
        Driven::told(&[item("w"), of_item("work_item_picked", "w"), task("t", Some("w"), true)]);
    driven.run();
    let before = driven.state().work().clone();
    driven.tell(&[compaction()]);
    assert_eq!(
        (driven.state().work(), driven.decided().kind),
        (&before, DecisionKind::WaitForTask)
    );
    driven.tell(&[task_message("r", "task_result", "t", "completed")]);
    driven.run();
    assert_eq!((driven.started(), focus(&driven)), (vec!["r".to_owned()], Some("w")));
    let about = driven.state().turns().item_of_run().map(|id| id.as_str());
    assert_eq!(about, Some("w"), "the turn of the result is about the item that waited");
    assert_eq!(
        driven.state().work().items[&"w".into()].record,
        before.items[&"w".into()].record,
        "no snapshot was written"
    );
}

#[test]
fn queued_work_item_notification_after_compaction_does_not_focus_the_queued_item() {
    let mut driven = Driven::told(&[item("v"), item("w"), of_item("work_item_picked", "w")]);
    driven.run_to_rest();
    driven.tell(&[
        json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": "a review"}),
        item("x"),
        compaction(),
    ]);
    driven.run();
    assert_eq!(
        driven.tick_keys().last().map(String::as_str),
        Some("work_queue:queued_available:x:1")
    );
    assert_eq!(focus(&driven), Some("w"), "a tick never changes focus (contract 8.4)");
    let bound = driven.state().turns().item_of_run().map(|id| id.as_str());
    assert_eq!(
        bound,
        Some("x"),
        "the turn is about the offered item, which need not have the focus (contract 5.4)"
    );
    driven.run_to_rest();
    assert_eq!(focus(&driven), Some("w"));
}

#[test]
fn wake_hint_after_compaction_preserves_provenance() {
    let mut driven = Driven::told(&[intent("i", "agent", None, "e"), compaction()]);
    driven.tell(&[hint(json!({"source": "forge", "resource": "change/7", "waiting_intent_id": "i", "external_trigger_id": "e",
        "correlation_id": "thread-1", "causation_id": "delivery-9"}))]);
    driven.tell(&[compaction()]);
    driven.run();
    let tick = driven.records.iter().find_map(|record| match record {
        Record::Message(message) => message.noted("wake_hint").map(|note| (message, note)),
        _ => None,
    });
    let (message, note) = tick.expect("a tick");
    for (key, value) in [
        ("source", "forge"),
        ("resource", "change/7"),
        ("waiting_intent_id", "i"),
        ("external_trigger_id", "e"),
    ] {
        assert_eq!(
            note.field(key).and_then(|raw| raw.read::<String>().ok()).as_deref(),
            Some(value),
            "{key}"
        );
    }
    assert_eq!(
        (message.correlation_id.as_deref(), message.causation_id.as_deref()),
        (Some("thread-1"), Some("delivery-9"))
    );
    assert_eq!(
        driven.state().waiting().intents[&"i".into()].record.trigger_count,
        1,
        "and it reaches the wait that it names"
    );
}

#[test]
fn turn_local_checkpoint_followed_by_work_item_update_invalidates_the_checkpoint_anchor() {
    let mut driven = Driven::told(&[item("w"), prompt("m")]);
    driven.run();
    let anchor = driven.state().context().anchor;
    let checkpoint = |anchor: u64| json!({"fact": "checkpoint_recorded", "anchor_generation": anchor, "data": {"text": "the draft stands"}});
    driven.tell(&[checkpoint(anchor)]);
    assert_eq!(driven.state().context().valid_checkpoint(), Some(driven.state().head().seq));
    driven.tell(&[json!({"fact": "work_item_updated", "work_item_id": "w", "objective": "Ship it, but smaller"})]);
    let updated = driven.state().head().seq;
    assert!(
        driven.state().context().anchor > anchor,
        "contract 5.22: a work-item mutation advances the anchor"
    );
    assert_eq!(
        driven.state().context().valid_checkpoint(),
        None,
        "the checkpoint describes the work as it was"
    );
    assert_eq!(
        driven.say(&checkpoint(anchor)),
        Answer::Ignored { reason: Refusal::Stale, because: updated }
    );
    let anchor = driven.state().context().anchor;
    driven.tell(&[checkpoint(anchor)]);
    assert_eq!(driven.state().context().valid_checkpoint(), Some(driven.state().head().seq));
}

#[test]
fn completing_one_work_item_is_not_blocked_by_an_unrelated_task_once_task_association_exists() {
    let mut driven = Driven::told(&[
        item("v"),
        item("w"),
        of_item("work_item_picked", "w"),
        task("t", Some("v"), true),
    ]);
    assert_eq!(
        driven.step().map(|decision| decision.reason).as_deref(),
        Some("continue_active"),
        "the task of v does not hold w up"
    );
    driven.run();
    driven.tell(&[of_item("work_item_completed", "w"), end("completed")]);
    assert!(driven.state().work().ended.contains_key(&"w".into()));
    assert_eq!(focus(&driven), None);
    assert!(driven.state().tasks().active.contains_key(&"t".into()), "the task continues");
    driven.run_to_rest();
    let offered: Vec<_> =
        driven.tick_keys().into_iter().filter(|key| key.contains(":v:")).collect();
    assert_eq!(offered, [""; 0], "and v waits for it");
}

#[test]
fn operator_interjection_prompt_during_a_long_provider_tool_turn_preserves_side_effect_evidence_and_queue_status()
 {
    let mut driven = Driven::told(&[prompt("m")]);
    driven.run();
    let round = |name: &str| json!({"fact": name, "run_id": "$run", "round": 1});
    let tool = json!({"fact": "tool_execution_recorded", "run_id": "$run", "tool_execution_id": "x", "tool_name": "ExecCommand",
        "status": "success", "input": {"command": "make"}, "output": {"exit": 0}, "summary": "built"});
    driven.tell(&[round("provider_round_completed"), tool, round("tool_round_completed")]);
    let run = driven.state().turns().run.clone().expect("a run");
    driven.tell(&[prompt_with("i", json!({"priority": "interject"}))]);
    assert_eq!(
        driven.step_at(Boundary::RunLoop).map(|decision| decision.kind),
        Some(DecisionKind::Noop),
        "not between two safe points"
    );
    let decision = driven.step_at(Boundary::AfterToolResults).expect("a decision");
    assert_eq!(
        (decision.kind, decision.reason.as_str()),
        (DecisionKind::ReduceMessageOnly, "operator_interjection")
    );
    assert_eq!(driven.way_of("i"), [QueueStatus::Queued, QueueStatus::Interjected]);
    let told = Effect::Interject { run_id: run.run_id.clone(), message_id: "i".into() };
    assert_eq!(driven.effects.last(), Some(&told));
    assert_eq!(
        driven.state().turns().run.as_ref().map(|open| &open.run_id),
        Some(&run.run_id),
        "the turn continues"
    );
    assert_eq!(driven.state().context().tool_executions, 1, "the recorded tool call stays");
    driven.tell(&[end("completed")]);
    driven.restart();
    driven.run();
    assert_eq!(
        (driven.started(), driven.way_of("m").last()),
        (vec!["m".to_owned()], Some(&QueueStatus::Processed)),
        "nothing replays"
    );
    assert_eq!(driven.state().turns().terminal_of_newest(), Some(TurnTerminalKind::Completed));
    assert_eq!(driven.events(EventKind::ToolRoundCompleted), 1);
}
