//! Agents on three servers of one store in a cluster, while servers and the primary are killed.
//!
//! Half of the agents have a model, whose server notes each question. The turns of the others are
//! run by hosts of this process. Clients deliver to any server, and repeat what was not
//! acknowledged.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs,
    path::Path,
    process::Command,
    sync::{
        Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use wakeful_core::{
    host::Ledger,
    id::{AgentId, Seq},
    record::{
        Record,
        chain::Head,
        queue::envelope::MessageBody,
        turn::{RunStatus, TurnTerminalKind},
    },
    time::Timestamp,
};
use wakeful_host::ledger::{Address, PostgresStore};

use super::{
    cluster::{self, Cluster, Nodes},
    judged::{Begun, Fault, HEALING, OUTAGE, TAKEOVER, Told, turns},
    model::Model,
    network::Network,
    patroni::Patroni,
    probe::Probe,
    workers::{LEASE, Worker},
};
use crate::load::{Found, Wrong, client::Client, held};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Agents of the store.
    pub agents: usize,
    /// Deliveries in a second.
    pub rate: usize,
    /// The time before the first fault, in which nothing may be done twice.
    pub quiet: Duration,
    /// The time with faults.
    pub time: Duration,
    /// The time between two faults of servers: a kill, or a pause that is longer than the lease.
    pub faults_each: Duration,
    /// The time between two kills of the primary, once the cluster is healthy again.
    pub primary_each: Duration,
    /// Whether each server has a network of its own, in a namespace.
    pub in_namespaces: bool,
}

/// The programs of a run.
#[derive(Clone, Copy, Debug)]
pub struct Programs<'a> {
    /// The `wakeful` to serve with.
    pub server: &'a Path,
    /// An older one, with which all servers begin. They are replaced one by one.
    pub older: Option<&'a Path>,
    /// The Patroni that elects the primary, whose node is stopped at each second time.
    pub patroni: Option<&'a Path>,
}

/// The servers.
const WORKERS: usize = 3;

/// What a server says of an agent of which it knows more than the store.
const SET_BACK: &str = "the ledger no longer has entry";

/// What is done to a server that gets another program.
const UPGRADE: &str = "upgrade";

/// The time after the faults in which all that waits must be done.
const SETTLE: Duration = Duration::from_secs(120);

/// What the threads of a run share.
struct World {
    clients: Vec<Client>,
    /// The addresses at which agents are delivered to, by agent.
    triggers: Vec<String>,
    acknowledged: Mutex<HashMap<usize, HashSet<String>>>,
    /// The runs of hosts that have ended, and how often each was run.
    runs: Mutex<HashMap<String, u32>>,
    again: AtomicU64,
    delivering: AtomicBool,
    hosting: AtomicBool,
}

fn name(number: usize) -> String {
    format!("agent-{number:05}")
}

/// Whether the turns of an agent are run by a model.
fn has_model(number: usize) -> bool {
    number.is_multiple_of(2)
}

