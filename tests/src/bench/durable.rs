//! Durable steps: SQLite beside one bare append that is synced, and many agents on one file.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use wakeful::{engine::Engine, ledger::SqliteFile};

use super::{
    Depth, Figure,
    agent::{self, Agent},
    measure::elapsed,
};

/// Facts that are measured at once.
const FACTS: u64 = 50;
/// How many agents share a file.
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
                    file.write_all(&line).and_then(|()| file.sync_data()).expect("the disk takes it");
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
        Figure::new("durable fact on SQLite", durable, "a bare append and fsync of 600 bytes", bare),
        Figure::new(format!("durable fact of {AGENTS} agents on one SQLite file, in turn"), beside, "of one agent", durable),
    ]
}

fn appended(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a new file")
}

fn said(agent: &mut Agent<impl Engine>) {
    let fact = agent.next_message();
    agent.propose(&fact);
}
