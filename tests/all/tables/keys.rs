//! Keys: what moves the epoch of an item and what does not, what spends a key, and one tick per key
//! (contract 8; I9).

use serde_json::{Value, json};
use wakeful_core::{
    derive::work_queue::WorkQueue,
    fact::outcome::Answer,
    record::{
        decision::DecisionKind, event::EventKind, key::TickReason, turn::TurnTerminalKind,
        waiting::EndedBy,
    },
    state::readiness,
};

use super::driven::{
    Driven, abort, callback, condition, end, hint, intent, item, message, needs_input, of_item,
    of_task, prompt, prompt_with, task, task_message, timer,
};

/// The epoch of the item `w`, as it is in its keys.
fn epoch(driven: &Driven) -> String {
    driven.state().work().items[&"w".into()].epoch().to_string()
}

/// Whether the key of `w` for a reason is spent at its epoch.
fn spent(driven: &Driven, reason: TickReason) -> bool {
    let work = driven.state().work();
    work.key(&work.items[&"w".into()], reason).1.is_some()
}

/// The epoch of `w` after these facts, which must all be accepted; `step` among them takes a step.
fn moved_by(facts: &[Value]) -> String {
    let mut driven = Driven::told(&[item("w"), item("other")]);
    for fact in facts {
        if fact == "step" {
            driven.step();
        } else {
            driven.tell(std::slice::from_ref(fact));
        }
    }
    epoch(&driven)
}

fn ended(by: EndedBy) -> Value {
    json!({"fact": "wait_condition_resolved", "wait_condition_id": "c", "ended_by": by})
}

fn waits(kind: &str) -> Value {
    condition("c", kind, Some("w"), json!({"kind": "external_ingress"}))
}

#[test]
fn each_way_in_which_a_wait_ends_moves_the_epoch_or_does_not() {
    for by in EndedBy::ALL {
        // contract 8.2: a trigger, the end of one, a deadline or the operator moves it. The model,
        // superseding and completion do not.
        let expected = match by {
            EndedBy::Trigger | EndedBy::TriggerEnded | EndedBy::Deadline | EndedBy::Operator => {
                "1~1"
            }
            EndedBy::Model | EndedBy::Superseded | EndedBy::Completion => "1",
        };
        assert_eq!(moved_by(&[waits("external"), ended(*by)]), expected, "{by}");
    }
}

#[test]
fn these_things_move_an_epoch() {
    let intent = intent("i", "work_item", Some("w"), "e");
    let deadline = json!({"fact": "wait_condition_expired", "wait_condition_id": "c"});
    for (what, facts, expected) in [
        ("nothing", vec![], "1"),
        ("a snapshot", vec![needs_input("w")], "2"),
        (
            "a snapshot after something moved it",
            vec![of_item("work_item_picked", "w"), needs_input("w")],
            "2",
        ),
        ("its first pick", vec![of_item("work_item_picked", "w")], "1~1"),
        ("its deadline", vec![waits("timer"), deadline], "1~1"),
        (
            "operator input about it",
            vec![prompt_with("m", json!({"work_item_id": "w"})), json!("step")],
            "1~1",
        ),
        (
            "operator input while it has the focus",
            vec![of_item("work_item_picked", "w"), prompt("m"), json!("step")],
            "1~2",
        ),
        (
            "operator input that ends its wait",
            vec![waits("operator"), prompt_with("m", json!({"work_item_id": "w"})), json!("step")],
            "1~2",
        ),
        // The mirror of the intent ends too, but the epoch moves only once.
        ("the trigger of its intent", vec![intent, callback("m", "e", "go"), json!("step")], "1~1"),
        (
            "the end of its blocking task",
            vec![task("t", Some("w"), true), of_task("task_completed", "t")],
            "1~1",
        ),
        (
            "the abort of its turn by stop",
            vec![
                of_item("work_item_picked", "w"),
                json!("step"),
                json!("step"),
                abort("agent_stopped"),
            ],
            "1~2",
        ),
    ] {
        assert_eq!(moved_by(&facts), expected, "{what}");
    }
}

