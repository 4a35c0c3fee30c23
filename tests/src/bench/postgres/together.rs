//! Appends of many agents at once.

use std::{
    sync::{Barrier, Condvar, Mutex},
    thread,
    time::Instant,
};

use wakeful_core::host::Ledger;

use super::{
    bare::Appender,
    batch::{Batch, Sealer},
    store,
};
use crate::{
    bench::{
        Depth, Figure,
        measure::{Cost, least, timed},
    },
    fleet::Server,
};

/// The agents, each on a thread of its own.
const AGENTS: i64 = 100;
/// Batches of each agent per measurement.
const BATCHES: u64 = 10;
/// The connections of one statement per append: the most that a store has.
const CONNECTIONS: usize = 16;

/// Figures. Agents of a store queue up, and one statement at a time stores what has queued. So the
/// bare side sends its statements over one connection too, each with a batch of every agent. One
/// statement per append goes over as many connections as a store may have.
pub(super) fn figures(depth: Depth, server: &Server) -> Vec<Figure> {
    let store = store(server, "together");
    let connections: Vec<_> = (0..CONNECTIONS).map(|_| Appender::connect(server)).collect();
    // The numbers before are of other figures.
    let [of_all, of_each] = [1_000, 2_000].map(|first| first..first + AGENTS);
    connections[0].begin(of_all.clone().chain(of_each.clone()));
    let pool = Pool::new(connections);
    let agents: Vec<_> = (0..AGENTS).map(|number| format!("agent-{number}").into()).collect();
    let mut ledgers: Vec<_> = agents.iter().map(|agent| store.ledger(agent)).collect();
    let sealers = || -> Vec<Sealer> { (0..AGENTS).map(|_| Sealer::new()).collect() };
    let (mut for_store, mut for_all, mut for_each) = (sealers(), sealers(), sealers());
    let [shared, bare, single] = least(
        depth.turns() * 2,
        [
            Box::new(|| {
                at_once(ledgers.iter_mut().zip(seal(&mut for_store)), |(ledger, batches)| {
                    for batch in batches {
                        ledger
                            .append(&batch.expected, &batch.entries)
                            .expect("the head is the expected one");
                    }
                })
            }),
            Box::new(|| {
                let batches = seal(&mut for_all);
                let connection = pool.take();
                let cost = timed(AGENTS as u64 * BATCHES, || {
                    for at in 0..BATCHES as usize {
                        let of_each = batches.iter().map(|batches| &batches[at]);
                        let all: Vec<_> = of_all.clone().zip(of_each).collect();
                        connection.append_all(&all);
                    }
                });
                pool.put(connection);
                cost
            }),
            Box::new(|| {
                at_once(of_each.clone().zip(seal(&mut for_each)), |(agent, batches)| {
                    for batch in batches {
                        let connection = pool.take();
                        connection.append(agent, &batch);
                        pool.put(connection);
                    }
                })
            }),
        ],
    );
    let what = format!("append of {AGENTS} agents in PostgreSQL, a thread each");
    vec![
        Figure::new(&what, shared, "bare statements with a batch of each", bare).within(1.43),
        Figure::new(
            what,
            shared,
            format!("bare statements with one batch, on {CONNECTIONS} connections"),
            single,
        )
        .within(0.5),
    ]
}

/// Batches of every agent.
fn seal(sealers: &mut [Sealer]) -> Vec<Vec<Batch>> {
    sealers.iter_mut().map(|sealer| sealer.seal(BATCHES)).collect()
}

/// The time per append if all agents append at once, each on its own thread.
fn at_once<T: Send>(agents: impl Iterator<Item = T>, append: impl Fn(T) + Sync) -> Cost {
    // Starting the threads is not measured.
    let begun = Barrier::new(AGENTS as usize + 1);
    let time = thread::scope(|scope| {
        let threads: Vec<_> = agents
            .map(|agent| {
                let (append, begun) = (&append, &begun);
                scope.spawn(move || {
                    begun.wait();
                    append(agent);
                })
            })
            .collect();
        begun.wait();
        let started = Instant::now();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        started.elapsed()
    });
    time.as_secs_f64() * 1e9 / (AGENTS as u64 * BATCHES) as f64
}

/// Connections that threads take in turn.
struct Pool {
    free: Mutex<Vec<Appender>>,
    returned: Condvar,
}

impl Pool {
    fn new(free: Vec<Appender>) -> Self {
        Self { free: Mutex::new(free), returned: Condvar::new() }
    }

    fn take(&self) -> Appender {
        let mut free = self.free.lock().expect("no thread panics");
        loop {
            match free.pop() {
                Some(connection) => return connection,
                None => free = self.returned.wait(free).expect("no thread panics"),
            }
        }
    }

    fn put(&self, connection: Appender) {
        self.free.lock().expect("no thread panics").push(connection);
        self.returned.notify_one();
    }
}
