//! Why not: each way leads to the wanted decision, and none of its facts can be left out (contract
//! 11.2).

use std::collections::BTreeSet;

use wakeful::case::{self, CaseKind};
use wakeful_core::{
    explain::WhyNot,
    foreign::{self, Import},
    machine::{Machine, Options},
    record::decision::{Boundary, DecisionKind},
    time::Timestamp,
};
use wakeful_tests::paths;

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
    // Noop says that a run is open. Decisions open runs, and facts do not, so no facts lead there.
    for kind in DecisionKind::ALL.iter().copied().filter(|kind| *kind != DecisionKind::Noop) {
        assert!(reached.contains(&kind), "no fixture has a way to {kind:?}");
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
