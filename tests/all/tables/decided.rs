//! Every rule of both editions fires at least once. Its decision has its reasons: evidence in
//! words, and the entries behind it (contract 7.2, 7.3, 7.4).

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakeful_core::{
    record::{
        Record,
        decision::{Boundary, Decision},
        edition::Edition,
    },
    time::Timestamp,
};

use super::driven::{
    Driven, abort, callback, condition, fact, hint, intent, item, needs_input, of_item, prompt,
    prompt_with, task, timer, webhook,
};

/// What leads to a decision, and its reasons.
struct Case {
    rule: &'static str,
    /// The facts. `run` steps until there is nothing to do, `step` steps once, and `later` advances
    /// the clock by two minutes.
    facts: Vec<Value>,
    at: Boundary,
    evidence: &'static str,
    because: &'static str,
}

fn case(
    rule: &'static str,
    facts: Vec<Value>,
    evidence: &'static str,
    because: &'static str,
) -> Case {
    Case { rule, facts, at: Boundary::RunLoopIdle, evidence, because }
}

/// The reasons of a decision, each with the class and id of the records that it rests on.
fn reasons(driven: &Driven, decision: &Decision) -> String {
    let named = |record: &Record| {
        let told = serde_json::to_value(record).expect("JSON");
        let name = ["id", "message_id", "control"]
            .iter()
            .find_map(|field| told[field].as_str())
            .unwrap_or("?")
            .to_owned();
        format!("{} {name}", record.class().as_str())
    };
    let reason = |because: &wakeful_core::record::decision::Because| {
        let code = serde_json::to_value(because.code).expect("JSON");
        // The records lack the first entry, and seqs start at 1.
        let entries = because
            .seqs
            .iter()
            .map(|seq| named(&driven.records[usize::try_from(seq.0).expect("few") - 2]));
        format!("{} {}", code.as_str().expect("a name"), entries.collect::<Vec<_>>().join(" and "))
    };
    decision.because.iter().map(reason).collect::<Vec<_>>().join(", ")
}

