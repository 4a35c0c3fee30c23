//! Stories with adversarial providers: the invariants hold after every batch, and the agent reaches
//! rest.

use wakeful::provider::ScriptedProvider;
use wakeful_core::{
    fact::outcome::Refusal,
    host::Ledger,
    id::{MessageId, Seq},
    machine::Options,
    record::{Record, chain::Head, event::EventKind, turn::RunStatus, work::WorkItemState},
    state::State,
    story::{Adversary, Command, Story},
};
use wakeful_host::{
    clock::VirtualClock,
    engine::{Engine, Mode, Native},
};
use wakeful_tests::watched::WatchedLedger;

/// The number of turns that an adversary plays.
const TURNS: u64 = 12;

/// Plays an adversary to the end of its story. Returns the state, and why facts were ignored.
fn played(adversary: Adversary) -> (State, Vec<Refusal>) {
    let script = r#"{"prompt":"do it"},{"hint":"look","text":"now"},{"prompt":"again"},{"wait_ms":3600000},{"deliver":"trigger-1","text":"ok"}"#;
    let (ledger, ignored) = played_with(adversary, script, &format!(r#","turns":{TURNS}"#));
    (ledger.state(), ignored)
}

fn played_with(adversary: Adversary, script: &str, turns: &str) -> (WatchedLedger, Vec<Refusal>) {
    let text = format!(
        r#"{{"story":"s","shows":"","agent_id":"default","starts_at":"2026-05-27T09:00:00Z","script":[{script}],
            "provider":{{"adversary":"{adversary}"{turns}}}}}"#
    );
    let story = Story::read(&text).expect("a story");
    let ledger = WatchedLedger::default();
    let clock = VirtualClock::at(story.starts_at);
    let provider = ScriptedProvider::new(story);
    let mut engine = Native::new(ledger.clone(), clock.clone(), provider.clone());
    engine.open(&Options::new("default".into()), Mode::Drive).expect("a fresh ledger");
    let mut ignored = Vec::new();
    for _ in 0..10_000 {
        match provider.next(engine.next_wake().expect("an instant")) {
            Command::Done => {
                assert_eq!(ledger.breaches(), [], "{adversary}");
                return (ledger, ignored);
            }
            Command::Propose { fact } => {
                let receipt = engine.propose(fact.as_str()).expect("the fact decodes");
                let receipt: serde_json::Value = serde_json::from_str(&receipt).expect("a receipt");
                if receipt["answer"] == "ignored" {
                    ignored
                        .push(serde_json::from_value(receipt["reason"].clone()).expect("a reason"));
                }
            }
            Command::Run => drop(engine.run_until_rest().expect("a rest")),
            Command::SetClock { to } => clock.set(to),
        }
    }
    panic!("{adversary} never rests");
}

#[test]
fn a_provider_that_ends_bare_is_asked_no_more_than_once_about_an_item_as_it_is() {
    let (state, _) = played(Adversary::EndsBare);
    assert!(state.work().items.values().all(|item| item.record.revision == 1));
    assert!(
        state.turns().turn_index <= 6,
        "three messages, a hint, and no endless offers: {}",
        state.turns().turn_index
    );
    assert!(!state.work().items.is_empty(), "an item is left, and the agent rests over it");
}

#[test]
fn a_provider_that_spams_waits_leaves_one_of_each_owner() {
    let (state, _) = played(Adversary::SpamsWaits);
    let owners: Vec<_> =
        state.waiting().conditions.values().map(|wait| wait.record.work_item_id.clone()).collect();
    let mut distinct = owners.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(owners.len(), distinct.len());
    assert!(!owners.is_empty());
}

#[test]
fn a_provider_that_waits_for_nothing_waits_for_nothing() {
    let (state, ignored) = played(Adversary::WaitsForNothing);
    assert!(state.waiting().conditions.is_empty());
    assert!(
        ignored.contains(&Refusal::Unknown) && ignored.contains(&Refusal::NoWaker),
        "{ignored:?}"
    );
}

#[test]
fn a_provider_that_creates_items_gets_no_more_turns_than_there_are_reasons_for() {
    let (state, _) = played(Adversary::CreatesItems);
    let made =
        state.work().items.keys().filter(|id| id.as_str().starts_with("more-")).count() as u64;
    assert!((1..=TURNS).contains(&made), "{made}");
    assert!(state.turns().turn_index >= made);
}

#[test]
fn a_provider_that_never_completes_moves_its_item_each_time() {
    let (state, _) = played(Adversary::NeverCompletes);
    let moved = state.work().items.values().map(|item| item.record.revision).max();
    assert!(moved.is_some_and(|revision| revision > 1), "{moved:?}");
    assert!(state.work().items.values().all(|item| item.record.state == WorkItemState::Open));
}

#[test]
fn a_provider_that_promises_and_completes_has_completed() {
    let (state, ignored) = played(Adversary::PromisesAndCompletes);
    assert!(state.work().items.is_empty(), "a completed item is not open again");
    assert!(!state.work().completed.is_empty());
    assert!(ignored.contains(&Refusal::AlreadyTerminal), "{ignored:?}");
}

/// contract 9.4, 9.5: whatever a provider does forever, the agent starts no more turns on its own
/// than the policy allows. The operator is notified once, and operator input is taken at once.
#[test]
fn every_adversary_is_parked_and_the_operator_is_heard() {
    const BOUND: u64 = 40;
    let policy =
        format!(r#"{{"fact":{{"fact":"policy_set","policy":{{"autonomous_turns":{BOUND}}}}}}},"#);
    // Four days are longer than all offers of an item together.
    let days = r#"{"prompt":"do it"},{"wait_ms":345600000}"#;
    for adversary in Adversary::ALL {
        let (ledger, _) =
            played_with(*adversary, &format!(r#"{policy}{days},{{"prompt":"stop that"}}"#), "");
        let records = records(ledger);
        let said = |record: &Record| matches!(record, Record::Message(message) if message.body.as_text() == "stop that");
        let at = records.iter().position(said).expect("the operator's message");
        let (before, after) = records.split_at(at);
        let turns = before.iter().filter_map(started).count() as u64;
        assert!(turns <= BOUND + 1, "{adversary}: {turns} turns on its own");
        assert!(
            before.iter().filter(|record| is_parked(record)).count() <= 1,
            "{adversary}: reported more than once"
        );
        let Record::Message(word) = &after[0] else { panic!("{adversary}: {:?}", after[0]) };
        assert_eq!(
            after.iter().find_map(started),
            Some(&word.id),
            "{adversary}: the operator's message starts the next turn"
        );
    }
}

fn records(mut ledger: WatchedLedger) -> Vec<Record> {
    let mut head = Head::START;
    let entries = ledger.read(Seq(0), u32::MAX).expect("a ledger in memory");
    let open = entries.iter().map(|bytes| {
        let entry = bytes.open(&head).expect("a sound entry");
        head = entry.head();
        entry.record
    });
    open.collect()
}

fn started(record: &Record) -> Option<&MessageId> {
    match record {
        Record::Turn(turn) if turn.status == RunStatus::Started => Some(&turn.message_id),
        _ => None,
    }
}

fn is_parked(record: &Record) -> bool {
    let Record::Event(event) = record else { return false };
    let kind = || event.data()?.field("kind")?.read::<String>().ok();
    event.kind == EventKind::SchedulerDiagnostic.as_str() && kind().as_deref() == Some("parked")
}

#[test]
fn every_adversary_is_played_above() {
    assert_eq!(Adversary::ALL.len(), 6, "a new adversary needs its own test");
}
