//! Each invariant of contract 14 can fail: there is one seeded breach for each, and only this
//! invariant reports it.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wakeful_core::{
    check,
    ladder::{self, View},
    machine::{Machine, Options},
    record::{
        Record,
        chain::Chain,
        decision::{Boundary, Decision, DecisionKind},
        entry::{self, Entry},
        event::{EventKind, EventRecord},
        turn::TurnTerminalKind,
    },
    state::{State, failing, turn::Failing},
    time::Timestamp,
};

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);
const WHEN: &str = "2026-05-28T20:26:40Z";

/// A step that no machine would take.
struct Step {
    before: State,
    batch: Vec<Entry>,
    after: State,
}

impl Step {
    /// A step whose fold is right but whose records are wrong.
    fn appended(before: State, records: Vec<Record>) -> Self {
        Self::appended_at(NOW, before, records)
    }

    fn appended_at(at: Timestamp, before: State, records: Vec<Record>) -> Self {
        let (batch, _) = entry::seal_all(before.head(), at, records);
        let mut after = before.clone();
        batch.iter().for_each(|entry| after.apply(entry));
        Self { before, batch, after }
    }

    /// A step that appends nothing: the state itself is wrong.
    fn standing(state: State) -> Self {
        Self { before: state.clone(), batch: Vec::new(), after: state }
    }
}

/// A driven machine after these facts; `step` among them takes a step.
fn played(facts: &[Value]) -> Machine {
    let mut machine = Machine::new(Options::new("default".into()));
    machine.begin(NOW).expect("a fresh ledger");
    machine.committed();
    let restart = json!({"fact": "runtime_restarted"});
    for fact in [&restart].into_iter().chain(facts) {
        if fact == "step" {
            machine.step(Boundary::RunLoop, NOW).expect("a driven ledger");
        } else {
            machine.propose_json(&fact.to_string(), NOW).expect("a fact");
        }
        machine.committed();
    }
    machine
}

fn state(facts: &[Value]) -> State {
    played(facts).state().clone()
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a record")
}

fn message(id: &str, kind: &str, origin: Value, trust: &str) -> Value {
    json!({"fact": "message_queued", "message": {"id": id, "kind": kind, "origin": origin, "trust": trust, "body": {"type": "text", "text": "hello"}}})
}

fn prompt() -> Value {
    message("m1", "operator_prompt", json!({"kind": "operator"}), "trusted_operator")
}

fn item() -> Value {
    json!({"fact": "work_item_created", "work_item_id": "w", "objective": "Ship it"})
}

fn queue_entry(status: &str) -> Record {
    Record::QueueEntry(read(
        json!({"message_id": "m1", "agent_id": "default", "priority": "normal", "status": status, "created_at": WHEN, "updated_at": WHEN}),
    ))
}

fn event(kind: EventKind, data: Value) -> Record {
    Record::Event(EventRecord::new(kind, NOW, &data))
}

fn control(record: Value) -> Record {
    Record::Control(
        wakeful_core::record::control::ControlRecord::decode(&record.to_string())
            .expect("a control record"),
    )
}

/// A tick that offers the item `w`, and its queue entry.
fn work_tick() -> Vec<Record> {
    let tick = json!({"id": "m1", "agent_id": "default", "created_at": WHEN, "kind": "system_tick", "origin": {"kind": "system", "subsystem": "work_queue"},
        "trust": "trusted_system", "priority": "normal", "body": {"type": "text", "text": "go on"}, "delivery_surface": "runtime_system",
        "metadata": {"work_queue": {"reason": "queued_available", "idempotency_key": "work_queue:queued_available:w:1", "work_item_id": "w",
                                    "work_item_revision": 1, "objective": "Ship it"}}});
    vec![Record::Message(read(tick)), queue_entry("queued")]
}

fn wait_condition(kind: &str) -> Value {
    json!({"fact": "wait_condition_registered", "wait_condition_id": "c", "kind": kind, "waiting_for": "it", "expires_at": "2027-01-01T00:00:00Z"})
}

