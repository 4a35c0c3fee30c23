//! A worker that polls: with nothing due, until an alarm, and over many agents that rest.

use std::{collections::BTreeMap, thread, time::Duration};

use wakeful_core::host::Clock;
use wakeful_host::ledger::{PostgresStore, Worker, WorkerOptions};

use super::{bare::Bare, store};
use crate::{
    bench::{
        Depth, Figure,
        measure::{Cost, elapsed, of_process, timed},
        memory,
    },
    fleet::Server,
};

/// The pause between two polls of a server.
const PAUSE: Duration = Duration::from_millis(250);
/// The most agents that a server claims at once.
const MOST: u32 = 64;
/// Polls per measurement.
const POLLS: u64 = 20;
/// The alarms of a turn.
const ALARMS: u64 = 100;
/// The time between two alarms. It does not divide the pause, so alarms come at all moments between
/// two polls.
const APART_MS: u64 = 41;
/// The agents of a small store.
const FEW: u64 = 1_000;
/// The agents that rest while a worker is watched.
const RESTING: u64 = 100_000;

/// Figures.
pub(super) fn figures(depth: Depth, server: &Server) -> Vec<Figure> {
    let most = match depth {
        Depth::Quick => 100_000,
        Depth::Whole => 1_000_000,
    };
    // First, because the server still writes for a while what a large store brings.
    let mut figures = vec![wake_up(depth, &store(server, "alarms"))];
    let few = Resting::new(server, "few", FEW);
    figures.extend(resting(depth, server, &few));
    figures.push(empty(depth, &few, &Resting::new(server, "most", most)));
    figures
}

/// Agents that rest, each with an alarm that is not due before the measurement ends.
struct Resting {
    store: PostgresStore,
    agents: u64,
    /// The bytes of their rows, with all indexes.
    bytes: Cost,
}

impl Resting {
    fn new(server: &Server, schema: &str, agents: u64) -> Self {
        let store = store(server, schema);
        let bare = Bare::connect(server, schema);
        bare.run(&format!(
            "INSERT INTO agents (agent_id, head_seq, head_chain, is_rested, due_at)
             SELECT 'agent-' || number, 1, sha256(number::text::bytea), true,
                 now() + make_interval(days => 1, secs => number)
             FROM generate_series(1, {agents}) AS number"
        ));
        // As the server does by itself after a while. Each is alone, because no transaction may be
        // around it.
        ["VACUUM ANALYZE agents", "CHECKPOINT"].iter().for_each(|statement| bare.run(statement));
        let bytes: i64 = bare.row("SELECT pg_total_relation_size('agents')").get(0);
        Self { store, agents, bytes: bytes as Cost }
    }

    fn worker(&self) -> Worker {
        self.store.join(&WorkerOptions::default()).expect("a worker")
    }
}

/// A poll with nothing due, of many agents beside few.
fn empty(depth: Depth, few: &Resting, most: &Resting) -> Figure {
    let workers = [few, most].map(Resting::worker);
    let polls = |worker: &Worker| {
        for _ in 0..POLLS {
            assert!(worker.claim_due(MOST).expect("the store answers").is_empty(), "none is due");
        }
        POLLS
    };
    let [of_few, of_most] = workers.each_ref();
    let [base, cost] = elapsed(
        depth.turns() * 4,
        [of_few, of_most].map(|worker| Box::new(move || polls(worker)) as Box<dyn FnMut() -> u64>),
    );
    workers.into_iter().for_each(|worker| worker.leave().expect("the worker ends"));
    Figure::new(
        format!("empty poll of {} agents in PostgreSQL", most.agents),
        cost,
        format!("of {}", few.agents),
        base,
    )
    .within(2.0)
}

/// The time from when an alarm is due until a worker that polls has claimed the agent.
fn wake_up(depth: Depth, store: &PostgresStore) -> Figure {
    let turns = match depth {
        Depth::Quick => 1,
        Depth::Whole => 4,
    };
    let worker = store.join(&WorkerOptions::default()).expect("a worker");
    // All alarms count: the least of several turns would hide a late one.
    let mut late: Vec<_> = (0..turns).flat_map(|_| late(&worker)).collect();
    late.sort_by(Cost::total_cmp);
    let p99 = late[late.len() * 99 / 100 - 1];
    worker.leave().expect("the worker ends");
    Figure::new(
        "from an alarm in PostgreSQL to its claim, p99",
        p99,
        "the pause between two polls",
        PAUSE.as_secs_f64() * 1e9,
    )
    .within(1.4)
}

/// How late each of the alarms of a turn is found.
fn late(worker: &Worker) -> Vec<Cost> {
    let mut clock = worker.clock();
    let begin = clock.now().plus_ms(3_000);
    let mut waiting = BTreeMap::new();
    for number in 0..ALARMS {
        let agent = format!("agent-{number}").into();
        let due = begin.plus_ms(number * APART_MS);
        let claim = worker.claim(&agent).expect("nobody drives it");
        claim.rest(Some(due)).expect("it rests");
        waiting.insert(agent, due);
    }
    assert!(clock.now() < begin, "no alarm was due before all were set");
    let mut late = Vec::new();
    while !waiting.is_empty() {
        thread::sleep(PAUSE);
        for claim in worker.claim_due(MOST).expect("the store answers") {
            let now = clock.now();
            let due = waiting.remove(claim.agent()).expect("it is claimed once");
            late.push(now.nanos_since(due) as Cost);
            claim.rest(None).expect("it rests");
        }
    }
    late
}

/// What a worker costs over many agents that rest: its CPU time, and the memory that they add to
/// its process.
fn resting(depth: Depth, server: &Server, few: &Resting) -> Vec<Figure> {
    let many = Resting::new(server, "resting", RESTING);
    let time = match depth {
        Depth::Quick => Duration::from_secs(3),
        Depth::Whole => Duration::from_secs(10),
    };
    // The first one makes what every worker needs, so that it is not counted.
    watched(few, time);
    let before = memory::kept();
    let busy = watched(&many, time);
    let share = Figure::new(
        format!("CPU time in a second of a worker with {RESTING} agents at rest"),
        busy,
        "a hundredth of a core",
        1e7,
    )
    .within(1.0);
    let (Some(before), Some(after)) = (before, memory::kept()) else { return vec![share] };
    let grown = (after.bytes - before.bytes).max(0.0);
    let added = Figure::new(
        format!("memory that {RESTING} agents at rest add to a worker"),
        grown,
        "their rows in PostgreSQL",
        many.bytes,
    )
    .in_bytes()
    .within(0.05);
    vec![share, added]
}

/// The CPU time of this process in a second, while a worker asks what a server asks.
fn watched(resting: &Resting, time: Duration) -> Cost {
    let worker = resting.worker();
    let asked = |worker: &Worker| {
        thread::sleep(PAUSE);
        assert!(worker.claim_due(MOST).expect("the store answers").is_empty(), "none is due");
        assert!(worker.addressed().expect("the store answers").is_empty(), "nothing came");
    };
    // Connections and statements are made with the first questions.
    asked(&worker);
    let before = of_process();
    let second = timed(1, || {
        let questions = time.as_millis() / PAUSE.as_millis();
        (0..questions).for_each(|_| asked(&worker));
    });
    let spent = of_process() - before;
    worker.leave().expect("the worker ends");
    spent.as_secs_f64() * 1e9 / (second / 1e9)
}
