//! What a turn costs: measured with a server, a model and a cluster of three nodes, each of them a
//! process of its own on this machine.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio::runtime;
use tokio_postgres::NoTls;

use crate::{
    fleet::{Cluster, Model, Network, Nodes, Worker, address_of, children, make_one, stat, token},
    load::Wrong,
};

/// The agents that are woken in turn. Each rests long enough between two turns to be given back.
const AGENTS: usize = 400;
/// Turns per second, and for how long.
const RATE: usize = 25;
const TIME: Duration = Duration::from_secs(60);
/// The time of a server that does nothing.
const REST: Duration = Duration::from_secs(15);
/// Commits of which the median is taken.
const COMMITS: usize = 201;

/// What things cost: seconds of one core, and bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Costs {
    /// A turn of one round, from a delivery to an agent at rest that was given back: on the
    /// primary and on the server.
    pub turn_database: f64,
    /// As above.
    pub turn_server: f64,
    /// What a turn adds to the log that standbys get and backups keep.
    pub turn_log: f64,
    /// What it adds to the tables and indexes.
    pub turn_stored: f64,
    /// The transaction numbers that it takes.
    pub turn_numbers: f64,
    /// What a second of a server without anything to do costs the primary, and the server.
    pub idle_database: f64,
    /// As above.
    pub idle_server: f64,
    /// The time of a commit that a standby has.
    pub commit: f64,
}

/// What was used until now.
struct Used {
    database: f64,
    server: f64,
    log: i64,
    stored: i64,
    numbers: i64,
    at: Instant,
}

/// Measures it. `program` is the `wakeful` to serve with.
///
/// # Errors
/// If PostgreSQL or the server cannot be started, or an agent cannot be delivered to.
pub fn measure(program: &Path, folder: &Path) -> Result<Costs, Wrong> {
    let cluster = Cluster::start()?;
    let model = Model::start()?;
    let token = token(program, &address_of("127.0.0.1", &cluster.ports()))?;
    let network = Network::to(&cluster.ports())?;
    let worker = Worker::start(0, (program, folder), (network, &token, model.port))?;
    let (Some(primary), Some(server)) = (cluster.primary(), worker.process()) else {
        return Err("a process ended".into());
    };
    let beside = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let to =
        format!("host=127.0.0.1 port={} user=postgres dbname=postgres", cluster.primary_port());
    let client = beside.block_on(async {
        let (client, connection) = tokio_postgres::connect(&to, NoTls).await?;
        tokio::spawn(connection);
        Ok::<_, tokio_postgres::Error>(client)
    })?;
    let used = || -> Result<Used, Wrong> {
        let row = beside.block_on(client.query_one(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,
                (SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
                 WHERE relnamespace = 'wakeful'::regnamespace AND relkind = 'r'),
                txid_snapshot_xmax(txid_current_snapshot())",
            &[],
        ))?;
        Ok(Used {
            database: family(primary)?,
            server: stat(server).ok_or("the server ended")?.spent,
            log: row.try_get(0)?,
            stored: row.try_get(1)?,
            numbers: row.try_get(2)?,
            at: Instant::now(),
        })
    };
    let mut commits = Vec::new();
    for _ in 0..COMMITS {
        let began = Instant::now();
        beside.block_on(client.execute("SELECT pg_logical_emit_message(true, 'w', 'x')", &[]))?;
        commits.push(began.elapsed());
    }
    commits.sort_unstable();
    let mut paths = Vec::new();
    for number in 0..AGENTS {
        paths.push(make_one(&worker.client, &format!("agent-{number:04}"), "model")?);
    }
    // Until all were given back.
    thread::sleep(REST);
    let before = used()?;
    thread::sleep(REST);
    let rested = used()?;
    let seconds = (rested.at - before.at).as_secs_f64();
    let idle_database = (rested.database - before.database) / seconds;
    let idle_server = (rested.server - before.server) / seconds;
    let began = Instant::now();
    let count = RATE * TIME.as_secs() as usize;
    for number in 0..count {
        let due = Duration::from_secs_f64(number as f64 / RATE as f64);
        thread::sleep(due.saturating_sub(began.elapsed()));
        let (path, id) = (&paths[number % AGENTS], format!("mark-{number}-"));
        match worker.client.text("POST", path, &id, &[("webhook-id", &id)]) {
            Some((202, _)) => {}
            other => return Err(format!("a delivery: {other:?}").into()),
        }
    }
    // The longest turns take nine seconds, and then the agents are given back.
    thread::sleep(REST);
    let after = used()?;
    let turns: usize = model.asked().values().map(Vec::len).sum();
    if turns != count {
        return Err(format!("{turns} turns were run, and {count} deliveries were taken").into());
    }
    let (turns, seconds) = (count as f64, (after.at - rested.at).as_secs_f64());
    let per_turn = |more: i64| more as f64 / turns;
    Ok(Costs {
        turn_database: (after.database - rested.database - idle_database * seconds) / turns,
        turn_server: (after.server - rested.server - idle_server * seconds) / turns,
        turn_log: per_turn(after.log - rested.log),
        turn_stored: per_turn(after.stored - rested.stored),
        turn_numbers: per_turn(after.numbers - rested.numbers),
        idle_database,
        idle_server,
        commit: commits[COMMITS / 2].as_secs_f64(),
    })
}

/// The CPU seconds of a process with its children, also with those that have ended.
fn family(process: u32) -> Result<f64, Wrong> {
    let own = stat(process).ok_or("a process ended")?;
    let of_children: f64 = children(process).iter().map(|(_, stat)| stat.spent).sum();
    Ok(own.spent + own.of_ended + of_children)
}
