//! Why not: each way leads to the wanted decision, none of its facts can be left out, and no single
//! fact of the table is missing (contract 11.2).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wakeful::case::{self, CaseKind};
use wakeful_core::{
    explain::{
        WhyNot,
        table::{self, PLACES, ROWS, Tried},
    },
    fact::Fact,
    foreign::{self, Import},
    json,
    machine::{Machine, Options},
    record::{
        decision::{Boundary, DecisionKind},
        edition::Edition,
    },
    state::State,
    time::Timestamp,
};
use wakeful_tests::{
    paths,
    sequence::{Command, Host, sequences},
};

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);
const HERE: Boundary = Boundary::RunLoopIdle;

/// Every fixture as a machine, by name: as it was imported, and after a driver took it over and ran
/// it to rest.
fn fixtures() -> Vec<(String, Box<dyn Fn() -> Machine>)> {
    let cases = case::load_all(&[paths::data("fixtures/scheduler")]).expect("the fixtures");
    let folders = cases.into_iter().filter_map(|case| match case.kind {
        CaseKind::Fixture(folder) => Some((case.name, folder)),
        CaseKind::Story(..) => None,
    });
    let imported = |folder: &foreign::Folder| {
        let mut machine = Machine::new(Options::new(foreign::agent_of(folder).expect("an agent")));
        machine.begin(NOW).expect("a fresh ledger");
        machine.committed();
        machine.import(Import::of_folder(folder, NOW).expect("a folder"), NOW).expect("an import");
        machine.committed();
        machine
    };
    let mut machines: Vec<(String, Box<dyn Fn() -> Machine>)> = Vec::new();
    for (name, folder) in folders {
        let driven = folder.clone();
        machines.push((format!("{name}, driven"), Box::new(move || at_rest(imported(&driven)))));
        machines.push((name, Box::new(move || imported(&folder))));
    }
    machines
}

fn at_rest(mut machine: Machine) -> Machine {
    machine.propose_json(r#"{"fact":"runtime_restarted"}"#, NOW).expect("a fact");
    machine.committed();
    for _ in 0..20 {
        if machine.step(HERE, NOW).expect("a driven ledger").is_none() {
            break;
        }
        machine.committed();
    }
    machine
}

/// The decision after these facts.
fn decided(mut machine: Machine, facts: &[&str]) -> DecisionKind {
    for fact in facts {
        machine.propose_json(fact, NOW).expect("a fact");
        machine.committed();
    }
    machine.explain(HERE, NOW).decision.kind
}

#[test]
fn each_way_leads_there_and_none_of_its_facts_can_be_left_out() {
    let mut ways = 0;
    let mut reached = BTreeSet::new();
    for (name, machine) in fixtures() {
        for &asked in DecisionKind::ALL {
            let WhyNot { decision, ways: found, .. } = machine().why_not(HERE, asked, NOW);
            assert!(
                decision.kind != asked || found.is_empty(),
                "{name}: the decision is {asked:?} already"
            );
            for way in found {
                let facts: Vec<_> = way.facts.iter().map(|fact| fact.as_str()).collect();
                assert_eq!(decided(machine(), &facts), asked, "{name}: {:?}", way.says);
                assert_eq!(way.decision.kind, asked);
                assert_eq!(way.says.len(), facts.len());
                for left_out in 0..facts.len() {
                    let rest: Vec<_> = facts
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| *at != left_out)
                        .map(|(_, fact)| *fact)
                        .collect();
                    assert_ne!(
                        decided(machine(), &rest),
                        asked,
                        "{name}: {:?} without one of them",
                        way.says
                    );
                }
                ways += 1;
                reached.insert(asked);
            }
        }
    }
    assert!(ways >= 100, "{ways} ways were found");
    for kind in DecisionKind::ALL {
        assert!(reached.contains(kind), "no fixture has a way to {kind:?}");
    }
}

/// contract 1.5: a reading appends nothing and releases nothing.
#[test]
fn asking_why_not_changes_nothing() {
    for (name, machine) in fixtures() {
        let machine = machine();
        let before = machine.state().clone();
        let first = machine.why_not(HERE, DecisionKind::Sleep, NOW);
        assert_eq!(machine.state(), &before, "{name}");
        assert_eq!(
            machine.why_not(HERE, DecisionKind::Sleep, NOW),
            first,
            "{name}: the same answer twice"
        );
    }
}

