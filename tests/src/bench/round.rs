//! A full step, beside what every implementation must do: read and write the same JSON, and hash
//! the entries.

use serde_json::Value;
use wakeful_host::ledger::MemoryLedger;

use super::{
    Depth, Figure, agent,
    measure::{Subject, beside},
};

/// Rounds per measurement.
const ROUNDS: usize = 100;

/// The most that a full step may take, as a multiple of [`least`].
pub(super) const GOAL: f64 = 1.38;

/// A native step that takes that much.
pub(super) const AT_GOAL: &str = "native core at its goal";

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let mut agent = agent::native(MemoryLedger::default());
    (0..ROUNDS).for_each(|_| agent.round());
    let full = || {
        (0..ROUNDS).for_each(|_| agent.round());
        ROUNDS as u64
    };
    let [full, least] = beside(depth.turns(), [Box::new(full), least()]);
    vec![Figure::new("full step", full, "the same JSON, and its BLAKE3", least).within(GOAL)]
}

/// What every implementation of a full step must do: read and write its JSON, and hash its entries.
pub(super) fn least() -> Subject<'static> {
    let ledger = MemoryLedger::default();
    let mut agent = agent::native(ledger.clone());
    (0..ROUNDS).for_each(|_| agent.round());
    let from = ledger.len();
    (0..ROUNDS).for_each(|_| agent.round());
    let entries = ledger.lines_from(from);
    let facts: Vec<_> = (0..ROUNDS).flat_map(facts).collect();
    Box::new(move || {
        let mut written = 0;
        for text in facts.iter().chain(&entries) {
            let value: Value = serde_json::from_str(text).expect("what was written is JSON");
            written += serde_json::to_string(&value).expect("a value is written").len();
        }
        for entry in &entries {
            written += usize::from(blake3::hash(entry.as_bytes()).as_bytes()[0]);
        }
        // Otherwise the optimiser could remove the work.
        std::hint::black_box(written);
        ROUNDS as u64
    })
}

/// The facts of a round.
fn facts(round: usize) -> [String; 2] {
    [
        agent::message(&format!("message-{round}")),
        format!(r#"{{"fact":"turn_terminal","run_id":"run_bench_{round}","kind":"completed"}}"#),
    ]
}