/// Does it all. `folder` has the logs of all processes in the end.
///
/// # Errors
/// If PostgreSQL or a server cannot be started.
pub fn run(programs: Programs<'_>, folder: &Path, size: Size) -> Result<Found, Wrong> {
    let Programs { server: program, older, patroni } = programs;
    let mut found = Found::default();
    let began = Instant::now();
    let mut cluster: Box<dyn Nodes> = match patroni {
        Some(patroni) => Box::new(Patroni::start(patroni)?),
        None => Box::new(Cluster::start()?),
    };
    let address = cluster::address("127.0.0.1", &cluster.ports());
    let model = Model::start()?;
    let first = older.unwrap_or(program);
    let token = token(first, &address)?;
    let mut workers = Vec::new();
    for number in 0..WORKERS {
        let network = match size.in_namespaces {
            true => Network::namespace(number, &cluster.ports())?,
            false => Network::to(&cluster.ports())?,
        };
        let place = (network, token.as_str(), model.port);
        workers.push(Worker::start(number, (first, folder), place)?);
    }
    let clients: Vec<_> = workers.iter().map(|worker| worker.client.clone()).collect();
    found.say(format!(
        "a primary, two synchronous standbys and {WORKERS} servers began in {:.1} s",
        began.elapsed().as_secs_f64()
    ));
    let began = Instant::now();
    let triggers = make(&clients, size.agents)?;
    found.say(format!(
        "{} agents made in {:.1} s, half of them with a model",
        size.agents,
        began.elapsed().as_secs_f64()
    ));
    let world = World {
        clients,
        triggers,
        acknowledged: Mutex::default(),
        runs: Mutex::default(),
        again: AtomicU64::new(0),
        delivering: AtomicBool::new(true),
        hosting: AtomicBool::new(true),
    };
    let store = PostgresStore::open(&Address::parse(&address)?)?;
    let probe = Probe::start(cluster.ports())?;
    let faults = RwLock::new(Vec::new());
    let quiet_until = Instant::now() + size.quiet;
    let workers = workers.into_iter().map(Mutex::new).collect::<Vec<_>>();
    let outcome: Result<Begun, Wrong> = thread::scope(|scope| {
        for number in 0..8 {
            let world = &world;
            scope.spawn(move || deliver(world, size, number));
        }
        for number in 0..WORKERS {
            let world = &world;
            scope.spawn(move || host(world, number));
        }
        thread::sleep(size.quiet);
        let until = Instant::now() + size.time;
        let (workers, faults) = (&workers, &faults);
        let newer = older.map(|_| program);
        let of_workers = scope.spawn(move || trouble_workers(workers, newer, size, until, faults));
        let of_primary = trouble_primary(&mut *cluster, size, until, faults);
        let of_workers = of_workers.join().unwrap_or_else(|_| Err("a thread panicked".into()));
        world.delivering.store(false, Ordering::Release);
        // What the cluster says explains what the servers say.
        let settled = of_primary.and(of_workers).and_then(|()| settle(&store, &world, &mut found));
        world.hosting.store(false, Ordering::Release);
        settled
    });
    for log in cluster.logs() {
        fs::copy(&log, folder.join(log.file_name().unwrap_or_default()))?;
    }
    let begun = outcome?;
    let mut faults = faults.into_inner().unwrap_or_default();
    // Those in which a renewal has no answer before it is asked again.
    let shortest = LEASE / 6;
    let outages = probe.outages(shortest);
    let longest = outages.iter().map(|(from, until)| *until - *from).max().unwrap_or_default();
    found.say(format!(
        "the store did not commit for more than {:.1} s at {} times, for up to {:.1} s",
        shortest.as_secs_f64(),
        outages.len(),
        longest.as_secs_f64()
    ));
    faults.extend(outages.into_iter().map(|(from, until)| Fault { what: OUTAGE, from, until }));
    faults.sort_by_key(|fault| fault.until);
    let count = |what: &str| faults.iter().filter(|fault| fault.what == what).count();
    found.say(format!(
        "{} kills, {} cuts and {} pauses of servers, {} kills of the primary, in {} s",
        count("kill"),
        count("cut"),
        count("pause"),
        count("primary"),
        size.time.as_secs()
    ));
    if older.is_some() {
        let replaced = count(UPGRADE);
        found.say(format!("{replaced} servers were replaced by those of the newer program"));
        found.none("servers of the older program at the end", (WORKERS - replaced) as u64);
    }
    let logs: Vec<_> = workers.iter().map(|worker| held(worker).said()).collect();
    let set_back = logs.iter().flat_map(|log| log.lines()).filter(|it| it.contains(SET_BACK));
    found.none("agents whose ledger a server took for set back", set_back.count() as u64);
    let restarts: u32 = workers.iter().map(|worker| held(worker).restarts).sum();
    found.say(format!("{restarts} starts of servers ended, because the store was away for long"));
    found.say(format!("{} deliveries were tried again", world.again.load(Ordering::Relaxed)));
    let told = Told { asked: model.asked(), begun };
    let hosted = held(&world.runs).len();
    for mark in turns(hosted, &told, &faults, quiet_until, &mut found) {
        keep(&store, folder, size, &mark)?;
    }
    Ok(found)
}

/// A token with all scopes, made in the new store.
pub(crate) fn token(program: &Path, store: &str) -> Result<String, Wrong> {
    let scopes = ["read", "prompt", "operate", "ingress"].map(|it| ["--scope", it]).concat();
    let made = Command::new(program)
        .args(["token", "create", "operator", "--store", store])
        .args(scopes)
        .output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
    }
    Ok(String::from_utf8_lossy(&made.stdout).trim().to_owned())
}