fn ended_condition(kind: &str, by: &str) -> Record {
    Record::WaitCondition(read(
        json!({"id": "c", "agent_id": "default", "status": "resolved", "kind": kind, "waiting_for": "it",
        "created_at": WHEN, "updated_at": WHEN, "ended_by": by}),
    ))
}

/// The record of what the ladder decides in this state; `change` may spoil it.
fn decided(state: &State, change: impl FnOnce(&mut Decision)) -> Record {
    let mut decision =
        ladder::decide(state.control().edition, &View::new(state, Boundary::RunLoop, state.at()))
            .decision;
    change(&mut decision);
    Record::Event(EventRecord::new(EventKind::SchedulerDecision, NOW, &decision))
}

fn seeds() -> Vec<(&'static str, Step)> {
    let resolve = json!({"fact": "wait_condition_resolved", "wait_condition_id": "c"});
    vec![
        (
            "I1",
            Step::appended(
                state(&[prompt(), json!({"fact": "stop_requested"})]),
                vec![queue_entry("dequeued")],
            ),
        ),
        ("I2", {
            let before = state(&[prompt(), json!("step")]);
            let second = json!({"run_id": "second", "agent_id": "default", "turn_index": 2, "message_id": "m1", "status": "started", "started_at": WHEN});
            Step::appended(before, vec![Record::Turn(read(second))])
        }),
        ("I3", {
            let before = state(&[prompt(), json!({"fact": "message_dropped", "message_id": "m1"})]);
            Step::appended(before, vec![queue_entry("processed")])
        }),
        ("I4", {
            let mut state = state(&[
                json!({"fact": "task_created", "task_id": "t", "task_kind": "command_task"}),
            ]);
            let task = state.tasks().active[&"t".into()].seq;
            state
                .distort()
                .tasks
                .ended
                .insert("t".into(), (wakeful_core::record::task::TaskStatus::Completed, task));
            Step::standing(state)
        }),
        ("I5", {
            let before = state(&[
                json!({"fact": "task_created", "task_id": "t", "task_kind": "command_task"}),
            ]);
            Step::appended(
                before,
                vec![event(EventKind::TaskResultQueued, json!({"task_id": "t"}))],
            )
        }),
        ("I6", {
            let mut state = state(&[item()]);
            let seq = state.head().seq;
            state.distort().work.ended.insert("w".into(), seq);
            Step::standing(state)
        }),
        ("I7", {
            let before = state(&[item(), json!({"fact": "work_item_picked", "work_item_id": "w"})]);
            Step::appended(
                before,
                vec![control(
                    json!({"control": "focus_set", "work_item_id": null, "cause": "completion"}),
                )],
            )
        }),
        ("I8", {
            let before = state(&[
                item(),
                json!({"fact": "work_item_updated", "work_item_id": "w", "plan_status": "needs_input"}),
            ]);
            Step::appended(before, work_tick())
        }),
        ("I9", Step::appended(Step::appended(state(&[item()]), work_tick()).after, work_tick())),
        (
            "I10",
            Step::appended(
                state(&[item(), json!({"fact": "wake_hint_submitted", "reason": "look"})]),
                work_tick(),
            ),
        ),
        ("I11", {
            let webhook = message(
                "m1",
                "webhook_event",
                json!({"kind": "webhook", "source": "ci"}),
                "trusted_integration",
            );
            let before = state(&[wait_condition("operator"), webhook]);
            let decision = decided(&before, |_| {});
            let records = vec![
                decision,
                queue_entry("dequeued"),
                ended_condition("operator", "operator"),
                queue_entry("processed"),
            ];
            Step::appended(before, records)
        }),
        (
            "I12",
            Step::appended(
                state(&[wait_condition("external"), resolve.clone()]),
                vec![ended_condition("external", "trigger")],
            ),
        ),
        (
            "I13",
            Step::appended(
                state(&[wait_condition("operator")]),
                vec![ended_condition("operator", "trigger")],
            ),
        ),
        (
            "I14",
            Step::appended(
                state(&[item()]),
                vec![event(EventKind::WorkItemTurnEndCommitted, json!({"work_item_id": "w"}))],
            ),
        ),
        ("I15", {
            let compacted =
                event(EventKind::ContextCompacted, json!({"compacted_message_count": 3}));
            Step::appended(
                state(&[]),
                vec![compacted, control(json!({"control": "wake_hint_pending", "reason": "look"}))],
            )
        }),
        ("I16", {
            let mut step = Step::appended(
                state(&[]),
                vec![event(EventKind::WakeHintIgnored, json!({"reason": "look"}))],
            );
            step.after.distort().context.briefs += 1;
            step
        }),
        ("I17", {
            let before = state(&[]);
            let wrong = decided(&before, |decision| {
                decision.kind = DecisionKind::Noop;
                decision.reason = "queue_not_empty".into();
            });
            Step::appended(before, vec![wrong])
        }),
        ("I18", Step::appended(state(&[]), work_tick().drain(..1).collect())),
        ("I19", {
            let before =
                state(&[json!({"fact": "timer_created", "timer_id": "t", "duration_ms": 1000})]);
            let rest = decided(&before, |_| {});
            Step::appended_at(NOW.plus_ms(1000), before, vec![rest])
        }),
        ("I20", {
            let tool = json!({"id": "x", "agent_id": "default", "turn_index": 1, "tool_name": "ExecCommand", "created_at": WHEN,
                "trust": "trusted_system", "status": "success", "input": {}, "output": {}, "summary": "s"});
            Step::appended(state(&[]), vec![Record::Tool(read(tool))])
        }),
        ("I21", {
            let mut step = Step::standing(state(&[]));
            step.after.distort().context.briefs += 1;
            step
        }),
        ("I22", {
            let before = state(&[prompt()]);
            let wrong = decided(&before, |decision| decision.because[0].seqs[0].0 = 999);
            Step::appended(before, vec![wrong])
        }),
        ("I23", {
            let mut step = Step::appended(
                state(&[]),
                vec![event(EventKind::WakeHintIgnored, json!({"reason": "look"}))],
            );
            step.batch[0].chain = Chain::START;
            step.after = step.before.clone();
            step.after.apply(&step.batch[0]);
            step
        }),
        ("I24", {
            let mut state = state(&[wait_condition("external"), resolve]);
            let seq = state.head().seq;
            state.distort().waiting.ticked.insert("c".into(), seq);
            Step::standing(state)
        }),
        ("I25", {
            let mut state = state(&[prompt(), json!("step")]);
            if let Some(run) = &mut state.distort().turns.run {
                run.message_id = "gone".into();
            }
            Step::standing(state)
        }),
        ("I26", {
            let mut before = state(&[prompt(), json!("step")]);
            let run = before.open_run().expect("a run").run_id.clone();
            before.distort().turns.failing.push(Failing {
                work_item_id: None,
                cause: TurnTerminalKind::DeferredToFallback,
                count: failing::MOST - 1,
            });
            let turn = json!({"run_id": run, "agent_id": "default", "turn_index": 1, "message_id": "m1", "status": "terminal",
                "kind": "deferred_to_fallback", "started_at": WHEN});
            Step::appended(before, vec![Record::Turn(read(turn)), queue_entry("processed")])
        }),
        ("I27", {
            let noted = event(EventKind::WakeHintIgnored, json!({"reason": "look"}));
            Step::appended_at(NOW.minus_nanos(1), state(&[]), vec![noted])
        }),
    ]
}

#[test]
fn each_seeded_breach_is_reported_by_its_invariant_alone() {
    let seeds = seeds();
    let ids: Vec<_> = check::ALL.iter().map(|invariant| invariant.id).collect();
    assert_eq!(
        seeds.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        ids,
        "one seed for each invariant"
    );
    for (id, step) in &seeds {
        let breaches = check::breaches(&step.before, &step.batch, &step.after);
        assert_eq!(
            breaches.iter().map(|breach| breach.id).collect::<Vec<_>>(),
            [*id],
            "{breaches:#?}"
        );
    }
}

#[test]
fn the_invariants_are_those_of_the_contract() {
    assert_eq!(check::ALL.len(), 27);
    for (at, invariant) in check::ALL.iter().enumerate() {
        assert_eq!(invariant.id, format!("I{}", at + 1));
        assert!(!invariant.says.is_empty());
    }
}