/// A ledger of a driver, at rest after these facts.
fn rested(facts: &[&str]) -> Host {
    let mut host = Host::new(Edition::default());
    for fact in facts {
        host.play(&Command::Say((*fact).to_owned())).expect(fact);
    }
    host.play(&Command::Run).expect("it rests");
    host
}

#[test]
fn what_the_sentence_names_comes_first() {
    use DecisionKind::{EmitSystemTick, Sleep, StartModelTurn, WaitForTask};
    const ITEM: &str = r#"{"fact":"work_item_created","work_item_id":"w","objective":"o"}"#;
    const TASK: &str = r#"{"fact":"task_created","task_id":"t","task_kind":"command_task","work_item_id":"w","wait_policy":"blocking"}"#;
    const TRIGGER: &str = r#"{"fact":"external_trigger_created","external_trigger_id":"e","token_hash":"1111111111111111111111111111111111111111111111111111111111111111","description":"ci","delivery_mode":"enqueue_message","trust":"trusted_integration"}"#;
    const HINTED: &str = r#"{"fact":"external_trigger_created","external_trigger_id":"e","token_hash":"1111111111111111111111111111111111111111111111111111111111111111","description":"ci","delivery_mode":"wake_hint","trust":"trusted_integration"}"#;
    const INTENT: &str = r#"{"fact":"waiting_intent_created","waiting_intent_id":"i","scope":"agent","description":"green","source":"ci","delivery_mode":"wake_hint","external_trigger_id":"e"}"#;
    const FOR_OPERATOR: &str = r#"{"fact":"wait_condition_registered","wait_condition_id":"c","kind":"operator","waiting_for":"an answer","wake_sources":[{"kind":"operator_input"}]}"#;
    const FOR_TRIGGER: &str = r#"{"fact":"wait_condition_registered","wait_condition_id":"c","kind":"external","waiting_for":"green","wake_sources":[{"kind":"external_ingress","external_trigger_id":"e"}]}"#;
    const FOR_TRIGGER_OF_HOST: &str = r#"{"fact":"wait_condition_registered","wait_condition_id":"c","kind":"external","waiting_for":"green","wake_sources":[{"kind":"external_ingress"}]}"#;
    const PICKED: &str = r#"{"fact":"work_item_picked","work_item_id":"w"}"#;
    let delivered = "something is delivered to trigger `e`";
    for (facts, asked, first) in [
        (&[r#"{"fact":"stop_requested"}"#][..], Sleep, "the agent is started"),
        (&[r#"{"fact":"shutdown_requested"}"#][..], Sleep, "the runtime restarts"),
        (&[TRIGGER, INTENT][..], StartModelTurn, delivered),
        (&[HINTED, INTENT][..], EmitSystemTick, delivered),
        (&[TRIGGER, FOR_TRIGGER][..], StartModelTurn, delivered),
        (&[FOR_OPERATOR][..], StartModelTurn, "the operator says something"),
        (&[ITEM, PICKED, TASK][..], StartModelTurn, "task `t` completes"),
        (
            &[
                r#"{"fact":"budget_set","tokens_total":1}"#,
                r#"{"fact":"message_queued","message":{"id":"m","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"hello"}}}"#,
                "RUN",
                r#"{"fact":"provider_round_completed","run_id":"$run","round":1,"input_tokens":9}"#,
                r#"{"fact":"turn_terminal","run_id":"$run","kind":"completed"}"#,
                ITEM,
            ][..],
            EmitSystemTick,
            "the agent has no budget",
        ),
        (
            &[
                FOR_TRIGGER_OF_HOST,
                r#"{"fact":"owner_breach_reported","reason":"its host panicked"}"#,
            ],
            StartModelTurn,
            "the operator says something",
        ),
        // No event leads to this wait, so the order is that of the table.
        (&[][..], WaitForTask, "the agent waits for a task until the operator says something"),
    ] {
        let host = match facts.iter().position(|fact| *fact == "RUN") {
            Some(at) => {
                let mut host = rested(&facts[..at]);
                for fact in &facts[at + 1..] {
                    host.play(&Command::Say((*fact).to_owned())).expect(fact);
                }
                host.play(&Command::Run).expect("it rests");
                host
            }
            None => rested(facts),
        };
        let state = host.scheduler().state();
        let machine = Machine::standing(Options::new("default".into()), state.clone());
        let sentence = machine.explain(HERE, state.at()).sentence;
        let ways = machine.why_not(HERE, asked, state.at()).ways;
        let says: Vec<_> = ways.iter().map(|way| way.says.join(" and ")).collect();
        assert_eq!(says.first().map(String::as_str), Some(first), "{sentence} {asked:?}: {says:?}");
    }
}

/// The most ways that are listed.
const LISTED: usize = 100;

#[test]
fn each_fact_of_the_vocabulary_has_one_row_in_its_order() {
    let rows: Vec<_> = ROWS.iter().map(|row| row.fact).collect();
    assert_eq!(rows, Fact::NAMES, "a new fact needs a row in core/src/explain/table/rows.rs");
    for row in ROWS {
        match row.tried {
            Tried::As(tries) => assert!(!tries.is_empty(), "{}: a row without a try", row.fact),
            Tried::Never(why) => assert!(!why.is_empty(), "{}: never, without a reason", row.fact),
        }
    }
}

/// A ledger with something for every place, played by its driver, with or without an open run.
fn full(run: bool) -> Host {
    let mut host = Host::new(Edition::default());
    let mut say = |facts: &[&str]| {
        for fact in facts {
            host.play(&Command::Say((*fact).to_owned())).expect(fact);
        }
    };
    say(&[
        r#"{"fact":"work_item_created","work_item_id":"$item","objective":"o"}"#,
        r#"{"fact":"task_created","task_id":"t","task_kind":"command_task"}"#,
        r#"{"fact":"timer_created","timer_id":"k","duration_ms":60000}"#,
        r#"{"fact":"external_trigger_created","external_trigger_id":"e","token_hash":"1111111111111111111111111111111111111111111111111111111111111111","description":"ci","delivery_mode":"wake_hint","trust":"trusted_integration"}"#,
        r#"{"fact":"waiting_intent_created","waiting_intent_id":"i","scope":"agent","description":"d","source":"ci","delivery_mode":"wake_hint","external_trigger_id":"elsewhere"}"#,
        r#"{"fact":"wait_condition_registered","wait_condition_id":"c","kind":"external","waiting_for":"it","wake_sources":[{"kind":"external_ingress"}]}"#,
        r#"{"fact":"message_queued","message":{"id":"m1","kind":"operator_prompt","origin":{"kind":"operator"},"trust":"trusted_operator","body":{"type":"text","text":"hello"}}}"#,
    ]);
    if run {
        host.play(&Command::Run).expect("a step");
    }
    host
}

#[test]
fn every_try_of_the_table_is_made_and_every_place_has_a_value() {
    let made: Vec<String> = [full(false), full(true)]
        .iter()
        .flat_map(|host| table::facts(host.scheduler().state()))
        .map(|fact| json::write(&fact))
        .collect();
    let mut used = BTreeSet::new();
    for row in ROWS {
        let Tried::As(tries) = row.tried else { continue };
        for each in tries {
            // The text of the row before its first place is in a fact that was made of it.
            let fixed = each.fields.split('$').next().unwrap_or_default().trim_end_matches(',');
            let members = fixed.trim_start_matches(r#""message":{"id":"#);
            assert!(
                made.iter().any(|fact| {
                    fact.starts_with(&format!(r#"{{"fact":"{}""#, row.fact))
                        && fact.contains(members)
                }),
                "{} with {} is never made: {}",
                row.fact,
                each.fields,
                each.says
            );
            used.extend(
                PLACES.iter().map(|place| place.name).filter(|name| each.fields.contains(name)),
            );
        }
    }
    let known: BTreeSet<_> = PLACES.iter().map(|place| place.name).collect();
    assert_eq!(used, known, "a place that no row uses");
    // An id that looks like a place is an id.
    let picked = r#"{"fact":"work_item_picked","work_item_id":"$item"}"#;
    assert_eq!(made.iter().filter(|fact| *fact == picked).count(), 2);
}

/// The decision of a state after a fact; `None` if the fact is refused or ignored.
fn after(state: &State, fact: &Fact, now: Timestamp) -> Option<DecisionKind> {
    let mut machine = Machine::standing(Options::new("default".into()), state.clone());
    let answer = machine.propose_json(&json::write(fact), now).ok()?.answer;
    machine.committed();
    let is_accepted = answer == wakeful_core::fact::outcome::Answer::Accepted;
    is_accepted.then(|| machine.explain(HERE, now).decision.kind)
}

/// Compares every answer of `why_not` in a state with what each fact of the table does alone.
fn is_complete(state: &State, now: Timestamp) -> Result<usize, TestCaseError> {
    let machine = Machine::standing(Options::new("default".into()), state.clone());
    let mut by_kind: BTreeMap<DecisionKind, Vec<String>> = BTreeMap::new();
    for fact in table::facts(state) {
        if let Some(kind) = after(state, &fact, now) {
            by_kind.entry(kind).or_default().push(json::write(&fact));
        }
    }
    let mut found = 0;
    for &asked in DecisionKind::ALL {
        let WhyNot { decision, ways, more, .. } = machine.why_not(HERE, asked, now);
        if decision.kind == asked {
            prop_assert!(ways.is_empty() && more == 0);
            continue;
        }
        let alone = by_kind.remove(&asked).unwrap_or_default();
        if alone.is_empty() {
            prop_assert!(ways.iter().all(|way| way.facts.len() > 1), "{asked:?}: {ways:?}");
            continue;
        }
        let expected: BTreeSet<_> = alone.iter().map(String::as_str).collect();
        let told: BTreeSet<_> = ways.iter().map(|way| way.facts[0].as_str()).collect();
        prop_assert!(ways.iter().all(|way| way.facts.len() == 1));
        prop_assert!(told.is_subset(&expected), "{asked:?}: {:?}", told.difference(&expected));
        prop_assert_eq!(ways.len() + usize::try_from(more).expect("few"), alone.len());
        prop_assert_eq!(ways.len(), alone.len().min(LISTED));
        found += alone.len();
    }
    Ok(found)
}

#[test]
fn no_fact_of_the_table_is_missing_in_a_full_ledger() {
    for host in [full(false), full(true)] {
        let state = host.scheduler().state();
        assert!(is_complete(state, state.at()).expect("complete") > 5);
    }
}

/// Fixtures are observed, so the facts of other runtimes count in them.
#[test]
fn no_fact_of_the_table_is_missing_in_a_fixture() {
    let found = fixtures().into_iter().map(|(name, machine)| {
        is_complete(machine().state(), NOW).unwrap_or_else(|why| panic!("{name}: {why}"))
    });
    assert!(found.sum::<usize>() > 1_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_fact_of_the_table_is_missing_in_any_ledger(commands in sequences(40)) {
        let mut host = Host::new(Edition::default());
        for command in &commands {
            host.play(command).expect("a drawn command");
        }
        let state = host.scheduler().state();
        is_complete(state, state.at())?;
    }

    /// The values of the table are enough: a decision that any drawn fact leads to has a way.
    #[test]
    fn a_decision_that_some_fact_alone_leads_to_has_a_way(commands in sequences(60)) {
        let mut host = Host::new(Edition::default());
        for command in &commands {
            let state = host.scheduler().state().clone();
            host.play(command).expect("a drawn command");
            let after = host.scheduler().state();
            if !matches!(command, Command::Say(_)) || after.at() != state.at() {
                continue;
            }
            let at = state.at();
            let standing = |state| Machine::standing(Options::new("default".into()), state);
            let reached = standing(after.clone()).explain(HERE, at).decision.kind;
            let WhyNot { decision, ways, .. } = standing(state).why_not(HERE, reached, at);
            let is_single = |way: &wakeful_core::explain::Way| way.facts.len() == 1;
            prop_assert!(
                decision.kind == reached || (!ways.is_empty() && ways.iter().all(is_single)),
                "{command:?} leads from {:?} to {reached:?}",
                decision.kind
            );
        }
    }

    /// What a row says it never does.
    #[test]
    fn a_fact_that_is_never_tried_changes_no_decision(commands in sequences(60)) {
        let never: Vec<_> = ROWS
            .iter()
            .filter(|row| matches!(row.tried, Tried::Never(_)))
            .map(|row| format!(r#""fact":"{}""#, row.fact))
            .collect();
        let mut host = Host::new(Edition::default());
        let decided = |host: &Host| {
            let state = host.scheduler().state().clone();
            let at = state.at();
            Machine::standing(Options::new("default".into()), state).explain(HERE, at).decision.kind
        };
        for command in &commands {
            let is_never = match command {
                Command::Say(fact) => never.iter().any(|name| fact.contains(name)),
                _ => false,
            };
            // Only the fact may make a difference, so its batch has the time of the one before.
            let state = host.scheduler().state().clone();
            let before = decided(&host);
            host.play(command).expect("a drawn command");
            if is_never && host.scheduler().state().at() == state.at() {
                prop_assert_eq!(before, decided(&host), "{:?}", command);
            }
        }
    }
}
