//! What people see beside the decision: obligations with their instants, and the posture with its
//! subject (contract 6.4, 9.1).

use serde_json::{Value, json};
use wakeful_core::{
    derive::{
        obligation::ObligationKind,
        posture::{self, AgentPosture, Posture},
        summary::AgentListEntry,
    },
    explain::diagnose,
    fact::outcome::{Answer, Refusal},
    foreign::Folder,
    json::read,
    ladder::owed,
    record::{
        Record,
        control::AgentStatus,
        decision::{Boundary, DecisionKind},
        diagnostic::{DiagnosticKind, clock_behind_at},
        edition::Edition,
        event::EventRecord,
        queue::envelope::QueueStatus,
    },
};

use super::driven::{
    Driven, NOW, abort, condition, end, fact, hint, intent, item, needs_input, of_item, of_task,
    prompt, prompt_with, task, timer,
};

/// contract 9.1: an obligation has the entry that made it, and the instant at which it becomes
/// enabled, if there is one.
#[test]
fn what_is_owed_says_since_when_and_from_when() {
    let mut driven = Driven::told(&[timer("k", 1_500)]);
    let made = |driven: &Driven| driven.state().head().seq;
    let timer_seq = made(&driven);
    driven.tell(&[item("w")]);
    let item_seq = made(&driven);
    driven.tell(&[hint(json!({}))]);
    let hint_seq = made(&driven);
    driven.tell(&[prompt("m")]);
    let owed: Vec<_> = owed::all(driven.state())
        .into_iter()
        .map(|owed| (owed.kind, owed.id, owed.enabled_at))
        .collect();
    let hint_key = format!("wake_hint:unknown:{hint_seq}");
    assert_eq!(
        owed,
        [
            (ObligationKind::Message, "m".to_owned(), None),
            (ObligationKind::WakeHint, hint_key, None),
            (ObligationKind::RunnableItem, "work_queue:queued_available:w:1".to_owned(), None),
            (ObligationKind::Timer, "k".to_owned(), Some(NOW.plus_ms(1_500))),
        ]
    );
    let seqs: Vec<_> = owed::all(driven.state()).into_iter().skip(1).map(|owed| owed.seq).collect();
    assert_eq!(seqs, [hint_seq, item_seq, timer_seq]);
    assert_eq!(driven.machine().next_wake(NOW), Some(NOW.plus_ms(1_500)));
}

/// The subject of a posture.
struct About {
    item: Option<&'static str>,
    intent: Option<&'static str>,
    task: Option<&'static str>,
    run: bool,
}

const NOTHING: About = About { item: None, intent: None, task: None, run: false };

#[test]
fn each_posture_names_its_subject() {
    let blocked =
        json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": "a review"});
    let waits = || intent("i", "work_item", Some("w"), "e");
    let about_item = || About { item: Some("w"), ..NOTHING };
    let mut seen = Vec::new();
    for (posture, facts, step, about) in [
        (Posture::Archived, vec![fact("stop_requested")], false, NOTHING),
        (
            Posture::ActiveTurn,
            vec![item("w"), of_item("work_item_picked", "w"), prompt("m")],
            true,
            About { run: true, ..about_item() },
        ),
        (Posture::HasQueuedInput, vec![item("w"), prompt("m")], false, NOTHING),
        (Posture::HasRunnableWork, vec![item("w")], false, about_item()),
        // A task is waited for first, so the posture does not name the intent.
        (
            Posture::WaitingForTask,
            vec![item("w"), waits(), task("t", Some("w"), true)],
            false,
            About { task: Some("t"), ..about_item() },
        ),
        (
            Posture::WaitingForExternal,
            vec![item("w"), waits()],
            false,
            About { intent: Some("i"), ..about_item() },
        ),
        (
            Posture::WaitingForOperator,
            vec![item("w"), waits(), needs_input("w")],
            false,
            about_item(),
        ),
        (Posture::Blocked, vec![item("w"), blocked], false, about_item()),
        (Posture::Idle, vec![], false, NOTHING),
    ] {
        let mut driven = Driven::told(&facts);
        if step {
            driven.step();
        }
        let found = posture::posture(driven.state());
        let run_id =
            driven.state().turns().run.as_ref().map(|run| run.run_id.clone()).filter(|_| about.run);
        assert_eq!(run_id.is_some(), about.run);
        let expected = AgentPosture {
            posture,
            reason: found.reason.clone(),
            work_item_id: about.item.map(Into::into),
            waiting_intent_id: about.intent.map(Into::into),
            task_id: about.task.map(Into::into),
            run_id,
        };
        assert_eq!(found, expected);
        seen.push(posture);
    }
    assert_eq!(seen, Posture::ALL, "a posture without a case");
}