/// Makes the agents through all servers, each with a trigger. Returns the addresses of these.
fn make(clients: &[Client], agents: usize) -> Result<Vec<String>, Wrong> {
    let next = AtomicU64::new(0);
    let triggers = Mutex::new(vec![String::new(); agents]);
    let failed: Mutex<Option<String>> = Mutex::default();
    thread::scope(|scope| {
        for thread in 0..12 {
            let (next, triggers, failed) = (&next, &triggers, &failed);
            scope.spawn(move || {
                let client = clients[thread % clients.len()].clone();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                    if number >= agents || held(failed).is_some() {
                        return;
                    }
                    let turns = if has_model(number) { "model" } else { "elsewhere" };
                    match make_one(&client, &name(number), turns) {
                        Ok(path) => held(triggers)[number] = path,
                        Err(why) => *held(failed) = Some(why),
                    }
                }
            });
        }
    });
    match held(&failed).take() {
        Some(why) => Err(why.into()),
        None => Ok(std::mem::take(&mut *held(&triggers))),
    }
}

/// Makes an agent with a trigger. Returns the address of that.
pub(crate) fn make_one(client: &Client, name: &str, turns: &str) -> Result<String, String> {
    let path = format!("/v1/agents/{name}");
    let made = client.json("PUT", &path, &json!({ "turns": turns }).to_string(), &[]);
    let Some((201, _)) = made else { return Err(format!("{path}: {made:?}")) };
    let body = r#"{"external_trigger_id":"in","delivery_mode":"enqueue_message"}"#;
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match client.post(&format!("{path}/triggers"), body) {
            Some((201, made)) => return Ok(made["path"].as_str().unwrap_or_default().to_owned()),
            // Its runner takes an agent with a model over first.
            Some((409 | 503, _)) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(50));
            }
            other => return Err(format!("{path}: {other:?}")),
        }
    }
}

/// Delivers to any server at a steady rate, and repeats what is not acknowledged.
fn deliver(world: &World, size: Size, thread: usize) {
    const THREADS: usize = 8;
    let clients: Vec<_> = world.clients.to_vec();
    let (began, mut sent) = (Instant::now(), 0_usize);
    while world.delivering.load(Ordering::Acquire) {
        let number = sent * THREADS + thread;
        sent += 1;
        let due = Duration::from_secs_f64(number as f64 / size.rate as f64);
        thread::sleep(due.saturating_sub(began.elapsed()));
        let (agent, id) = (agent_of(number, size), format!("mark-{number}-"));
        let mut tries = number;
        while world.delivering.load(Ordering::Acquire) {
            let client = &clients[tries % clients.len()];
            let path = &world.triggers[agent];
            if let Some((202, _)) = client.text("POST", path, &id, &[("webhook-id", &id)]) {
                held(&world.acknowledged).entry(agent).or_default().insert(id);
                break;
            }
            world.again.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(50));
            tries += 1;
        }
    }
}

/// The agent that a delivery of this number goes to: a stride that meets each agent, and none twice
/// in a row.
fn agent_of(number: usize, size: Size) -> usize {
    number.wrapping_mul(7) % size.agents
}

/// Keeps the ledger of the agent of a delivery in a file, for who looks for what happened.
fn keep(store: &PostgresStore, folder: &Path, size: Size, mark: &str) -> Result<(), Wrong> {
    let number = mark.split('-').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
    let agent = AgentId::from(name(agent_of(number, size)));
    let (mut ledger, mut after) = (store.ledger(&agent), Seq(0));
    let mut lines = String::new();
    loop {
        let page = Ledger::read(&mut ledger, after, 1_000)?;
        if page.is_empty() {
            return Ok(fs::write(folder.join(format!("{agent}.jsonl")), lines)?);
        }
        after = Seq(after.0 + page.len() as u64);
        for entry in &page {
            lines += entry.as_str();
            lines.push('\n');
        }
    }
}

