//! Thirty days with a thousand timers, rechecks, deadlines and timed rests, a clock that jumps both
//! ways, and a hundred restarts. Everything fires exactly as the contract says (contract 1.3, 5.17,
//! 5.20, 5.23, 7.2, 9.3).

use wakeful_core::record::waiting::WaitConditionStatus;
use wakeful_tests::time::{Found, Kind, Life, Plan};

fn live(seed: u64) {
    let plan = Plan::of_seed(seed);
    assert_eq!(plan.dues.len(), 1_000);
    let lived = Life::lived(&plan).expect("no call fails");
    assert_eq!(lived.ledger.breaches(), [], "seed {seed}");
    let mut found = Found::in_entries(&lived.ledger.opened());
    let mut model = lived.model;

    // Everything fires at its instant and no other, nothing fires twice, and nothing is lost.
    found.fires.sort();
    model.fires.sort();
    let differ = found.fires.iter().zip(&model.fires).find(|(found, demanded)| found != demanded);
    assert_eq!(differ, None, "seed {seed}: found, and what the contract requires instead");
    assert_eq!(found.fires.len(), model.fires.len(), "seed {seed}");
    found.told.sort();
    model.told.sort();
    assert_eq!(found.told, model.told, "seed {seed}: the subjects of the turns");
    assert_eq!(found.behind, model.behind, "seed {seed}: how often the clock was behind");

    // contract 5.17: an instant resolves its wait, a deadline expires it.
    for due in &plan.dues {
        let as_it_must = match due.kind {
            Kind::Instant => WaitConditionStatus::Resolved,
            _ => WaitConditionStatus::Expired,
        };
        assert!(
            found.ended.get(&due.id).is_none_or(|status| *status == as_it_must),
            "seed {seed}: {}",
            due.id
        );
    }
    let expired =
        found.ended.values().filter(|status| **status == WaitConditionStatus::Expired).count();
    let late = found.fires.iter().filter(|fire| fire.at > fire.due).count();
    println!(
        "seed {seed}: {} fires ({late} late) of 1000 things in {} entries; {} turns about them, \
         {} waits resolved and {expired} expired; {} restarts ({} in a turn), {} jumps of the \
         clock ({} reported), {} wakes, {} batches checked",
        found.fires.len(),
        lived.ledger.opened().len(),
        found.told.len(),
        found.ended.len() - expired,
        lived.restarts,
        lived.in_turn,
        lived.jumps,
        found.behind,
        lived.looks,
        lived.ledger.batches(),
    );
    assert_eq!((lived.restarts, lived.jumps), (100, 40));
    assert!(
        lived.in_turn > 10 && found.behind > 3 && late > 50,
        "the plan of seed {seed} has too few faults"
    );
}

#[test]
fn thirty_days_of_time_fire_exactly_as_the_contract_says() {
    [1, 2, 3].into_iter().for_each(live);
}
