//! What the records of waits end, in every order, and what ends together with something else
//! (contract 3.3, 5.16).

use serde_json::{Value, json};
use wakeful_core::{
    fact::outcome::{Answer, Refusal},
    foreign::Folder,
    id::Seq,
    json::{Readable, read},
    record::{Record, entry, queue::envelope::QueueStatus},
    state::State,
};

use super::driven::{Driven, NOW, intent, message, timer};

/// The end of `x` in a state: its terminal status, if the state keeps it, and the entry.
type End = fn(&State) -> Option<(Option<String>, Seq)>;

/// A kind of wait: its record with a status, its statuses with `active` first, and how to read its
/// end.
struct Kind {
    record: fn(&str) -> Record,
    statuses: &'static [&'static str],
    end: End,
}

fn written<T: Readable>(common: &Value, more: &Value) -> T {
    let mut record = common.clone();
    let Value::Object(more) = more.clone() else { panic!("more fields are an object") };
    record.as_object_mut().expect("an object").extend(more);
    read(&record.to_string()).expect("a record")
}

fn common(status: &str) -> Value {
    json!({"id": "x", "agent_id": "default", "status": status, "created_at": NOW, "updated_at": NOW})
}

const KINDS: [Kind; 3] = [
    Kind {
        record: |status| {
            Record::Timer(written(&common(status), &json!({"duration_ms": 1, "repeat": false})))
        },
        statuses: &["active", "completed", "cancelled"],
        end: |state| {
            state
                .waiting()
                .ended_timers
                .get(&"x".into())
                .map(|(status, seq)| (Some(status.to_string()), *seq))
        },
    },
    Kind {
        record: |status| {
            Record::WaitCondition(written(
                &common(status),
                &json!({"kind": "operator", "waiting_for": "it", "wake_sources": []}),
            ))
        },
        statuses: &["active", "resolved", "cancelled", "expired"],
        end: |state| {
            state
                .waiting()
                .ended_conditions
                .get(&"x".into())
                .map(|(status, seq)| (Some(status.to_string()), *seq))
        },
    },
    Kind {
        record: |status| {
            let more = json!({"description": "it", "source": "ci", "delivery_mode": "wake_hint", "external_trigger_id": "e", "trigger_count": 0});
            Record::WaitingIntent(written(&common(status), &more))
        },
        statuses: &["active", "cancelled"],
        end: |state| state.waiting().ended_intents.get(&"x".into()).map(|seq| (None, *seq)),
    },
];

/// The first end stays, however often it is recorded. Another end or a new start is refused and
/// counted.
#[test]
fn the_first_end_of_a_wait_stays_and_what_contradicts_it_is_counted() {
    for Kind { record, statuses, end } in KINDS {
        for first in &statuses[1..] {
            for second in statuses {
                let mut state = Driven::observed().state().clone();
                let (entries, _) = entry::seal_all(
                    state.head(),
                    NOW,
                    vec![record("active"), record(first), record(second), record(second)],
                );
                entries[..2].iter().for_each(|entry| state.apply(entry));
                let (ended_as, at) = end(&state).unwrap_or_else(|| panic!("{first} ends it"));
                entries[2..].iter().for_each(|entry| state.apply(entry));
                let is_told_again = first == second;
                assert_eq!(
                    state.waiting().refused,
                    if is_told_again { 0 } else { 2 },
                    "{second} after {first}"
                );
                let newest = if is_told_again { at.plus(2) } else { at };
                assert_eq!(end(&state), Some((ended_as, newest)), "{second} after {first}");
            }
        }
    }
}

#[test]
fn the_mirror_of_an_intent_ends_with_its_intent_only() {
    let mut driven = Driven::told(&[intent("i", "agent", None, "e")]);
    for name in ["wait_condition_resolved", "wait_condition_cancelled", "wait_condition_expired"] {
        let answer = driven.say(&json!({"fact": name, "wait_condition_id": "waiting_intent:i"}));
        assert!(
            matches!(answer, Answer::Ignored { reason: Refusal::FollowsItsIntent, .. }),
            "{name}: {answer:?}"
        );
    }
    driven.tell(&[json!({"fact": "waiting_intent_cancelled", "waiting_intent_id": "i"})]);
    assert!(driven.state().waiting().conditions.is_empty());
}

/// contract 5.20: to cancel a timer after its last fire withdraws its tick, but not a message of a
/// host about the same timer.
#[test]
fn a_timer_that_is_over_withdraws_only_its_own_tick() {
    let withdrawn = json!({"fact": "timer_cancelled", "timer_id": "t"});
    let mut driven = Driven::told(&[timer("t", 1)]);
    driven.now = NOW.plus_ms(1);
    driven.run();
    assert_eq!(driven.started().len(), 1, "the tick is taken");
    let of_a_host = message(
        "h",
        "webhook_event",
        json!({"kind": "timer", "timer_id": "t"}),
        "trusted_integration",
        "look",
        json!({}),
    );
    driven.tell(&[of_a_host]);
    assert!(matches!(
        driven.say(&withdrawn),
        Answer::Ignored { reason: Refusal::AlreadyTerminal, .. }
    ));
    assert_eq!(driven.way_of("h"), [QueueStatus::Queued]);
}

/// A timer record names the tick of its newest fire. If another runtime fires the timer, this core
/// has queued no tick for it.
#[test]
fn what_another_runtime_fires_names_no_tick_of_an_earlier_fire() {
    let text = r#"{"id":"t","agent_id":"default","created_at":"2026-05-27T09:00:00Z","duration_ms":1000,"interval_ms":1000,"repeat":true,"tick_message_id":"before"}"#;
    let files = [("agent.json", r#"{"id":"default"}"#), ("ledger/timers.jsonl", text)];
    let mut driven = Driven::imported(&Folder::from(
        files.map(|(name, text)| (name.to_owned(), text.to_owned())),
    ));
    let tick = |driven: &Driven| {
        driven.state().waiting().timers[&"t".into()].record.tick_message_id.clone()
    };
    assert_eq!(tick(&driven), Some("before".into()));
    driven.tell(&[json!({"fact": "timer_fired", "timer_id": "t"})]);
    assert_eq!(tick(&driven), None);
}