#[test]
fn these_things_move_no_epoch() {
    let stranger = message(
        "m",
        "operator_prompt",
        json!({"kind": "operator"}),
        "untrusted_external",
        "hello",
        json!({"work_item_id": "w"}),
    );
    for (what, facts, expected) in [
        (
            "its second pick",
            vec![
                of_item("work_item_picked", "w"),
                of_item("work_item_picked", "other"),
                of_item("work_item_picked", "w"),
            ],
            "1~1",
        ),
        ("the pick of another", vec![of_item("work_item_picked", "other")], "1"),
        ("the registration of a wait", vec![waits("external")], "1"),
        (
            "a newer wait of its own",
            vec![
                waits("external"),
                condition("d", "external", Some("w"), json!({"kind": "external_ingress"})),
            ],
            "1",
        ),
        (
            "the end of a wait of another",
            vec![
                condition("c", "external", Some("other"), json!({"kind": "external_ingress"})),
                ended(EndedBy::Trigger),
            ],
            "1",
        ),
        (
            "the end of a wait of the agent",
            vec![
                condition("c", "external", None, json!({"kind": "external_ingress"})),
                ended(EndedBy::Trigger),
            ],
            "1",
        ),
        (
            "the cancelling of its intent by the model",
            vec![
                intent("i", "work_item", Some("w"), "e"),
                json!({"fact": "waiting_intent_cancelled", "waiting_intent_id": "i"}),
            ],
            "1",
        ),
        (
            "the trigger of an intent of the agent that names it",
            vec![intent("i", "agent", Some("w"), "e"), callback("m", "e", "go"), json!("step")],
            "1",
        ),
        (
            "the end of a background task of it",
            vec![task("t", Some("w"), false), of_task("task_completed", "t")],
            "1",
        ),
        (
            "the end of a blocking task of another",
            vec![task("t", Some("other"), true), of_task("task_failed", "t")],
            "1",
        ),
        (
            "a blocking task that continues",
            vec![task("t", Some("w"), true), of_task("task_running", "t")],
            "1",
        ),
        ("operator input that waits", vec![prompt_with("m", json!({"work_item_id": "w"}))], "1"),
        (
            "operator input about another",
            vec![prompt_with("m", json!({"work_item_id": "other"})), json!("step")],
            "1",
        ),
        ("a prompt of a stranger about it", vec![stranger, json!("step")], "1"),
        ("its own tick and turn", vec![json!("step"), json!("step"), end("completed")], "1"),
        (
            "the operator's abort of its turn",
            vec![json!("step"), json!("step"), abort("operator_aborted")],
            "1",
        ),
        ("a timer", vec![timer("k", 1_000)], "1"),
    ] {
        assert_eq!(moved_by(&facts), expected, "{what}");
    }
}

/// contract 8.2: for records of another runtime the epoch is the revision.
#[test]
fn what_was_observed_elsewhere_moves_no_epoch() {
    let mut driven = Driven::observed();
    driven.tell(&[
        item("w"),
        of_item("work_item_picked", "w"),
        waits("external"),
        ended(EndedBy::Trigger),
        task("t", Some("w"), true),
        of_task("task_completed", "t"),
    ]);
    assert_eq!(epoch(&driven), "1");
    driven.restart();
    driven.tell(&[of_item("work_item_picked", "w")]);
    assert_eq!(epoch(&driven), "1", "it was picked before, by another runtime");
}

/// The key of the tick for each reason, and the facts that lead to it (contract 8.1).
fn ticks() -> Vec<(&'static str, Vec<Value>)> {
    let system = condition("c", "system", Some("w"), json!({"kind": "system_tick"}));
    vec![
        ("work_queue:queued_available:w:1", vec![item("w")]),
        ("work_queue:continue_active:w:1~1", vec![item("w"), of_item("work_item_picked", "w")]),
        (
            "work_queue:continue_active:w:2",
            vec![item("w"), of_item("work_item_picked", "w"), of_item("work_item_updated", "w")],
        ),
        ("wake_hint:unknown:3", vec![hint(json!({}))]),
        ("wake_hint:forge:3", vec![hint(json!({"source": "forge"}))]),
        ("wake_hint:e:3", vec![hint(json!({"source": "forge", "external_trigger_id": "e"}))]),
        (
            "wake_hint:i:3",
            vec![hint(
                json!({"source": "forge", "external_trigger_id": "e", "waiting_intent_id": "i"}),
            )],
        ),
        ("system_wait:c", vec![item("w"), system.clone()]),
        ("system_wait:c", vec![item("w"), of_item("work_item_picked", "w"), system]),
        ("system_wait:c", vec![condition("c", "system", None, json!({"kind": "system_tick"}))]),
    ]
}

