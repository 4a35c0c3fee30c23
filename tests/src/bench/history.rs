//! A long history: what a step and a decision cost after it.

use wakeful_core::record::decision::Boundary;
use wakeful_host::{engine::Engine, ledger::MemoryLedger};

use super::{
    Depth, Figure,
    agent::{self, Agent},
    measure::beside,
};

/// Rounds per measurement.
const ROUNDS: u64 = 40;
/// Decisions per measurement.
const DECISIONS: u64 = 400;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let longest = match depth {
        Depth::Quick => 100_000,
        Depth::Whole => 1_000_000,
    };
    let lengths = [100, 10_000, longest];
    let mut agents = lengths.map(after);
    let [a, b, c] = agents.each_mut();
    let rounds = beside(
        depth.turns(),
        [a, b, c].map(|agent| Box::new(move || rounds(agent)) as Box<dyn FnMut() -> u64>),
    );
    let [a, b, c] = agents.each_mut();
    let decisions = beside(
        depth.turns(),
        [a, b, c].map(|agent| Box::new(move || decisions(agent)) as Box<dyn FnMut() -> u64>),
    );
    let flat = |what: &str, costs: [f64; 3]| {
        let figure = |at: usize| {
            Figure::new(
                format!("{what} after {} entries", lengths[at]),
                costs[at],
                format!("after {}", lengths[0]),
                costs[0],
            )
            .within(1.2)
        };
        [figure(1), figure(2)]
    };
    [flat("full step", rounds), flat("decision", decisions)].concat()
}

/// An agent whose ledger has at least this number of entries.
fn after(entries: usize) -> Agent<impl Engine> {
    let ledger = MemoryLedger::default();
    let mut agent = agent::native(ledger.clone());
    while ledger.len() < entries {
        agent.round();
    }
    agent
}

fn rounds(agent: &mut Agent<impl Engine>) -> u64 {
    (0..ROUNDS).for_each(|_| agent.round());
    ROUNDS
}

fn decisions(agent: &mut Agent<impl Engine>) -> u64 {
    for _ in 0..DECISIONS {
        agent.engine.step(Boundary::RunLoopIdle).expect("an agent at rest decides");
    }
    DECISIONS
}
