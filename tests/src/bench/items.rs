//! Many live work items: what a step costs beside them.

use wakeful_host::{engine::Engine, ledger::MemoryLedger};

use super::{
    Depth, Figure,
    agent::{self, Agent},
    measure::beside,
};

/// Rounds per measurement.
const ROUNDS: u64 = 40;

/// The situation of the items.
#[derive(Clone, Copy)]
enum Life {
    /// It was offered to the model, which left it unchanged.
    Offered,
    /// It waits for an external event.
    Waiting,
}

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    [Life::Waiting, Life::Offered].into_iter().flat_map(|life| figures_for(life, depth)).collect()
}

fn figures_for(life: Life, depth: Depth) -> Vec<Figure> {
    let most = match depth {
        Depth::Quick => 10_000,
        Depth::Whole => 100_000,
    };
    let counts = [10, 1_000, most];
    let mut agents = counts.map(|count| with(life, count));
    let [a, b, c] = agents.each_mut();
    let costs = beside(
        depth.turns(),
        [a, b, c].map(|agent| Box::new(move || rounds(agent)) as Box<dyn FnMut() -> u64>),
    );
    let what = match life {
        Life::Offered => "that were offered",
        Life::Waiting => "that wait",
    };
    let figure = |at: usize| {
        Figure::new(
            format!("full step beside {} items {what}", counts[at]),
            costs[at],
            format!("beside {}", counts[0]),
            costs[0],
        )
        .within(1.2)
    };
    vec![figure(1), figure(2)]
}

/// An agent with this number of items.
fn with(life: Life, items: u32) -> Agent<impl Engine> {
    let mut agent = agent::native(MemoryLedger::default());
    for item in 0..items {
        agent
            .propose(&format!(r#"{{"fact":"work_item_created","work_item_id":"item-{item}","objective":"the objective of item {item}"}}"#));
        if let Life::Waiting = life {
            agent.propose(&format!(
                r#"{{"fact":"wait_condition_registered","wait_condition_id":"wait-{item}","work_item_id":"item-{item}","kind":"external",
                "waiting_for":"the callback of item {item}"}}"#
            ));
        }
    }
    agent.settle();
    agent
}

fn rounds(agent: &mut Agent<impl Engine>) -> u64 {
    (0..ROUNDS).for_each(|_| agent.round());
    ROUNDS
}
