//! Properties over random sequences of facts, steps, clocks and restarts: every batch keeps all
//! invariants. The entries alone give the state and all decisions (contract 1.2, 3.8).

use std::collections::BTreeSet;

use proptest::{
    collection::vec,
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngSeed, TestRunner},
};
use serde_json::json;
use wakeful_core::{
    derive::closure,
    fact::Fact,
    ladder::{self, View, owed},
    machine::{Machine, Options},
    record::{
        decision::{self, Boundary},
        edition::Edition,
    },
    state::State,
    time::Timestamp,
};
use wakeful_tests::sequence::{Command, Host, sequences};

const LONGEST: usize = 60;

/// The default number of cases of proptest, by which we see whether PROPTEST_CASES asks for
/// another.
const STOCK_CASES: u32 = 256;

/// The configuration of all properties.
pub(crate) fn config() -> Config {
    // A failing sequence is shrunk and printed. To keep it, make a scenario of it. The seed is
    // fixed, so that runs can be repeated; PROPTEST_RNG_SEED sets another one, and PROPTEST_CASES
    // another number of cases.
    let asked = Config::default();
    let rng_seed =
        if asked.rng_seed == RngSeed::Random { RngSeed::Fixed(20_260_527) } else { asked.rng_seed };
    let cases = if asked.cases == STOCK_CASES { 300 } else { asked.cases };
    Config { cases, rng_seed, failure_persistence: None, max_shrink_iters: 20_000, ..asked }
}

fn played(edition: Edition, commands: &[Command]) -> Host {
    let mut host = Host::new(edition);
    for command in commands {
        host.play(command).unwrap_or_else(|why| panic!("{command:?}: {why}"));
    }
    host
}

/// The state from the stored entries alone, through a snapshot after the first `from` entries.
fn folded(host: &Host, from: usize) -> State {
    let lines = host.ledger.entries().lines_from(0);
    let stored = |line: &String| wakeful_core::record::entry::EntryBytes::from_stored(line.clone());
    let mut machine = Machine::new(Options::new("default".into()));
    for line in &lines[..from] {
        machine.load(&stored(line)).expect("the ledger verifies");
    }
    let mut machine = Machine::resume(Options::new("default".into()), &machine.snapshot())
        .expect("a snapshot of this version");
    for line in &lines[from..] {
        machine.load(&stored(line)).expect("the ledger verifies");
    }
    machine.state().clone()
}

/// Facts of what the model remembers, in any state. `$at` makes the id of a brief unique.
fn remembered(state: &State, epoch: u64) -> Vec<String> {
    let anchor = state.context().anchor;
    // A result ends a runtime error in force (contract 6.2), which decides. So a brief is one only
    // if there is none.
    let kind = if state.context().runtime_error().is_some() { "ack" } else { "result" };
    let facts = [
        json!({"fact": "context_compacted", "compacted_message_count": 3, "context_summary": "so far so good"}),
        json!({"fact": "context_compacted", "compacted_message_count": 5, "context_summary": "better", "compression_epoch": epoch}),
        json!({"fact": "checkpoint_recorded", "anchor_generation": anchor, "data": {"text": "half of it is done"}}),
        json!({"fact": "brief_recorded", "brief_id": "brief-$at", "kind": kind, "text": "done"}),
        json!({"fact": "context_compacted", "compacted_message_count": 0}),
    ];
    facts.iter().map(ToString::to_string).collect()
}

/// What an agent in this state decides between turns, and the closure that it decides from.
fn decided(state: &State, now: Timestamp) -> (Vec<decision::Decision>, closure::Closure) {
    let boundaries = [Boundary::RunLoop, Boundary::RunLoopIdle];
    let decide = |boundary: &Boundary| {
        let view = View::new(state, *boundary, now);
        ladder::decide(state.edition(), &view).decision
    };
    (boundaries.iter().map(decide).collect(), closure::decide(&closure::Facts::from_state(state)))
}

