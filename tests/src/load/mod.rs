//! Load on a server: many agents at rest, some of them active, streams, deliveries, and kills. The
//! server is a process of its own, and its clients and hosts are threads of this one.

pub(crate) mod client;
mod server;

use std::{
    collections::{HashMap, HashSet},
    io,
    ops::Range,
    path::Path,
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use wakeful_core::{
    Options,
    host::Scheduler,
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_host::{clock::SystemClock, ledger::SqliteFile, provider::Elsewhere};

use client::Client;
use server::{Server, Store};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Agents in the process.
    pub agents: usize,
    /// Agents that are delivered to.
    pub active: usize,
    /// Deliveries in a second.
    pub rate: usize,
    /// The time of the load.
    pub time: Duration,
    /// Open streams.
    pub streams: usize,
    /// Kills of the server under load.
    pub kills: usize,
    /// Whether only counts are judged, as on a machine that does something else beside.
    pub only_counts: bool,
}

/// Why the load could not be measured, or what went wrong under it.
pub type Wrong = Box<dyn std::error::Error + Send + Sync>;

/// What was measured.
#[derive(Debug, Default)]
pub struct Found {
    /// Lines for people, in order.
    pub lines: Vec<String>,
    /// What is beyond its limit.
    pub beyond: Vec<String>,
    only_counts: bool,
}

impl Found {
    pub(crate) fn say(&mut self, line: String) {
        anstream::println!("{line}");
        self.lines.push(line);
    }

    /// Says a number of things that must not be.
    pub(crate) fn none(&mut self, what: &str, count: u64) {
        self.say(format!("{what:<58} {count:>10}"));
        if count > 0 {
            self.beyond.push(format!("{what}: {count}"));
        }
    }

    /// Says a figure, and keeps it if it is beyond its limit.
    pub(crate) fn figure(&mut self, what: &str, found: f64, unit: &str, most: f64) {
        let verdict = if found <= most { "" } else { "  BEYOND" };
        self.say(format!("{what:<58} {found:>10.2} {unit:<10} of at most {most}{verdict}"));
        if found > most && !self.only_counts {
            self.beyond.push(format!("{what}: {found:.2} {unit}, more than {most}"));
        }
    }
}

/// Tells what is beyond its limit, and how a program ends that found this.
pub fn judged(found: Result<Found, Wrong>) -> ExitCode {
    match found {
        Ok(found) if found.beyond.is_empty() => ExitCode::SUCCESS,
        Ok(found) => {
            for beyond in found.beyond {
                anstream::eprintln!("beyond its limit: {beyond}");
            }
            ExitCode::FAILURE
        }
        Err(why) => {
            anstream::eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// After this time the states of agents that rest are dropped, and their memory is given back: the
/// allocator keeps free pages for ten seconds, and so do threads that have nothing to do.
const RESTED: Duration = Duration::from_secs(40);

/// The active agent of a number.
fn name(number: usize) -> String {
    format!("agent-{number:05}")
}

/// Does it all. `program` is the `wakeful` to serve with.
///
/// # Errors
/// If a server cannot be started, or does not answer.
pub fn run(program: &Path, folder: &Path, size: Size) -> Result<Found, Wrong> {
    let mut found = Found { only_counts: size.only_counts, ..Found::default() };
    let many = (size.agents + 1_000).to_string();
    let options = [
        "--resident-idle",
        "6",
        "--resident-agents",
        &many,
        "--requests-per-second",
        "1000000",
        "--streams",
        "2000",
        "--queue-per-agent",
        "256",
    ];
    let mut store = Store::new(program, folder, &options);
    let server = store.start()?;
    let triggers = if size.only_counts {
        make(&server, 0..size.agents, size.active)?
    } else {
        rests(&server, size, &mut found)?
    };
    appends(&store, &server, &mut found)?;
    let delivered = loaded(&server, size, &triggers, &mut found)?;
    whole(&server, size, &delivered, &mut found)?;
    let began = Instant::now();
    server.kill()?;
    let server = store.start()?;
    found.say(format!(
        "after a kill, {} agents are read again in {:.1} s",
        size.agents,
        began.elapsed().as_secs_f64()
    ));
    let delivered = killed(&mut store, server, size, &triggers, delivered, &mut found)?;
    let server = store.start()?;
    whole(&server, size, &delivered, &mut found)?;
    Ok(found)
}

/// Makes the agents, and measures what they cost while they rest.
fn rests(server: &Server, size: Size, found: &mut Found) -> Result<Vec<String>, Wrong> {
    let began = Instant::now();
    // The first ones fill what the server has once: threads, buffers and the store's cache.
    let first = (size.agents / 10).max(size.active);
    let triggers = make(server, 0..first, size.active)?;
    thread::sleep(RESTED);
    let few = server.resident()?;
    make(server, first..size.agents, size.active)?;
    found.say(format!(
        "{} agents made in {:.1} s, of which {} have a trigger",
        size.agents,
        (began.elapsed() - RESTED).as_secs_f64(),
        triggers.len()
    ));
    let resident = server.resident()?;
    let more = (size.agents - first).max(1) as f64;
    let each = |bytes: f64| (bytes - few).max(0.0) / more / 1e3;
    found.figure("memory of an agent whose state is in memory", each(resident), "kB", 25.0);
    thread::sleep(RESTED);
    found.figure("memory of an agent at rest", each(server.resident()?), "kB", 2.0);
    let (before, span) = (server.processor()?, Duration::from_secs(20));
    thread::sleep(span);
    let used = (server.processor()? - before) / span.as_secs_f64() * 100.0;
    found.figure("processor of the server while all rest", used, "% of one", 1.0);
    Ok(triggers)
}

/// Makes the agents, and triggers for those that are active.
fn make(server: &Server, numbers: Range<usize>, active: usize) -> Result<Vec<String>, Wrong> {
    let next = AtomicU64::new(numbers.start as u64);
    let triggers = Mutex::new(vec![String::new(); active]);
    let failed: Mutex<Option<String>> = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                let client = server.client.clone();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                    if number >= numbers.end || held(&failed).is_some() {
                        return;
                    }
                    match make_one(&client, number, number < active) {
                        Ok(None) => {}
                        Ok(Some(path)) => held(&triggers)[number] = path,
                        Err(why) => *held(&failed) = Some(why.to_string()),
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

fn make_one(client: &Client, number: usize, is_active: bool) -> Result<Option<String>, Wrong> {
    let path = format!("/v1/agents/{}", name(number));
    let made = client.json("PUT", &path, r#"{"turns":"elsewhere"}"#, &[]);
    let Some((201, _)) = made else { return Err(format!("{path}: {made:?}").into()) };
    if !is_active {
        return Ok(None);
    }
    let body = r#"{"external_trigger_id":"in","delivery_mode":"enqueue_message"}"#;
    let made = client.post(&format!("{path}/triggers"), body);
    let Some((201, made)) = made else { return Err(format!("{path}: {made:?}").into()) };
    Ok(Some(made["path"].as_str().unwrap_or_default().to_owned()))
}

/// What an append costs through the server, and by the library.
fn appends(store: &Store, server: &Server, found: &mut Found) -> Result<(), Wrong> {
    const TIMES: u32 = 300;
    // Files of their own, on one disk: a second writer to one file would slow both.
    let file = SqliteFile::open(&store.ledger().with_extension("library"))?;
    let observed = SqliteFile::open(store.ledger())?;
    let open = |file: &SqliteFile, agent: &str| {
        let ledger = file.ledger(&agent.into());
        Scheduler::drive(Options::new(agent.into()), ledger, SystemClock, Elsewhere)
    };
    let mut scheduler = open(&file, "by-library")?;
    // The server only observes this one, so that nothing else is appended for it.
    drop(open(&observed, "by-server")?);
    drop(observed);
    let fact = |number: u32| {
        json!({ "fact": "wake_hint_submitted", "reason": format!("number {number}") }).to_string()
    };
    let (mut library, mut through) = (Vec::new(), Vec::new());
    let path = "/v1/agents/by-server/facts";
    while server.client.post(path, &fact(0)).is_none_or(|(status, _)| status != 200) {
        thread::sleep(Duration::from_millis(20));
    }
    // In turn, so that both meet the same disk.
    for number in 1..=TIMES {
        let began = Instant::now();
        scheduler.propose(&fact(number))?;
        library.push(began.elapsed());
        let began = Instant::now();
        let said = server.client.post(path, &fact(number));
        through.push(began.elapsed());
        if said.as_ref().is_none_or(|(status, _)| *status != 200) {
            return Err(format!("{path}: {said:?}").into());
        }
    }
    // The median: what the disk does now and then is not what an append costs.
    let [library, through] = [library, through].map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    found.say(format!("an append by the library {library:?}, through the server {through:?}"));
    let ratio = through.as_secs_f64() / library.as_secs_f64();
    found.figure("an append through the server, by one of the library", ratio, "times", 2.0);
    Ok(())
}

/// What was acknowledged: the ids of deliveries by agent.
type Acknowledged = HashMap<usize, HashSet<String>>;

/// Delivers at a steady rate while hosts run the turns and streams are open.
fn loaded(
    server: &Server,
    size: Size,
    triggers: &[String],
    found: &mut Found,
) -> Result<Acknowledged, Wrong> {
    let (sent, decided): (Mutex<HashMap<String, Instant>>, Mutex<Vec<Duration>>) =
        Default::default();
    let (seen, ends) = (AtomicU64::new(0), AtomicBool::new(false));
    let acknowledged = Mutex::new(Acknowledged::new());
    let refused: Mutex<HashMap<String, u64>> = Mutex::default();
    let used = server.processor()?;
    thread::scope(|scope| {
        let small = |name: &str| thread::Builder::new().name(name.into()).stack_size(256 << 10);
        for number in 0..size.streams {
            let (sent, decided, seen, ends) = (&sent, &decided, &seen, &ends);
            let spawned = small("stream").spawn_scoped(scope, move || {
                let agent = number % size.active;
                let is_first = number < size.active;
                let path = format!("/v1/agents/{}/entries", name(agent));
                let mut waiting: Option<String> = None;
                server.client.clone().stream(&path, |_, line| {
                    seen.fetch_add(1, Ordering::Relaxed);
                    if is_first {
                        if let Some(id) = marked(line) {
                            waiting = Some(id.to_owned());
                        } else if line.contains(r#""decision""#)
                            && let Some(began) =
                                waiting.take().and_then(|id| held(sent).remove(&id))
                        {
                            held(decided).push(began.elapsed());
                        }
                    }
                    !ends.load(Ordering::Relaxed)
                });
            });
            drop(spawned);
        }
        for number in 0..size.active {
            let ends = &ends;
            let spawned =
                small("host").spawn_scoped(scope, move || host(&server.client, number, ends));
            drop(spawned);
        }
        thread::sleep(Duration::from_secs(3));
        let began = Instant::now();
        let total = (size.time.as_secs_f64() * size.rate as f64) as usize;
        let next = AtomicU64::new(0);
        thread::scope(|senders| {
            for _ in 0..32 {
                senders.spawn(|| {
                    let client = server.client.clone();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                        if number >= total {
                            return;
                        }
                        let due = Duration::from_secs_f64(number as f64 / size.rate as f64);
                        thread::sleep(due.saturating_sub(began.elapsed()));
                        let (agent, id) = (number % size.active, format!("mark-{number}-"));
                        held(&sent).insert(id.clone(), Instant::now());
                        match deliver(&client, &triggers[agent], &id) {
                            Some(202) => {
                                held(&acknowledged).entry(agent).or_default().insert(id);
                            }
                            other => *held(&refused).entry(format!("{other:?}")).or_default() += 1,
                        }
                    }
                });
            }
        });
        let took = began.elapsed();
        // What was delivered last is decided, and its turn ends.
        thread::sleep(Duration::from_secs(3));
        ends.store(true, Ordering::Relaxed);
        found.say(format!(
            "{total} deliveries in {:.1} s, {:.0} per second, beside {} streams",
            took.as_secs_f64(),
            total as f64 / took.as_secs_f64(),
            size.streams
        ));
        // The streams look at `ends` at their next entry.
        for number in 0..size.active {
            server.client.post(
                &format!("/v1/agents/{}/facts", name(number)),
                r#"{"fact":"wake_hint_submitted","reason":"the end"}"#,
            );
        }
    });
    let mut decided = std::mem::take(&mut *held(&decided));
    decided.sort_unstable();
    let at = |part: f64| {
        let index = ((decided.len() as f64 * part) as usize).min(decided.len().saturating_sub(1));
        decided.get(index).map_or(f64::INFINITY, |span| span.as_secs_f64() * 1e3)
    };
    found.say(format!(
        "from delivery to the recorded decision: {} measured, p50 {:.1} ms, p90 {:.1} ms",
        decided.len(),
        at(0.5),
        at(0.9)
    ));
    found.figure("from delivery to the recorded decision, p99", at(0.99), "ms", 50.0);
    let refused: u64 = held(&refused).values().sum();
    found.none("deliveries that were refused", refused);
    found.say(format!("{} entries passed over streams", seen.load(Ordering::Relaxed)));
    let used = server.processor()? - used;
    found.say(format!("the server used {used:.1} s of processor"));
    Ok(std::mem::take(&mut *held(&acknowledged)))
}

/// The mark of a delivery in the entry that records its message.
pub(crate) fn marked(line: &str) -> Option<&str> {
    let begin = line.find("mark-")?;
    let rest = &line[begin..];
    let end = rest[5..].find('-')? + 6;
    line.contains(r#""callback_event""#).then_some(&rest[..end])
}

fn deliver(client: &Client, path: &str, id: &str) -> Option<u16> {
    client.text("POST", path, id, &[("webhook-id", id)]).map(|(status, _)| status)
}

/// A host: runs the turns of an agent until the end.
fn host(client: &Client, number: usize, ends: &AtomicBool) {
    let client = client.clone();
    let agent = name(number);
    while !ends.load(Ordering::Relaxed) {
        let path = format!("/v1/agents/{agent}/turn");
        let Some((status, turn)) = client.json("GET", &path, "", &[("prefer", "wait=1")]) else {
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        if status == 200 {
            let end =
                json!({ "fact": "turn_terminal", "run_id": turn["run_id"], "kind": "completed" });
            client.post(&format!("/v1/agents/{agent}/facts"), &end.to_string());
        }
    }
}

/// Verifies every active ledger, and that each acknowledged delivery is in it once.
fn whole(
    server: &Server,
    size: Size,
    acknowledged: &Acknowledged,
    found: &mut Found,
) -> Result<(), Wrong> {
    let (mut lost, mut doubled, mut entries, mut count) = (0_u64, 0_u64, 0_u64, 0_u64);
    for agent in 0..size.active {
        let (mut head, mut times) = (Head::START, HashMap::<String, u64>::new());
        let mut broken: Option<String> = None;
        let path = format!("/v1/agents/{}/entries?until=head", name(agent));
        server.client.stream(&path, |number, line| {
            match EntryBytes::from_stored(line.to_owned()).open(&head) {
                Ok(entry) => head = entry.head(),
                Err(why) => broken = Some(format!("{path}: entry {number}: {why}")),
            }
            entries += 1;
            // The message that a delivery became; the record of the delivery itself has no kind.
            if let Some(id) = marked(line).filter(|_| line.contains(r#""created_at""#)) {
                *times.entry(id.to_owned()).or_default() += 1;
            }
            broken.is_none()
        });
        if let Some(broken) = broken {
            return Err(broken.into());
        }
        for id in acknowledged.get(&agent).into_iter().flatten() {
            count += 1;
            match times.get(id) {
                None => lost += 1,
                Some(1) => {}
                Some(_) => doubled += 1,
            }
        }
    }
    found.say(format!("{count} acknowledged deliveries, {entries} entries verified"));
    found.none("acknowledged and lost", lost);
    found.none("recorded twice", doubled);
    Ok(())
}

/// Kills the server again and again under load. Senders repeat what was not acknowledged.
fn killed(
    store: &mut Store,
    server: Server,
    size: Size,
    triggers: &[String],
    acknowledged: Acknowledged,
    found: &mut Found,
) -> Result<Acknowledged, Wrong> {
    let acknowledged = Mutex::new(acknowledged);
    let clients: Mutex<(u64, Client)> = Mutex::new((0, server.client.clone()));
    let (ends, next, again) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    let mut server = Some(server);
    let killed: io::Result<()> = thread::scope(|scope| {
        for number in 0..16 {
            let (ends, next, again, clients) = (&ends, &next, &again, &clients);
            let acknowledged = &acknowledged;
            scope.spawn(move || {
                let (mut known, mut client) = newest(clients);
                while !ends.load(Ordering::Relaxed) {
                    let id = format!("mark-{}-", 1_000_000 + next.fetch_add(1, Ordering::Relaxed));
                    let agent = (next.load(Ordering::Relaxed) as usize + number) % size.active;
                    while !ends.load(Ordering::Relaxed) {
                        if deliver(&client, &triggers[agent], &id) == Some(202) {
                            held(acknowledged).entry(agent).or_default().insert(id);
                            break;
                        }
                        again.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(2));
                        if held(clients).0 != known {
                            (known, client) = newest(clients);
                        }
                    }
                    // A sender that never pauses would measure the disk only.
                    thread::sleep(Duration::from_millis(20));
                }
            });
        }
        let kills = (1..=size.kills as u64).try_for_each(|kill| {
            thread::sleep(Duration::from_millis(60 + kill * 37 % 200));
            if let Some(server) = server.take() {
                server.kill()?;
            }
            let started = store.start()?;
            *held(&clients) = (kill, started.client.clone());
            server = Some(started);
            Ok(())
        });
        ends.store(true, Ordering::Relaxed);
        kills
    });
    killed?;
    found.say(format!(
        "{} kills under load in {:.0} s, {} deliveries tried again",
        size.kills,
        began.elapsed().as_secs_f64(),
        again.load(Ordering::Relaxed)
    ));
    if let Some(server) = server {
        server.kill()?;
    }
    Ok(std::mem::take(&mut *held(&acknowledged)))
}

fn newest(clients: &Mutex<(u64, Client)>) -> (u64, Client) {
    let newest = held(clients);
    (newest.0, newest.1.clone())
}

pub(crate) fn held<T: ?Sized>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