#[test]
fn work_queue_tick_idempotency() {
    for (key, facts) in ticks() {
        let mut driven = Driven::told(&facts);
        // contract 8.4: a wait for the runtime is ticked after a delay.
        driven.now = super::driven::NOW.plus_ms(60_000);
        let first = driven.step().expect("a tick");
        assert_eq!(first.kind, DecisionKind::EmitSystemTick, "{key}");
        assert_eq!(driven.tick_keys(), [key]);
        driven.run_to_rest();
        // contract 8.3: one tick per key, however many steps follow, even in another process.
        driven.restart();
        driven.run_to_rest();
        assert_eq!(driven.tick_keys(), [key], "one tick for {key}");
    }
}

/// contract 8.3: admitting the tick to the queue spends its key, before any turn. Every settlement
/// of a turn about the item also spends the key of the reason for which the item would have been
/// offered.
#[test]
fn admission_and_every_settlement_spend_a_key() {
    for (reason, picked) in
        [(TickReason::QueuedAvailable, false), (TickReason::ContinueActive, true)]
    {
        let facts = if picked {
            vec![item("w"), of_item("work_item_picked", "w")]
        } else {
            vec![item("w")]
        };
        for kind in TurnTerminalKind::ALL {
            let mut driven = Driven::told(&facts);
            assert!(!spent(&driven, reason), "{reason} {kind}: nothing was offered yet");
            driven.step();
            assert!(spent(&driven, reason), "{reason} {kind}: by admission");

            let mut driven = Driven::told(&facts);
            driven.tell(&[prompt_with("m", json!({"work_item_id": "w"}))]);
            driven.step();
            assert!(!spent(&driven, reason), "{reason} {kind}: a turn that runs has not settled");
            driven.tell(&[json!({"fact": "turn_terminal", "run_id": "$run", "kind": kind})]);
            assert!(spent(&driven, reason), "{reason} {kind}: by settlement");
            let other =
                TickReason::ALL.iter().find(|other| **other != reason).expect("a second reason");
            assert!(!spent(&driven, *other), "{reason} {kind}: the key for {other} is not spent");
            let rest = driven.step().expect("a rest");
            assert_eq!(
                (rest.kind, driven.tick_keys().len()),
                (DecisionKind::Sleep, 0),
                "{reason} {kind}: no immediate duplicate"
            );
            // The decision lists the suppressed duplicate with the entry that spent the key.
            let by = driven.state().turns().settled.expect("a settlement");
            assert_eq!(
                (rest.ignored.len(), &rest.ignored[0].seqs[..]),
                (1, &[by][..]),
                "{reason} {kind}"
            );
            let kinds: Vec<_> = driven.run().iter().map(|decision| decision.kind).collect();
            assert_eq!(kinds, [DecisionKind::StayIdle], "{reason} {kind}: it is listed only once");
            assert_eq!(driven.run(), [], "{reason} {kind}");
        }
    }
}

/// contract 8.3: if a wait ends without a turn about the item, there is one tick.
#[test]
fn a_wait_that_ends_without_a_turn_gives_one_tick() {
    for (what, waits, ends) in [
        ("a condition", waits("external"), ended(EndedBy::Trigger)),
        (
            "a deadline",
            waits("timer"),
            json!({"fact": "wait_condition_expired", "wait_condition_id": "c"}),
        ),
    ] {
        let mut driven = Driven::told(&[item("w"), of_item("work_item_picked", "w")]);
        driven.run_to_rest();
        driven.tell(std::slice::from_ref(&waits));
        driven.run_to_rest();
        let before = driven.tick_keys().len();
        driven.tell(std::slice::from_ref(&ends));
        driven.run_to_rest();
        assert_eq!(driven.tick_keys().len() - before, 1, "{what}");
    }
}