/// No property would cover a fact that occurs in no sequence.
#[test]
fn each_fact_is_said_in_some_sequence() {
    let mut runner = TestRunner::new(config());
    let mut missing: BTreeSet<&str> = Fact::NAMES.iter().copied().collect();
    for _ in 0..config().cases {
        for command in sequences(LONGEST).new_tree(&mut runner).expect("a sequence").current() {
            let Command::Say(fact) = command else { continue };
            let fact: serde_json::Value = serde_json::from_str(&fact).expect("JSON");
            missing.remove(fact["fact"].as_str().expect("a name"));
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_invariant_holds_after_every_batch(commands in sequences(LONGEST)) {
        for &edition in Edition::ALL {
            let host = played(edition, &commands);
            prop_assert!(host.ledger.batches() > 0);
            let breaches = host.ledger.breaches();
            prop_assert!(breaches.is_empty(), "{breaches:#?}");
        }
    }

    #[test]
    fn snapshot_and_tail_give_the_fold(
        commands in sequences(LONGEST), cut in any::<prop::sample::Index>(),
    ) {
        let host = played(Edition::default(), &commands);
        let from = 1 + cut.index(host.ledger.entries().len());
        prop_assert_eq!(&folded(&host, from), &host.ledger.state());
        let state = host.scheduler().state();
        prop_assert_eq!(state, &host.ledger.state(), "the cached state is the fold");
    }

    #[test]
    fn duplicates_losses_and_shuffles_break_nothing(
        commands in sequences(LONGEST),
        twice in any::<prop::sample::Index>(),
        lost in any::<prop::sample::Index>(),
        shuffled in any::<u64>(),
    ) {
        let mut commands = commands;
        let again = commands[twice.index(commands.len())].clone();
        commands.insert(twice.index(commands.len()), again);
        commands.remove(lost.index(commands.len()));
        // A shuffle that proptest can shrink: the number says which commands are swapped.
        for at in (1..commands.len()).rev() {
            commands.swap(at, usize::try_from(shuffled % (at as u64 + 1)).expect("a position"));
        }
        let breaches = played(Edition::default(), &commands).ledger.breaches();
        prop_assert!(breaches.is_empty(), "{breaches:#?}");
    }

    /// contract 5.22: compactions, checkpoints and briefs are for the model and for people only.
    #[test]
    fn what_the_model_remembers_changes_no_decision_and_no_obligation(
        commands in sequences(LONGEST),
        places in vec(any::<prop::sample::Index>(), 1..6),
        epoch in 0..9_u64,
    ) {
        for &edition in Edition::ALL {
            let mut host = Host::new(edition);
            for (at, command) in commands.iter().enumerate() {
                host.play(command).unwrap_or_else(|why| panic!("{command:?}: {why}"));
                if !places.iter().any(|place| place.index(commands.len()) == at) {
                    continue;
                }
                let facts = remembered(host.scheduler().state(), epoch);
                for (number, fact) in facts.iter().enumerate() {
                    let before = host.scheduler().state().clone();
                    let fact = fact.replace("$at", &format!("{at}-{number}"));
                    host.play(&Command::Say(fact.clone())).expect("it is accepted");
                    let after = host.scheduler().state();
                    prop_assert!(after.head() != before.head(), "{} is not recorded", fact);
                    let instants = [before.at(), after.at(), after.at().plus_ms(3_600_000)];
                    for now in instants {
                        prop_assert_eq!(decided(&before, now), decided(after, now), "{}", &fact);
                    }
                    prop_assert_eq!(owed::all(&before), owed::all(after), "{}", &fact);
                    let old = before.context().compression_epoch;
                    let expected = match fact.contains("context_compacted") {
                        true if fact.contains("compression_epoch") => epoch.max(old + 1),
                        true => old + 1,
                        false => old,
                    };
                    prop_assert_eq!(after.context().compression_epoch, expected, "{}", &fact);
                }
            }
            let breaches = host.ledger.breaches();
            prop_assert!(breaches.is_empty(), "{breaches:#?}");
        }
    }

    #[test]
    fn the_editions_differ_only_under_a_wait(commands in sequences(LONGEST)) {
        let mut host = Host::new(Edition::default());
        for command in &commands {
            host.play(command).unwrap_or_else(|why| panic!("{command:?}: {why}"));
            let state = host.scheduler().state();
            let view = View::new(state, Boundary::RunLoopIdle, state.at());
            let rests = !view.agent_intents.is_empty()
                || !view.timers.is_empty()
                || !view.agent_waits.external.is_empty();
            if !rests {
                let under_rfc = View { work_before_waits: false, ..view.clone() };
                let rfc = ladder::decide(Edition::Rfc20260508, &under_rfc).decision;
                let pages = ladder::decide(Edition::default(), &view).decision;
                // The wait that a rest is named after may differ. That it is a rest may not.
                let both_rest = pages.kind.rests_as().is_some() && rfc.kind.rests_as().is_some();
                let said = |decision: &decision::Decision| {
                    (decision.kind, decision.message_id.clone(), decision.work_item_id.clone())
                };
                prop_assert!(both_rest || said(&pages) == said(&rfc), "{pages:?} against {rfc:?}");
            }
        }
    }
}
