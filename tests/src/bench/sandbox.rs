//! The sandbox: a full step in wasmtime beside the same step of the native core, and what an
//! instance costs.

use std::thread;

use wakeful_host::{
    engine::Engine,
    ledger::MemoryLedger,
    sandbox::{Guest, Limits, Plugin, Pool, Runtime},
};

use super::{
    Depth, Figure,
    agent::{self, Agent, Ticking, Turns},
    measure::{Subject, beside},
    round::{self, AT_GOAL, GOAL},
};
use crate::paths;

/// Rounds per measurement.
const ROUNDS: u64 = 60;
/// Rounds before anything is measured.
const FIRST: u64 = 200;
/// Instances per measurement.
const INSTANCES: u64 = 50;

pub(super) type Lent = Plugin<MemoryLedger, Ticking, Turns>;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let (counting, plain) = (plugin(true), plugin(false));
    let mut native = agent::native(MemoryLedger::default());
    let (mut with_fuel, mut without) = (agent_in(&counting), agent_in(&plain));
    let [native, without, with_fuel, least] = beside(
        depth.turns(),
        [rounds(&mut native), rounds(&mut without), rounds(&mut with_fuel), round::least()],
    );
    let [thread, instance] =
        beside(depth.turns(), [Box::new(threads), Box::new(|| instances(&counting))]);
    vec![
        Figure::new("full step in wasmtime, without fuel", without, "native core", native),
        Figure::new("full step in wasmtime, with fuel", with_fuel, "native core", native),
        // A faster native core does not make the sandbox worse, so the goals are multiples of what a
        // native step may take.
        Figure::new("full step in wasmtime, without fuel", without, AT_GOAL, least * GOAL)
            .within(1.9),
        Figure::new("full step in wasmtime, with fuel", with_fuel, AT_GOAL, least * GOAL)
            .within(2.2),
        Figure::new(
            "new sandboxed agent to its first decision",
            instance,
            "starting and joining an OS thread",
            thread,
        ),
    ]
}

pub(super) fn plugin(counts_fuel: bool) -> Lent {
    let runtime = Runtime::new(Pool { counts_fuel, ..Pool::default() }).expect("wasmtime starts");
    Plugin::new(&guest(&runtime)).expect("the guest fits")
}

fn guest(runtime: &Runtime) -> Guest {
    runtime.load(&paths::guest("wakeful.component.wasm")).expect("the guest loads")
}

pub(super) fn agent_in(plugin: &Lent) -> Agent<impl Engine> {
    let turns = Turns::default();
    let instance = plugin.instance(
        MemoryLedger::default(),
        Ticking::default(),
        turns.clone(),
        Limits::default(),
    );
    Agent::opened("bench", instance.expect("the pool has room"), turns)
}

fn rounds<'a>(agent: &'a mut Agent<impl Engine + 'a>) -> Subject<'a> {
    (0..FIRST).for_each(|_| agent.round());
    Box::new(|| {
        (0..ROUNDS).for_each(|_| agent.round());
        ROUNDS
    })
}

fn instances(plugin: &Lent) -> u64 {
    for _ in 0..INSTANCES {
        let mut agent = agent_in(plugin);
        agent.propose(&agent::message("first"));
        agent.rest();
    }
    INSTANCES
}

fn threads() -> u64 {
    for _ in 0..INSTANCES {
        thread::spawn(|| ()).join().expect("nothing panics");
    }
    INSTANCES
}