/// A host: runs the turns that a server has, and reports their ends to any that takes them.
fn host(world: &World, server: usize) {
    let clients: Vec<_> = world.clients.to_vec();
    while world.hosting.load(Ordering::Acquire) {
        let open = clients[server].get("/v1/turns");
        let Some((200, open)) = open else {
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let agents: Vec<String> = open
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|turn| turn["agent_id"].as_str().map(str::to_owned))
            .collect();
        for agent in &agents {
            let path = format!("/v1/agents/{agent}");
            let Some((200, turn)) = clients[server].get(&format!("{path}/turn")) else { continue };
            let Some(run) = turn["run_id"].as_str() else { continue };
            // Another server may list it too, after a change of its owner.
            if *held(&world.runs).entry(run.to_owned()).and_modify(|it| *it += 1).or_insert(1) > 1 {
                continue;
            }
            let end = json!({ "fact": "turn_terminal", "run_id": run, "kind": "completed" });
            let (end, facts) = (end.to_string(), format!("{path}/facts"));
            let mut tries = server;
            while world.hosting.load(Ordering::Acquire) {
                // If the answer is lost, the same report is ignored the second time.
                match clients[tries % clients.len()].post(&facts, &end) {
                    Some((200, _)) => break,
                    _ => thread::sleep(Duration::from_millis(50)),
                }
                tries += 1;
            }
        }
        if agents.is_empty() {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Kills servers, cuts them off from the store and pauses them, one after the other. Between these,
/// each is replaced once if there is a newer program.
fn trouble_workers(
    workers: &[Mutex<Worker>],
    newer: Option<&Path>,
    size: Size,
    until: Instant,
    faults: &RwLock<Vec<Fault>>,
) -> Result<(), Wrong> {
    for number in 0_usize.. {
        let next = Instant::now() + size.faults_each;
        if next + size.faults_each / 2 > until {
            thread::sleep(until.saturating_duration_since(Instant::now()));
            return Ok(());
        }
        let newer = newer.filter(|_| number % 2 == 1 && number / 2 < workers.len());
        let (at, what) = match newer {
            Some(_) => (number / 2, UPGRADE),
            // So that each server meets each fault.
            None => ((number + number / 3) % workers.len(), ["kill", "cut", "pause"][number % 3]),
        };
        let mut worker = held(&workers[at]);
        let from = Instant::now();
        // Each lasts longer than a lease, so that the others must take over.
        match what {
            UPGRADE => newer.map_or(Ok(()), |newer| worker.replace(newer))?,
            "pause" => worker.pause(LEASE + LEASE / 2)?,
            "cut" => worker.cut_off(LEASE + LEASE / 2)?,
            _ => {
                worker.kill();
                thread::sleep(LEASE + TAKEOVER + Duration::from_secs(1));
                worker.again()?;
            }
        }
        drop(worker);
        note(faults, what, from);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Kills the primary again and again, each time when the cluster is healthy.
fn trouble_primary(
    cluster: &mut dyn Nodes,
    size: Size,
    until: Instant,
    faults: &RwLock<Vec<Fault>>,
) -> Result<(), Wrong> {
    loop {
        thread::sleep(size.primary_each.min(until.saturating_duration_since(Instant::now())));
        if Instant::now() + Duration::from_secs(5) > until {
            return Ok(());
        }
        let from = Instant::now();
        cluster.fail_over()?;
        note(faults, "primary", from);
        cluster.heal()?;
        note(faults, HEALING, from);
    }
}

fn note(faults: &RwLock<Vec<Fault>>, what: &'static str, from: Instant) {
    let mut faults = faults.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    faults.push(Fault { what, from, until: Instant::now() });
}

/// What a ledger says of the deliveries.
#[derive(Default)]
struct Read {
    /// How often each delivery became a message.
    recorded: HashMap<String, u32>,
    /// Those whose message had a turn that completed.
    done: HashSet<String>,
    /// When the runs of each began, as the server recorded it.
    begun: HashMap<String, Vec<Timestamp>>,
    entries: u64,
}

/// Reads and verifies the ledger of an agent.
fn read(store: &PostgresStore, agent: &AgentId) -> Result<Read, Wrong> {
    let mut ledger = store.ledger(agent);
    let newest = ledger.head()?;
    let (mut read, mut at, mut marks) = (Read::default(), Head::START, BTreeMap::new());
    let mut batch = (Seq(0), Seq(0));
    while at.seq < newest.seq {
        // Not beyond it: the agent may go on meanwhile.
        let left = u32::try_from(newest.seq.0 - at.seq.0).unwrap_or(u32::MAX);
        let page = ledger.read_with_batches(at.seq, left.min(1_000))?;
        if page.is_empty() {
            return Err(format!("{agent}: no entry after {}", at.seq).into());
        }
        for (bytes, first) in page {
            let entry = bytes.open(&at).map_err(|why| format!("{agent}: {why}"))?;
            at = entry.head();
            read.entries += 1;
            // A batch is the entries from its first one on, without those of another.
            if first != batch.0 && first != at.seq {
                return Err(format!("{agent}: entry {} is of batch {first}", at.seq).into());
            }
            batch = (first, at.seq);
            match entry.record {
                Record::Message(message) => {
                    if let MessageBody::Text { text } = &message.body
                        && text.starts_with("mark-")
                    {
                        *read.recorded.entry(text.clone()).or_default() += 1;
                        marks.insert(message.id.clone(), text.clone());
                    }
                }
                Record::Turn(turn) if turn.kind == Some(TurnTerminalKind::Completed) => {
                    read.done.extend(marks.get(&turn.message_id).cloned());
                }
                Record::Turn(turn) if turn.status == RunStatus::Started => {
                    if let Some(text) = marks.get(&turn.message_id) {
                        read.begun.entry(text.clone()).or_default().push(turn.started_at);
                    }
                }
                _ => {}
            }
        }
    }
    if at != newest {
        return Err(format!("{agent}: the head of its row is not its newest entry").into());
    }
    Ok(read)
}

/// Waits until all that was acknowledged is done, and verifies every ledger. Returns when the runs
/// of each delivery began.
fn settle(store: &PostgresStore, world: &World, found: &mut Found) -> Result<Begun, Wrong> {
    let mut begun = Begun::new();
    let acknowledged = held(&world.acknowledged).clone();
    let began = Instant::now();
    let (mut lost, mut doubled, mut entries) = (0, 0, 0);
    let mut left: BTreeSet<String> = BTreeSet::new();
    for number in 0..world.triggers.len() {
        let agent = AgentId::from(name(number));
        let none = HashSet::new();
        let sent = acknowledged.get(&number).unwrap_or(&none);
        let read = loop {
            let read = read(store, &agent)?;
            let waits = sent.iter().any(|id| !read.done.contains(id));
            if !waits || began.elapsed() > SETTLE {
                break read;
            }
            thread::sleep(Duration::from_millis(200));
        };
        entries += read.entries;
        begun.extend(read.begun);
        for id in sent {
            match read.recorded.get(id) {
                None => lost += 1,
                Some(1) => {}
                Some(_) => doubled += 1,
            }
            if !read.done.contains(id) {
                left.insert(format!("{agent} {id}"));
            }
        }
        // What was not acknowledged may be there, whole and once.
        doubled +=
            read.recorded.iter().filter(|(id, n)| !sent.contains(*id) && **n > 1).count() as u64;
    }
    let count: usize = acknowledged.values().map(HashSet::len).sum();
    found.say(format!("{count} acknowledged deliveries, {entries} entries verified"));
    found.say(format!("all was done {:.1} s after the last fault", began.elapsed().as_secs_f64()));
    found.none("acknowledged and lost", lost);
    found.none("recorded twice", doubled);
    found.none("acknowledged and without a completed turn", left.len() as u64);
    if let Some(one) = left.first() {
        found.say(format!("such as {one}"));
    }
    Ok(begun)
}

#[cfg(test)]
mod tests {
    use wakeful_core::machine::OpenError;
    use wakeful_host::driver::DriveError;

    use super::*;

    #[test]
    fn a_server_says_of_each_ledger_that_was_set_back_what_is_looked_for() {
        let (by_driver, by_core) =
            (DriveError::SetBack { at: Seq(7) }, OpenError::SetBack { head: Seq(7) });
        for said in [by_driver.to_string(), by_core.to_string()] {
            assert!(said.contains(SET_BACK), "{said}");
        }
    }
}
