//! Opening a long ledger, from its first entry and from a snapshot.

use serde_json::Value;
use wakeful_core::{
    machine::{Machine, Options},
    record::entry::EntryBytes,
};
use wakeful_host::ledger::MemoryLedger;

use super::{Depth, Figure, agent, measure::beside};

/// The number of entries after the snapshot.
const TAIL: usize = 1_000;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let length = match depth {
        Depth::Quick => 100_000,
        Depth::Whole => 1_000_000,
    };
    let ledger = MemoryLedger::default();
    let mut agent = agent::native(ledger.clone());
    while ledger.len() < length {
        agent.round();
    }
    let lines: Vec<_> = ledger.lines_from(0).into_iter().map(EntryBytes::from_stored).collect();
    let (before, tail) = lines.split_at(lines.len() - TAIL);
    let snapshot = folded(new(), before).snapshot();
    let [parsed, whole, resumed] = beside(
        depth.turns() / 3,
        [
            Box::new(|| {
                let values = lines.iter().map(|line| {
                    serde_json::from_str::<Value>(line.as_str()).expect("an entry is JSON")
                });
                values.map(|value| u64::from(value.is_object())).sum::<u64>() / lines.len() as u64
            }),
            Box::new(|| {
                folded(new(), &lines);
                1
            }),
            Box::new(|| {
                folded(Machine::resume(options(), &snapshot).expect("its own snapshot"), tail);
                1
            }),
        ],
    );
    let what = format!("{} entries", lines.len());
    vec![
        Figure::new(
            format!("open {what}: fold and verify all"),
            whole,
            "parsing the same bytes",
            parsed,
        )
        .within(1.8),
        Figure::new(
            format!("open {what}: from snapshot and {TAIL} more"),
            resumed,
            "folding all",
            whole,
        )
        .within(0.1),
    ]
}

fn options() -> Options {
    Options::new("bench".into())
}

fn new() -> Machine {
    Machine::new(options())
}

fn folded(mut machine: Machine, lines: &[EntryBytes]) -> Machine {
    lines.iter().for_each(|line| machine.load(line).expect("the ledger verifies"));
    machine
}