fn cases() -> Vec<Case> {
    let run = || json!("run");
    let picked = || of_item("work_item_picked", "w");
    let operator = || json!({"kind": "operator_input"});
    let system = || json!({"kind": "system_tick"});
    let policy = |policy: Value| json!({"fact": "policy_set", "policy": policy});
    let interjection = prompt_with("i", json!({"priority": "interject"}));
    let old = json!({"fact": "policy_set", "edition": "2026-05-08"});
    vec![
        case(
            "1.stopped",
            vec![prompt("m"), fact("stop_requested")],
            "status=Stopped",
            "stop_requested control stop_requested",
        ),
        case(
            "1.closing",
            vec![prompt("m"), fact("shutdown_requested")],
            "status=AwakeIdle",
            "shutdown_requested control shutdown_requested",
        ),
        Case {
            at: Boundary::AfterToolResults,
            ..case(
                "2.interjection",
                vec![prompt("m"), run(), interjection.clone()],
                "active_run_id=Some(\"default:run-8\")",
                "run_open turns m, operator_interjection messages i",
            )
        },
        case(
            "2.run_open",
            vec![prompt("m"), run()],
            "status=AwakeRunning, queue_len=0",
            "run_open turns m",
        ),
        case(
            "2.run_open",
            vec![prompt("m"), run(), prompt("n")],
            "status=AwakeRunning, queue_len=1",
            "run_open turns m",
        ),
        Case {
            at: Boundary::IdleTick,
            ..case(
                "2.run_open",
                vec![prompt("m"), run()],
                "active_run_id=Some(\"default:run-8\")",
                "run_open turns m",
            )
        },
        case(
            "3.stale_tick",
            vec![item("w"), json!("step"), of_item("work_item_completed", "w")],
            "message_kind=SystemTick, trigger_kind=Some(SystemTick), queue_len=1, \
             turn_in_progress=false",
            "queue_head messages default:message-5, subject_gone messages default:message-5",
        ),
        case(
            "3.replay_budget",
            vec![
                policy(json!({"replay_budget": 1})),
                prompt("m"),
                run(),
                fact("runtime_restarted"),
            ],
            "message_kind=OperatorPrompt, trigger_kind=Some(OperatorInput), queue_len=1, \
             turn_in_progress=false",
            "queue_head messages m, interrupted_too_often messages m",
        ),
        case(
            "3.head_starts_turn",
            vec![prompt("m")],
            "message_kind=OperatorPrompt, trigger_kind=Some(OperatorInput), queue_len=1, \
             turn_in_progress=false",
            "queue_head messages m, continuation_reenters messages m",
        ),
        case(
            "3.head_starts_turn",
            vec![intent("x", "agent", None, "e"), callback("m", "e", "green")],
            "message_kind=CallbackEvent, trigger_kind=Some(ExternalEvent), queue_len=1, \
             turn_in_progress=false",
            "queue_head messages m, continuation_reenters messages m, wait_satisfied \
             waiting_intents x",
        ),
        case(
            "3.head_reduced",
            vec![item("w"), picked(), needs_input("w"), webhook("m", "green")],
            "message_kind=WebhookEvent, trigger_kind=Some(ExternalEvent), queue_len=1, \
             turn_in_progress=false",
            "queue_head messages m, continuation_liveness_only messages m",
        ),
        case(
            "4.wake_hint",
            vec![hint(json!({}))],
            "runtime_idle, pending_wake_hint, idempotency_key=wake_hint:unknown:3",
            "wake_hint_pending control wake_hint_pending",
        ),
        case(
            "5.continue_active",
            vec![item("w"), picked()],
            "runtime_idle, work_item_runnable, idempotency_key=work_queue:continue_active:w:1~1",
            "item_has_focus control focus_set, item_runnable work_items w",
        ),
        case(
            "6.queued_available",
            vec![item("w"), item("v")],
            "runtime_idle, work_item_runnable, idempotency_key=work_queue:queued_available:w:1",
            "item_runnable work_items w",
        ),
        case(
            "7.system_wait",
            vec![
                item("w"),
                picked(),
                condition("c", "system", Some("w"), system()),
                json!("later"),
            ],
            "current_work_item_scheduling_state=WaitingSystem",
            "item_waits_for_system wait_conditions c",
        ),
        case(
            "8.agent_external_wait",
            vec![intent("x", "agent", None, "e"), intent("y", "agent", None, "f")],
            "active_waiting_intents=2, active_agent_waiting_intents=2",
            "agent_intents_active waiting_intents x and waiting_intents y",
        ),
        case(
            "8.agent_external_wait",
            vec![condition("c", "external", None, json!({"kind": "external_ingress"}))],
            "agent_wait_conditions=1",
            "agent_waits wait_conditions c",
        ),
        case(
            "8.timer",
            vec![timer("t", 60_000), timer("u", 90_000)],
            "active_timers=2",
            "timers_active timers t and timers u",
        ),
        case(
            "8.operator",
            vec![condition("c", "operator", None, operator())],
            "agent_wait_conditions=1",
            "agent_waits wait_conditions c",
        ),
        case(
            "8.operator",
            vec![item("w"), picked(), needs_input("w")],
            "current_work_item_scheduling_state=WaitingOperator",
            "item_waits_for_operator work_items w",
        ),
        case(
            "8.task",
            vec![
                task("t", None, false),
                condition("c", "task", None, json!({"kind": "task_result", "task_id": "t"})),
            ],
            "agent_wait_conditions=1",
            "agent_waits wait_conditions c",
        ),
        case(
            "8.task",
            vec![item("w"), picked(), task("t", Some("w"), true)],
            "current_work_item_scheduling_state=WaitingTask",
            "item_waits_for_task tasks t and work_items w",
        ),
        case(
            "8.external",
            vec![item("w"), picked(), intent("x", "work_item", Some("w"), "e")],
            "current_work_item_scheduling_state=WaitingExternal",
            "item_waits_for_external wait_conditions waiting_intent:x and waiting_intents x and \
             work_items w",
        ),
        case(
            "8.item_timer",
            vec![condition(
                "c",
                "timer",
                None,
                json!({"kind": "timer", "wake_at": "2026-06-01T00:00:00Z"}),
            )],
            "agent_wait_conditions=1",
            "agent_waits wait_conditions c",
        ),
        case(
            "8.item_timer",
            vec![
                item("w"),
                picked(),
                condition(
                    "c",
                    "timer",
                    Some("w"),
                    json!({"kind": "timer", "wake_at": "2026-06-01T00:00:00Z"}),
                ),
            ],
            "current_work_item_scheduling_state=WaitingTimer",
            "item_waits_for_timer wait_conditions c and work_items w",
        ),
        case("9.stay_idle", vec![run()], "status=Asleep, queue_len=0", "nothing_pending "),
        case("9.sleep", vec![], "status=AwakeIdle, queue_len=0", "nothing_pending "),
        case(
            "9.sleep",
            vec![old, prompt("m"), run(), abort("operator_aborted")],
            "status=AwakeIdle, queue_len=0",
            "nothing_pending ",
        ),
    ]
}

#[test]
fn every_rule_fires_and_says_what_its_decision_rests_on() {
    let mut seen = BTreeSet::new();
    for Case { rule, facts, at, evidence, because } in cases() {
        let mut driven = Driven::new();
        for fact in &facts {
            match fact.as_str() {
                Some("run") => drop(driven.run()),
                Some("later") => {
                    driven.now = Timestamp::from_nanos(driven.now.as_nanos() + 120_000_000_000)
                }
                Some(_) => drop(driven.step()),
                None => driven.tell(std::slice::from_ref(fact)),
            }
        }
        let decision = driven.machine().explain(at, driven.now).decision;
        assert_eq!(decision.rule, rule, "after {facts:?}");
        assert_eq!(decision.evidence.join(", "), evidence, "{rule} after {facts:?}");
        assert_eq!(reasons(&driven, &decision), because, "{rule} after {facts:?}");
        seen.insert(rule);
    }
    // No state of our core reaches this rule: a queue with messages has a head.
    seen.insert("9.queue_not_empty");
    let all: BTreeSet<_> =
        Edition::ALL.iter().flat_map(|edition| edition.rules()).map(|rule| rule.id).collect();
    assert_eq!(seen, all, "a rule without a case");
}
