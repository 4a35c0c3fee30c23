//! Durable facts: SQLite beside one bare append with an fsync, and many agents on one file.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
    thread,
    time::Instant,
};

use wakeful_host::{engine::Engine, ledger::SqliteFile};

use super::{
    Depth, Figure,
    agent::{self, Agent},
    measure::{Cost, elapsed},
};

/// Facts per measurement.
const FACTS: u64 = 50;
/// The number of agents that share a file.
const AGENTS: usize = 100;

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledgers.sqlite");
    let open = |name: &str| SqliteFile::open(&folder.path().join(name)).expect("a new file");
    let (single, shared) = (open("single.sqlite"), open("shared.sqlite"));
    let mut alone = agent::named("alone", single.ledger(&"alone".into()));
    let mut agents: Vec<_> = (0..AGENTS)
        .map(|number| {
            let name = format!("agent-{number}");
            agent::named(&name, shared.ledger(&name.as_str().into()))
        })
        .collect();
    let mut file = appended(&path);
    let line = vec![b'x'; 600];
    let [bare, durable, beside] = elapsed(
        depth.turns(),
        [
            Box::new(|| {
                for _ in 0..FACTS {
                    file.write_all(&line)
                        .and_then(|()| file.sync_data())
                        .expect("the disk has room");
                }
                FACTS
            }),
            Box::new(|| {
                (0..FACTS).for_each(|_| said(&mut alone));
                FACTS
            }),
            Box::new(|| {
                agents.iter_mut().for_each(said);
                AGENTS as u64
            }),
        ],
    );
    vec![
        Figure::new(
            "durable fact on SQLite",
            durable,
            "a bare append and fsync of 600 bytes",
            bare,
        )
        .within(1.3),
        Figure::new(
            format!("durable fact of {AGENTS} agents on one SQLite file, in turn"),
            beside,
            "of one agent",
            durable,
        ),
        Figure::new(
            format!("durable fact of {AGENTS} agents on one SQLite file, a thread each"),
            at_once(depth, &open("at-once.sqlite")),
            "of one agent",
            durable,
        ),
    ]
}

/// The time per fact when all agents report at once, each on its own thread.
fn at_once(depth: Depth, file: &SqliteFile) -> Cost {
    let mut least = Cost::INFINITY;
    for turn in 0..depth.turns().div_ceil(3) {
        let agents: Vec<_> = (0..AGENTS).map(|number| format!("agent-{turn}-{number}")).collect();
        // Opening an agent is not measured: all threads wait until every agent is open.
        let begun = std::sync::Barrier::new(AGENTS + 1);
        let time = thread::scope(|scope| {
            let threads: Vec<_> = agents
                .iter()
                .map(|name| {
                    let (ledger, begun) = (file.ledger(&name.as_str().into()), &begun);
                    scope.spawn(move || {
                        let mut agent = agent::named(name, ledger);
                        begun.wait();
                        (0..FACTS).for_each(|_| said(&mut agent));
                    })
                })
                .collect();
            begun.wait();
            let started = Instant::now();
            threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
            started.elapsed()
        });
        least = least.min(time.as_secs_f64() * 1e9 / (FACTS as f64 * AGENTS as f64));
    }
    least
}

fn appended(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a new file")
}

fn said(agent: &mut Agent<impl Engine>) {
    let fact = agent.next_message();
    agent.propose(&fact);
}