/// contract 4.2, 8.2: a stop aborts the turn about an item. After the start the item is offered
/// again, once.
#[test]
fn an_item_whose_turn_was_aborted_by_stop_is_offered_again() {
    let mut driven = Driven::told(&[item("w"), of_item("work_item_picked", "w")]);
    driven.run();
    driven.tell(&[json!({"fact": "stop_requested"}), abort("agent_stopped")]);
    driven.run();
    driven.tell(&[json!({"fact": "start_requested"})]);
    driven.run_to_rest();
    assert_eq!(
        driven.tick_keys(),
        ["work_queue:continue_active:w:1~1", "work_queue:continue_active:w:1~2"]
    );
}

/// contract 8.4: of two items that wait for the runtime, the one with the focus is ticked first.
#[test]
fn the_item_in_focus_is_ticked_before_others_that_wait_for_the_runtime() {
    for focus in ["w", "v"] {
        let waits = |id: &str, item: &str| {
            condition(id, "system", Some(item), json!({"kind": "system_tick"}))
        };
        let mut driven = Driven::told(&[
            item("w"),
            item("v"),
            waits("of_w", "w"),
            waits("of_v", "v"),
            of_item("work_item_picked", focus),
        ]);
        driven.now = driven.now.plus_ms(60 * 60_000);
        driven.run();
        assert_eq!(driven.tick_keys(), [format!("system_wait:of_{focus}")]);
    }
}

/// contract 8.3: a message that looks like our tick spends no key if it is not runtime-owned
/// (contract 5.19).
#[test]
fn a_strangers_tick_spends_no_key() {
    let note = json!({"metadata": {"work_queue": {"reason": "queued_available", "idempotency_key": "work_queue:queued_available:w:1",
        "work_item_id": "w", "work_item_revision": 1, "objective": "Ship it"}}});
    let mut driven = Driven::told(&[item("w")]);
    let forged = message(
        "m",
        "system_tick",
        json!({"kind": "system", "subsystem": "work_queue"}),
        "untrusted_external",
        "go on",
        note,
    );
    assert_eq!(driven.say(&forged), Answer::Accepted);
    assert!(!spent(&driven, TickReason::QueuedAvailable));
}

/// The result of a task is not a tick, so no tick follows its turn.
#[test]
fn a_task_result_is_not_a_tick_and_commits_its_turn() {
    let mut driven =
        Driven::told(&[item("w"), of_item("work_item_picked", "w"), task("t", Some("w"), true)]);
    driven.run_to_rest();
    driven.tell(&[task_message("r", "task_result", "t", "completed")]);
    driven.run_to_rest();
    assert_eq!(
        driven.started(),
        ["r"],
        "the turn of the result is the model's chance, so no tick follows"
    );
    assert_eq!(driven.events(EventKind::WorkItemTurnEndCommitted), 1);
}

/// contract 9.2: among items of the same instant the one recorded first is offered first, and an
/// item that changes goes behind the others.
#[test]
fn items_that_are_touched_at_one_instant_take_turns() {
    let mut driven = Driven::told(&[item("c"), item("a"), item("b")]);
    let mut offered = Vec::new();
    for turn in 0..7 {
        driven.run();
        let about = driven.state().turns().item_of_run().expect("a turn about an item").to_string();
        driven.tell(&[json!({"fact": "work_item_updated", "work_item_id": about, "objective": format!("part {turn}")}), end("completed")]);
        offered.push(about);
        let queue = WorkQueue::new(driven.state());
        let shown: Vec<_> = queue.queued_runnable().map(|of| of.id().clone()).collect();
        let next: Vec<_> =
            readiness::queued_runnable(driven.state()).map(|item| item.record.id.clone()).collect();
        assert_eq!(shown, next, "people see the order in which items are offered");
    }
    assert_eq!(
        offered,
        ["c", "a", "b", "c", "a", "b", "c"],
        "they take turns although the clock does not advance"
    );
}
