//! Several processes on one ledger, and processes that are killed (contract 3.1, 3.2, I21).

use std::{
    collections::BTreeSet,
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    io::{BufRead, BufReader},
    path::Path,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use wakeful_core::{LedgerError, SchedulerError, State};
use wakeful_host::ledger::{SqliteFile, SqliteLedger};

use super::{
    agent::{Agent, folded, ledger, observed},
    child::{self, Role},
};
use crate::shared::prompt;

/// Proposes one message until no other writer is first; returns the number of conflicts.
fn insist(agent: &mut Agent<SqliteLedger>, id: &str) -> usize {
    for conflicts in 0..1000 {
        match agent.propose(&prompt(id)) {
            Ok(_) => return conflicts,
            Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => {
                agent.catch_up().map(|_| ()).expect("it reads")
            }
            Err(why) => panic!("`{id}`: {why}"),
        }
    }
    panic!("`{id}` never got through");
}

/// The ids of the messages in a state.
fn ids(state: &State) -> BTreeSet<String> {
    state.queue().open().map(ToString::to_string).collect()
}

const FACTS: usize = 1000;
const BOTH: [&str; 2] = ["left", "right"];

#[test]
fn of_two_processes_that_write_to_one_ledger_each_gets_every_fact_in_exactly_once() {
    const NAME: &str = "sqlite::processes::of_two_processes_that_write_to_one_ledger_each_gets_every_fact_in_exactly_once";
    if let Some(role) = Role::here() {
        // Both create the file and begin the ledger at nearly the same instant, then append to the
        // same head: one of them must get a conflict.
        meet(&role, "open");
        let file = SqliteFile::open(&role.ledger).expect("the file opens");
        let mut agent = begun(&file);
        meet(&role, "say");
        let conflicts: usize =
            (0..FACTS).map(|number| insist(&mut agent, &format!("{}-{number}", role.name))).sum();
        return role.say("conflicts", conflicts);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let children = BOTH.map(|role| child::command(NAME, role, &path).spawn().expect("a child"));
    let said = children.map(child::finished);
    let conflicts = BOTH.iter().zip(&said).map(|(role, out)| {
        let said = child::said(out, role, "conflicts");
        assert_eq!(said.len(), 1, "{out}");
        said[0].parse::<usize>().expect("a number")
    });
    assert!(conflicts.sum::<usize>() > 0, "there was no conflict");
    let state = folded("a", &mut ledger(&SqliteFile::open(&path).expect("it opens"), "a"));
    let expected: BTreeSet<String> = BOTH
        .iter()
        .flat_map(|role| (0..FACTS).map(move |number| format!("{role}-{number}")))
        .collect();
    assert_eq!(ids(&state), expected);
    assert_eq!(
        state.head().seq.0,
        1 + 2 * 2 * FACTS as u64,
        "the first entry, and a message with its queue entry for each"
    );
}

/// Waits until both processes have reached this place.
fn meet(role: &Role, place: &str) {
    let mark = |name: &str| role.ledger.with_extension(format!("{place}-{name}"));
    std::fs::write(mark(&role.name), "").expect("the mark is written");
    while !BOTH.iter().all(|name| mark(name).exists()) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Begins the ledger of agent `a`, or opens it if the other process has begun it.
fn begun(file: &SqliteFile) -> Agent<SqliteLedger> {
    use wakeful_core::{Options, Scheduler};
    use wakeful_host::clock::VirtualClock;
    let open = || {
        Scheduler::observe(
            Options::new("a".into()),
            ledger(file, "a"),
            VirtualClock::at(super::agent::NOW),
            wakeful_host::provider::Elsewhere,
        )
    };
    match open() {
        Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => open().expect("it has begun"),
        opened => opened.expect("it opens"),
    }
}

const ROUNDS: u64 = 20;

#[test]
fn a_writer_that_is_killed_at_any_instant_loses_no_fact_whose_append_returned() {
    const NAME: &str = "sqlite::processes::a_writer_that_is_killed_at_any_instant_loses_no_fact_whose_append_returned";
    if let Some(role) = Role::here() {
        let file = SqliteFile::open(&role.ledger).expect("the file opens");
        let mut agent = observed("a", ledger(&file, "a"));
        for number in 0..1_000_000 {
            let id = format!("{}-{number}", role.name);
            agent.propose(&prompt(&id)).expect("it is recorded");
            role.say("stored", id);
        }
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let role = format!("round{round}");
        let mut child = child::command(NAME, &role, &path).spawn().expect("a child");
        let (first, stored) = mpsc::channel();
        let out = BufReader::new(child.stdout.take().expect("its output"));
        // Another thread reads the pipe, so that the child never blocks on it.
        let reader = thread::spawn(move || heard(out, &first));
        // Every second child is killed at any moment, even during its start or while it opens the
        // file. The others are killed once they have written.
        let lived = if round % 2 == 0 {
            Duration::from_micros(random() % 100_000)
        } else {
            Duration::from_micros(random() % 30_000)
        };
        if round % 2 == 1 {
            stored.recv_timeout(Duration::from_mins(10)).expect("a fact is stored");
        }
        thread::sleep(lived);
        child.kill().expect("it is killed");
        child.wait().expect("it is gone");
        acknowledged.extend(child::said(&reader.join().expect("its output"), &role, "stored"));
        check_after_kill(&path, &acknowledged, &format!("round {round}, killed after {lived:?}"));
    }
    assert!(
        acknowledged.len() as u64 >= ROUNDS / 2,
        "the children got to write: {}",
        acknowledged.len()
    );
}

/// Reads all output of a child until it is gone; signals when the child has stored something.
fn heard(mut out: impl BufRead, stored: &mpsc::Sender<()>) -> String {
    let mut all = String::new();
    while out.read_line(&mut all).expect("text") > 0 {
        if all.contains(":stored:") {
            // The rounds that kill at any moment do not wait for the signal.
            let _ = stored.send(());
        }
    }
    all
}

/// The ledger opens, its chain holds, it has no half batch, and every acknowledged fact is there.
fn check_after_kill(path: &Path, acknowledged: &BTreeSet<String>, when: &str) {
    let file = SqliteFile::open(path).unwrap_or_else(|why| panic!("{when}: {why}"));
    let agent = observed("a", ledger(&file, "a"));
    let state = folded("a", &mut ledger(&file, "a"));
    assert_eq!(agent.state(), &state, "{when}: snapshot and tail give the fold");
    assert_eq!(agent.opening().ignored, None, "{when}");
    let stored = ids(&state);
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    assert!(lost.is_empty(), "{when}: lost {lost:?}");
    assert_eq!(state.head().seq.0, 1 + 2 * stored.len() as u64, "{when}: half a batch");
}

/// The seed of a hash map is random, which is random enough for a delay.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A reader in another process sees each commit soon, and in order.
#[test]
fn a_reader_in_another_process_follows_the_writer() {
    const NAME: &str = "sqlite::processes::a_reader_in_another_process_follows_the_writer";
    if let Some(role) = Role::here() {
        let file = SqliteFile::open_read_only(&role.ledger).expect("it opens for reading");
        let (mut last, until) = (0, Instant::now() + Duration::from_mins(10));
        role.say("reads", "now");
        while last < 41 && Instant::now() < until {
            let state = folded("a", &mut ledger(&file, "a"));
            assert_eq!(state.head().seq.0 % 2, 1, "the reader sees half a batch");
            assert!(state.head().seq.0 >= last, "the log shrinks");
            last = state.head().seq.0;
        }
        return role.say("last", last);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = SqliteFile::open(&path).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    let child = child::command(NAME, "reader", &path).spawn().expect("a child");
    for number in 0..20 {
        thread::sleep(Duration::from_millis(5));
        agent.propose(&prompt(&format!("m{number}"))).expect("it is recorded");
    }
    assert_eq!(child::said(&child::finished(child), "reader", "last"), ["41"]);
}