/// contract 11.3: a diagnostic names the item, intent or condition that looks wrong.
#[test]
fn each_diagnostic_names_its_subject() {
    let files = [
        ("agent.json", r#"{"id":"default","status":"asleep","turn_index":0}"#),
        (
            "ledger/work_items.jsonl",
            r#"{"id":"w","objective":"o","state":"open","revision":1}
               {"id":"b","objective":"o","state":"open","revision":1,"blocked_by":"a review"}"#,
        ),
        ("ledger/tasks.jsonl", r#"{"id":"t","status":"interrupted","wait_policy":"background"}"#),
        (
            "ledger/wait_conditions.jsonl",
            r#"{"id":"empty","agent_id":"default","work_item_id":"w","status":"active","kind":"task","waiting_for":"x","wake_sources":[],"created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}
               {"id":"late","agent_id":"default","work_item_id":"w","status":"active","kind":"task","waiting_for":"x","wake_sources":[{"kind":"task_result","task_id":"t"}],"created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}
               {"id":"weak","agent_id":"default","work_item_id":"w","status":"active","kind":"external","waiting_for":"x","wake_sources":[],"created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}"#,
        ),
        (
            "ledger/waiting_intents.jsonl",
            r#"{"id":"i","agent_id":"default","scope":"work_item","work_item_id":"w","description":"d","source":"s","delivery_mode":"wake_hint","status":"active","external_trigger_id":" ","created_at":"2026-05-27T09:00:00Z","trigger_count":0}"#,
        ),
    ];
    let lines = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let driven =
        Driven::imported(&Folder::from(files.map(|(name, text)| (name.to_owned(), lines(text)))));
    let found: Vec<_> = diagnose::all(driven.state())
        .into_iter()
        .map(|found| {
            let ids = [
                found.work_item_id.map(|id| id.to_string()),
                found.waiting_intent_id.map(|id| id.to_string()),
                found.wait_condition_id.map(|id| id.to_string()),
            ];
            (found.kind, ids.map(Option::unwrap_or_default))
        })
        .collect();
    let about =
        |item: &str, intent: &str, condition: &str| [item, intent, condition].map(str::to_owned);
    assert_eq!(
        found,
        [
            (DiagnosticKind::ExternalWaitHasWeakRecoverability, about("w", "", "weak")),
            (DiagnosticKind::BlockedWorkItemWithoutRecheckOrWait, about("b", "", "")),
            (DiagnosticKind::WaitingIntentWithoutExternalTrigger, about("w", "i", "")),
            (DiagnosticKind::WaitWithoutWaker, about("w", "", "empty")),
            (DiagnosticKind::WaitWithoutWaker, about("w", "", "late")),
        ]
    );
    // A driver that takes over records the waits that nothing can end, once each.
    let mut driven = driven;
    let recorded = |driven: &mut Driven| {
        let before = driven.records.len();
        driven.restart();
        let events = driven.records[before..].iter().filter_map(|record| match record {
            Record::Event(event) => event.particular::<String>("wait_condition_id"),
            _ => None,
        });
        events.collect::<Vec<_>>()
    };
    assert_eq!(recorded(&mut driven), ["empty", "late"]);
    assert_eq!(recorded(&mut driven), [""; 0]);
    // The end of a wait ends what was noted of it, so that the state does not grow (I24).
    driven.tell(&[json!({"fact": "wait_condition_cancelled", "wait_condition_id": "empty"})]);
    let reported: Vec<_> =
        driven.state().waiting().reported.keys().map(ToString::to_string).collect();
    assert_eq!(reported, ["late"]);
}

/// contract 9.4, 11.3: an item that was offered looks stuck only if the edition does not offer it
/// again.
#[test]
fn an_item_at_rest_looks_wrong_if_it_is_not_offered_again() {
    for (edition, expected) in [
        (Edition::Pages20260527, vec![]),
        (Edition::Rfc20260508, vec![(DiagnosticKind::RunnableWorkAtRest, Some("w".into()))]),
    ] {
        let mut driven =
            Driven::told(&[json!({"fact": "policy_set", "edition": edition}), item("w")]);
        driven.run();
        driven.tell(&[end("completed")]);
        driven.run();
        let found: Vec<_> = diagnose::all(driven.state())
            .into_iter()
            .map(|found| (found.kind, found.work_item_id))
            .collect();
        assert_eq!(found, expected, "{edition}");
    }
}

/// contract 4.1: an agent is booting if its ledger has started but its runtime has not.
#[test]
fn an_agent_that_was_never_started_is_booting() {
    let mut driven = Driven::observed();
    assert_eq!(driven.machine().summary().status, AgentStatus::Booting);
    driven.tell(&[fact("runtime_restarted")]);
    assert_eq!(driven.machine().summary().status, AgentStatus::AwakeIdle);
}

/// contract 3.3: a record that comes after the end of its subject changes nothing, and all such
/// records are counted.
#[test]
fn what_comes_after_an_end_is_counted() {
    let files = [
        ("agent.json", r#"{"id":"default","status":"asleep","turn_index":0}"#),
        ("ledger/messages.jsonl", r#"{"id":"m","kind":"operator_prompt","text":"hello"}"#),
        (
            "ledger/queue_entries.jsonl",
            "{\"message_id\":\"m\",\"status\":\"processed\"}\n\
             {\"message_id\":\"m\",\"status\":\"queued\"}",
        ),
        (
            "ledger/tasks.jsonl",
            "{\"id\":\"t\",\"status\":\"completed\",\"wait_policy\":\"background\"}\n\
             {\"id\":\"t\",\"status\":\"running\",\"wait_policy\":\"background\"}",
        ),
        (
            "ledger/work_items.jsonl",
            "{\"id\":\"w\",\"objective\":\"o\",\"state\":\"completed\",\"revision\":1}\n\
             {\"id\":\"w\",\"objective\":\"o\",\"state\":\"open\",\"revision\":2}",
        ),
        (
            "ledger/wait_conditions.jsonl",
            r#"{"id":"c","agent_id":"default","status":"resolved","kind":"operator","waiting_for":"x","wake_sources":[],"created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}
{"id":"c","agent_id":"default","status":"active","kind":"operator","waiting_for":"x","wake_sources":[],"created_at":"2026-05-27T09:00:00Z","updated_at":"2026-05-27T09:00:00Z"}"#,
        ),
    ];
    let driven = Driven::imported(&Folder::from(
        files.map(|(name, text)| (name.to_owned(), text.to_owned())),
    ));
    let state = driven.state();
    assert_eq!(
        (
            state.queue().refused,
            state.tasks().refused,
            state.work().refused,
            state.waiting().refused
        ),
        (1, 1, 1, 1)
    );
    assert_eq!(driven.machine().summary().set_aside.refused_records, 4);
}

/// contract 6.4, 15.7: the summary and the line in a list are read from the state when they are
/// requested.
#[test]
fn an_agent_in_short() {
    let mut driven = Driven::told(&[
        item("w"),
        of_item("work_item_picked", "w"),
        intent("i1", "work_item", Some("w"), "e1"),
        intent("i2", "agent", None, "e2"),
        task("t", Some("w"), true),
        condition("c", "task", Some("w"), json!({"kind": "task_result", "task_id": "t"})),
        json!({"fact": "task_created", "task_id": "child", "task_kind": "child_agent_task", "summary": "look",
               "detail": {"child_agent_id": "default.child"}}),
        json!({"fact": "agent_described", "kind": "named", "visibility": "public", "ownership": "self_owned",
               "profile_preset": "public_named", "model": "m1", "workspace": "/w"}),
        json!({"fact": "external_trigger_created", "external_trigger_id": "x", "token_hash": "a".repeat(64), "description": "d",
               "delivery_mode": "wake_hint", "trust": "trusted_integration"}),
        prompt("m"),
    ]);
    driven.step();
    driven.tell(&[
        json!({"fact": "provider_round_completed", "run_id": "$run", "round": 1, "input_tokens": 3, "output_tokens": 4}),
    ]);
    driven.tell(&[end("completed"), prompt("n")]);
    let told = serde_json::to_value(driven.machine().summary()).expect("JSON");
    let at =
        |path: &str| told.pointer(path).unwrap_or_else(|| panic!("{path} in {told:#}")).clone();
    assert_eq!(at("/identity/agent_id"), "default");
    assert_eq!(at("/status"), "awake_idle");
    assert_eq!(at("/scheduling_posture/posture"), "has_queued_input");
    assert_eq!(
        at("/lifecycle"),
        json!({"starts_turns": true, "guidance": "It runs by itself. Stop it to keep it from starting turns."})
    );
    assert_eq!(at("/closure/waiting_reason"), "awaiting_external_change");
    assert_eq!((at("/current_work_item_id"), at("/execution/run_id")), ("w".into(), Value::Null));
    assert_eq!((at("/turn_index"), at("/last_turn_terminal")), (1.into(), "completed".into()));
    assert_eq!((at("/pending"), at("/active_task_count")), (1.into(), 2.into()));
    assert_eq!(at("/identity/profile_preset"), "public_named");
    assert_eq!((at("/model/name"), at("/model/total/output_tokens")), ("m1".into(), 4.into()));
    assert_eq!(at("/execution/workspace"), "/w");
    assert_eq!(at("/active_children/0/child_agent_id"), "default.child");
    assert_eq!(at("/active_external_triggers/0/external_trigger_id"), "x");
    assert!(!told.to_string().contains("aaaa"), "no hash of a token is shown");
    let ids = |path: &str| {
        at(path).as_array().expect("a list").iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        ids("/active_waiting_intents"),
        ["i1", "i2"],
        "both are of one instant, so ordered by id"
    );
    assert_eq!(at("/active_waiting_intents/0/work_item_id"), "w");
    assert_eq!(ids("/active_wait_conditions").last(), Some(&"waiting_intent:i2".into()));
    assert_eq!(
        at("/active_wait_conditions/0/wake_sources"),
        json!([{"kind": "task_result", "task_id": "t"}])
    );
    assert_eq!(
        at("/set_aside"),
        json!({"foreign_records": 0, "carried_records": 0, "refused_records": 0, "queue_entries_without_message": 0})
    );

    assert_eq!(
        at("/tombstones"),
        json!({"messages": 1, "tasks": 0, "work_items": 0, "waiting_intents": 0, "wait_conditions": 0, "timers": 0, "external_triggers": 0})
    );

    let listed =
        |driven: &Driven| serde_json::to_value(AgentListEntry::new(driven.state())).expect("JSON");
    let entry = listed(&driven);
    for field in ["identity", "status", "scheduling_posture", "lifecycle", "pending"] {
        assert_eq!(entry[field], told[field], "{field}");
    }
    assert_eq!(entry["waiting_reason"], Value::Null);
    driven.tell(&[fact("stop_requested")]);
    let stopped = json!({"starts_turns": false, "guidance": "It is stopped: messages and deliveries are kept for it, \
                         and wake hints are refused. Start it to let it run."});
    assert_eq!(listed(&driven)["lifecycle"], stopped);
}

#[test]
fn the_summary_counts_what_stays_of_what_is_over() {
    let driven = Driven::told(&[
        item("v"),
        item("w"),
        of_item("work_item_completed", "w"),
        task("t", None, false),
        of_task("task_completed", "t"),
        intent("i", "agent", None, "e"),
        json!({"fact": "waiting_intent_cancelled", "waiting_intent_id": "i"}),
        condition("c", "operator", None, json!({"kind": "operator_input"})),
        json!({"fact": "wait_condition_cancelled", "wait_condition_id": "c"}),
        timer("u", 1000),
        json!({"fact": "timer_cancelled", "timer_id": "u"}),
    ]);
    let told = serde_json::to_value(driven.machine().summary().tombstones).expect("JSON");
    // The mirror of the intent is a condition too.
    let expected = json!({"messages": 0, "tasks": 1, "work_items": 1, "waiting_intents": 1, "wait_conditions": 2, "timers": 1, "external_triggers": 0});
    assert_eq!(told, expected);
}

/// The sentence that says what the agent would do at a boundary after these facts. `run` among them
/// steps until there is nothing to do.
fn said(facts: &[Value], boundary: Boundary) -> String {
    let mut driven = Driven::new();
    for fact in facts {
        if fact == "run" {
            driven.run();
        } else {
            driven.tell(std::slice::from_ref(fact));
        }
    }
    driven.machine().explain(boundary, driven.now).sentence
}

/// contract 11.1: the sentence of a rest says what is left undone, and names the waits that the
/// decision rests on.
#[test]
fn the_sentence_says_what_a_rest_leaves_lying() {
    let run = || json!("run");
    let blocked =
        |by: &str| json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": by});
    let picked = || of_item("work_item_picked", "w");
    let wait = |id: &str, kind: &str, item: Option<&str>| {
        condition(id, kind, item, json!({"kind": "operator_input"}))
    };
    for (facts, sentence) in [
        (vec![], "At rest: nothing is pending."),
        (vec![item("w"), blocked("a review")], "At rest: `w` (Ship it) is blocked by a review."),
        (vec![item("w"), blocked(" ")], "At rest: `w` (Ship it) is blocked."),
        (
            vec![item("w"), run(), abort("operator_aborted")],
            "At rest: `w` (Ship it) is parked until something moves it.",
        ),
        (vec![item("w"), needs_input("w")], "At rest: `w` (Ship it) waits for the operator."),
        (vec![item("w"), task("t", Some("w"), true)], "At rest: `w` (Ship it) waits for task `t`."),
        (
            vec![item("w"), intent("i", "work_item", Some("w"), "e")],
            "At rest: `w` (Ship it) waits for it.",
        ),
        (
            vec![
                item("w"),
                picked(),
                intent("i", "work_item", Some("w"), "e"),
                wait("zz", "operator", Some("w")),
            ],
            "At rest: waits for it, for `w` (Ship it). Would wake on operator input.",
        ),
        (
            vec![intent("i", "agent", None, "e"), intent("j", "agent", None, "f")],
            "At rest: waits for it of ci (intent `i`) and for it of ci (intent `j`). Would wake \
             on the trigger of `i` or on the trigger of `j`.",
        ),
        (
            vec![prompt("m"), run(), end("provider_failed_needs_recovery")],
            "At rest: the turn on `m` failed (provider_failed_needs_recovery) and is tried again. Would wake at \
             2026-05-28T20:26:50Z.",
        ),
        (
            vec![item("v"), item("w"), blocked("v"), run(), end("provider_failed_needs_recovery")],
            "At rest: the turn on `default:message-7` failed (provider_failed_needs_recovery) and is tried again; `w` (Ship it) is \
             blocked by v. Would wake at 2026-05-28T20:26:50Z.",
        ),
    ] {
        assert_eq!(said(&facts, Boundary::RunLoopIdle), sentence, "{facts:?}");
    }
    let interjection = prompt_with("i", json!({"priority": "interject"}));
    let facts = [prompt("m"), run(), interjection];
    assert_eq!(
        said(&facts, Boundary::AfterToolResults),
        "Puts operator prompt `i` into the open run."
    );
}

/// An event of another kind with the data of a diagnostic is not a diagnostic, and a diagnostic of
/// another kind does not count either.
#[test]
fn only_a_recorded_diagnostic_says_that_the_clock_was_behind() {
    let said = |kind: &str, of: &str| {
        let event: EventRecord = read(&format!(
            r#"{{"id":"e","created_at":"2026-05-27T09:00:00Z","kind":"{kind}","data":{{"kind":"{of}","evidence":["host_now=2026-05-27T08:00:00Z"]}}}}"#
        ))
        .expect("an event");
        clock_behind_at(&event).map(|at| at.to_string())
    };
    assert_eq!(
        said("scheduler_diagnostic", "clock_behind").as_deref(),
        Some("2026-05-27T08:00:00Z")
    );
    assert_eq!(said("noop", "clock_behind"), None);
    assert_eq!(said("scheduler_diagnostic", "stalled_run"), None);
}

/// `wakeful why --not` accepts the name of a decision in upper and lower case.
#[test]
fn a_decision_is_found_by_its_name_in_any_case_of_letters() {
    for kind in DecisionKind::ALL {
        let name = kind.to_string();
        for written in [name.clone(), name.to_lowercase(), name.to_uppercase()] {
            assert_eq!(DecisionKind::named(&written), Some(*kind));
        }
    }
    assert_eq!(DecisionKind::named("Dance"), None);
}

/// contract 3.6: a queue entry whose message is missing makes nothing wait, and is counted. An
/// event that names a delegation is not one.
#[test]
fn what_an_import_names_and_does_not_have_is_not_there() {
    let files = [
        ("agent.json", r#"{"id":"default","status":"asleep","turn_index":0}"#),
        ("ledger/queue_entries.jsonl", r#"{"message_id":"m","status":"queued"}"#),
        (
            "ledger/events.jsonl",
            r#"{"created_at":"2026-05-27T09:00:00Z","kind":"host_note","data":{"delegation_id":"d"}}"#,
        ),
    ];
    let driven = Driven::imported(&Folder::from(
        files.map(|(name, text)| (name.to_owned(), text.to_owned())),
    ));
    assert_eq!(driven.machine().summary().set_aside.queue_entries_without_message, 1);
    assert!(driven.state().queue().is_empty() && driven.state().work().delegations.is_empty());
}

/// contract 5.23: a message that an observed runtime has taken waits to replay, but does not count
/// as untaken.
#[test]
fn a_message_that_was_taken_waits_and_is_not_untaken() {
    let mut driven = Driven::observed();
    driven.tell(&[
        prompt("m"),
        prompt("n"),
        json!({"fact": "message_dequeued", "message_id": "m"}),
    ]);
    assert_eq!((driven.state().queue().len(), driven.state().queue().untaken()), (2, 1));
}

/// contract 5.2, 5.4: an observed runtime says which turn it is. A host may withdraw a message that
/// no run has taken.
#[test]
fn what_a_host_says_of_a_run_is_about_that_run() {
    let mut observed = Driven::observed();
    observed.tell(&[
        prompt("m"),
        json!({"fact": "turn_started", "run_id": "r", "message_id": "m", "turn_index": 7}),
    ]);
    assert_eq!(observed.state().turns().run.as_ref().map(|run| run.turn_index), Some(7));

    let mut driven = Driven::told(&[prompt("m"), prompt("n")]);
    driven.run();
    let withdrawn = |id: &str| json!({"fact": "message_dropped", "message_id": id});
    assert!(matches!(
        driven.say(&withdrawn("m")),
        Answer::Ignored { reason: Refusal::RunOpen, .. }
    ));
    driven.tell(&[withdrawn("n")]);
    assert_eq!(driven.way_of("n"), [QueueStatus::Queued, QueueStatus::Dropped]);
}

/// contract 5.17, 8.2: a new snapshot is still the same item. It stays picked, and its recheck
/// stays reported.
#[test]
fn a_snapshot_of_an_item_keeps_what_was_done_with_it() {
    let due = NOW.plus_ms(60_000);
    let blocked = json!({"fact": "work_item_blocked", "work_item_id": "w", "blocked_by": "the build", "recheck_at": due.to_string()});
    let mut driven =
        Driven::told(&[item("w"), item("other"), of_item("work_item_picked", "w"), blocked]);
    driven.now = due;
    driven.run();
    driven.tell(&[
        json!({"fact": "work_item_updated", "work_item_id": "w", "objective": "Ship it today"}),
    ]);
    let of_w = |driven: &Driven| driven.state().work().items[&"w".into()].clone();
    let before = of_w(&driven);
    assert_eq!(before.recheck.as_ref().map(|told| told.recheck_at), Some(due));
    driven.tell(&[of_item("work_item_picked", "other"), of_item("work_item_picked", "w")]);
    assert_eq!(
        (before.picked, of_w(&driven).moved),
        (true, before.moved),
        "only its first pick moves its epoch"
    );
}
