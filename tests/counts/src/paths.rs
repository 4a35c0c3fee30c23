//! The paths that are counted.

use wakeful_core::Boundary;
use wakeful_host::engine::Engine;

use crate::{
    agent::{Agent, Turns},
    kept::Kept,
    situation::{self, KINDS, SIZES},
};

/// The agent's name in all ledgers.
pub(crate) const AGENT: &str = "bench";

/// The full steps before anything is counted, so that what is made once is made.
const FIRST: usize = 3;

/// More messages than an agent of a situation was sent.
const UNSAID: u64 = 1_000_000;

/// Makes engines, and counts what they do.
pub trait Meter {
    /// An engine.
    type Engine: Engine;

    /// An engine over a ledger and a provider.
    fn over(&self, ledger: Kept, turns: Turns) -> Self::Engine;

    /// Does the work, and remembers what it cost under the name of its path.
    fn count(&mut self, path: &str, agent: &mut Counted<Self>, work: Work<'_, Self>);
}

/// An agent whose paths are counted.
pub type Counted<M> = Agent<<M as Meter>::Engine>;

/// The work of a path.
pub type Work<'a, M> = &'a mut dyn FnMut(&mut Counted<M>);

/// The ledgers on which the paths are counted, with their names.
pub fn ledgers() -> impl Iterator<Item = (String, Kept)> {
    let (log, snapshot) = situation::after_turns();
    let alone = [(LOG.to_owned(), log), (SNAPSHOT.to_owned(), snapshot)];
    let beside = KINDS
        .iter()
        .flat_map(|kind| SIZES.map(|size| (kind.beside(size), situation::beside(kind, size))));
    alone.into_iter().chain(beside)
}

const LOG: &str = "log";

const SNAPSHOT: &str = "snapshot";

/// Counts every path. `ledger` finds a ledger by its name.
///
/// # Panics
/// If an engine gives an error.
pub fn count<M: Meter>(meter: &mut M, ledger: &mut dyn FnMut(&str) -> Kept) {
    let open = |meter: &mut M, path: Option<&str>, ledger: Kept| {
        let turns = Turns::default();
        let mut agent = Agent::new(meter.over(ledger, turns.clone()), turns);
        match path {
            Some(path) => meter.count(path, &mut agent, &mut |agent| agent.open(AGENT)),
            None => agent.open(AGENT),
        }
        agent.goes_on_after(UNSAID);
        agent
    };
    drop(open(meter, Some("open a new ledger"), Kept::default()));
    drop(open(meter, Some("open a ledger of 100 turns"), ledger(LOG)));
    let mut agent = open(meter, Some("open a snapshot of 100 turns"), ledger(SNAPSHOT));
    (0..FIRST).for_each(|_| agent.round());
    let message = agent.next_message();
    meter.count("propose a message", &mut agent, &mut |agent| agent.propose(&message));
    meter.count("decide and admit its turn", &mut agent, &mut Agent::rest);
    let end = agent.end_of_turn().expect("the message starts a turn");
    meter.count("settle the turn", &mut agent, &mut |agent| agent.propose(&end));
    meter.count("decide to rest", &mut agent, &mut Agent::rest);
    meter.count("ask for the next wake", &mut agent, &mut |agent| {
        agent.engine.next_wake().expect("it is open");
    });
    meter.count("explain", &mut agent, &mut |agent| {
        agent.engine.explain(Boundary::RunLoopIdle).expect("it is open");
    });
    meter.count("make a snapshot", &mut agent, &mut |agent| {
        agent.engine.snapshot().expect("it is open");
    });
    for kind in &KINDS {
        for size in SIZES {
            let path = kind.beside(size);
            let mut agent = open(meter, None, ledger(&path));
            (0..FIRST).for_each(|_| agent.round());
            meter.count(&format!("full step beside {path}"), &mut agent, &mut Agent::round);
        }
    }
}
