//! The ledger in PostgreSQL (contract 3.1, 3.2, 3.5), on a real server.

mod doubt;
mod moving;
mod upkeep;

use std::{
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use wakeful_core::{
    host::{Clock, Ledger, LedgerError, suite},
    id::{AgentId, Seq},
    record::{
        Record,
        chain::Head,
        control::{ControlRecord, Marker},
        entry::{self, Entry, EntryBytes},
    },
    time::Timestamp,
};
use wakeful_host::ledger::{Claim, ClaimError, Fault, PostgresStore, Worker, WorkerOptions};
use wakeful_tests::fleet::Server;

/// One server for all tests; each has a schema of its own.
fn server() -> MutexGuard<'static, Server> {
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Mutex::new(Server::start().expect("a server")));
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

fn store(schema: &str) -> PostgresStore {
    PostgresStore::open(&server().address(schema)).expect("a store")
}

fn batch(after: Head, entries: usize) -> (Head, Vec<EntryBytes>) {
    let records = vec![Record::Control(ControlRecord::StartRequested(Marker {})); entries];
    let (entries, batch) = entry::seal_all(after, Timestamp::from_nanos(0), records);
    (entries.last().map_or(after, Entry::head), batch)
}

#[test]
fn it_keeps_the_laws_of_ledgers() {
    let store = store("laws");
    suite::ledger(|agent| store.ledger(agent)).expect("all laws");
}

#[test]
fn those_that_append_at_once_are_all_stored_and_told() {
    let store = store("at_once");
    let (head, first) = batch(Head::START, 3);
    thread::scope(|scope| {
        let said: Vec<_> = (0..64)
            .map(|number| {
                // Two threads write to each agent, so the second one of each pair gets a conflict.
                let agent = AgentId::from(format!("agent-{}", number / 2));
                let (mut ledger, first) = (store.ledger(&agent), &first);
                scope.spawn(move || ledger.append(&Head::START, first))
            })
            .collect();
        let said: Vec<_> = said.into_iter().map(|thread| thread.join().expect("it ends")).collect();
        for pair in said.chunks(2) {
            let conflict = Err(LedgerError::Conflict { found: head.seq });
            assert!(pair.contains(&Ok(())) && pair.contains(&conflict), "{pair:?}");
        }
    });
    let heads = store.heads().expect("the heads");
    assert_eq!(heads.len(), 32);
    for (agent, found) in heads {
        assert_eq!(found, head);
        assert_eq!(store.ledger(&agent).read(Seq(0), 10).expect("entries"), first);
    }
}

#[test]
fn a_store_is_made_once_by_many_and_read_by_those_who_make_none() {
    let address = server().address("many");
    let why = PostgresStore::open_read_only(&address).expect_err("there is none");
    assert!(matches!(why.fault, Fault::NoStore { .. }), "{why}");
    thread::scope(|scope| {
        let opened: Vec<_> =
            (0..8).map(|_| scope.spawn(|| PostgresStore::open(&address))).collect();
        for thread in opened {
            thread.join().expect("it ends").expect("a store");
        }
    });
    let store = PostgresStore::open_read_only(&address).expect("it is there");
    assert_eq!(store.agents().expect("the agents"), []);
    store.keep("token", "a", "1").expect("it keeps");
    store.keep("token", "a", "2").expect("it keeps");
    assert_eq!(store.kept("token").expect("it"), [("a".to_owned(), "2".to_owned())]);
    store.keep("token", "b", "3").expect("it keeps");
    let some = store.kept_among("token", &["b", "c"]).expect("it reads");
    assert_eq!(some, [("b".to_owned(), "3".to_owned())]);
    assert!(store.forget("token", "a").expect("it") && !store.forget("token", "a").expect("it"));
}

#[test]
fn an_agent_opens_from_the_newest_of_its_snapshots() {
    let store = store("snapshots");
    let mut ledger = store.ledger(&"a".into());
    let mut head = Head::START;
    for text in ["one", "two", "three"] {
        let (next, entries) = batch(head, 2);
        ledger.append(&head, &entries).expect("it appends");
        ledger.store_snapshot(&next, &|| text.to_owned()).expect("it stores");
        head = next;
        let found = store.ledger(&"a".into()).load_snapshot().expect("it reads");
        assert_eq!(found.as_deref(), Some(text));
    }
}

#[test]
fn a_lease_is_renewed_while_an_agent_is_driven() {
    let store = store("lease");
    let (worker, other) = (join_for(&store, SHORT), join(&store));
    let claim = worker.claim(&"a".into()).expect("a claim");
    append(&claim).expect("it is the owner's");
    // A turn may take longer than the lease.
    let began = Instant::now();
    until("it was renewed after the end of the first lease", || {
        began.elapsed().saturating_sub(worker.since_renewal()) > SHORT
    });
    until("it is sure", || claim.is_sure());
    assert!(other.claim_due(9).expect("claims").is_empty());
    append(&claim).expect("it is the owner's still");
}

#[test]
fn a_server_that_crashes_loses_nothing_that_it_acknowledged() {
    let mut server = Server::start().expect("a server");
    let store = PostgresStore::open(&server.address("wakeful")).expect("a store");
    let agents = ["a", "b", "c"];
    thread::scope(|scope| {
        let writers = agents.map(|agent| {
            let mut ledger = store.ledger(&agent.into());
            scope.spawn(move || {
                let mut head = Head::START;
                for _ in 0..400 {
                    let (next, batch) = batch(head, 2);
                    ledger.append(&head, &batch).expect("it waits for the server");
                    head = next;
                }
                head
            })
        });
        for _ in 0..2 {
            thread::sleep(Duration::from_millis(150));
            server.crash_and_start().expect("it starts again");
        }
        for (agent, writer) in agents.iter().zip(writers) {
            let head = writer.join().expect("it ends");
            let mut ledger = store.ledger(&(*agent).into());
            assert_eq!(ledger.head().expect("a head"), head);
            let mut at = Head::START;
            while let Some(page) =
                Some(ledger.read(at.seq, 100).expect("a page")).filter(|it| !it.is_empty())
            {
                for bytes in page {
                    at = bytes.open(&at).expect("the next entry").head();
                }
            }
            assert_eq!(at, head, "the chain holds");
        }
    });
}

/// A worker whose lease ends in no test, also on a slow machine. It takes none for dead either:
/// only one that has renewed its lease for as long as a lease does that.
fn join(store: &PostgresStore) -> Worker {
    join_for(store, Duration::from_hours(1))
}

/// A worker with this lease.
fn join_for(store: &PostgresStore, lease: Duration) -> Worker {
    store.join(&WorkerOptions { lease, ..WorkerOptions::default() }).expect("a worker")
}

/// A lease that is so short that a test can wait for its end.
const SHORT: Duration = Duration::from_secs(2);

/// A limit only for tests that hang.
const PATIENCE: Duration = Duration::from_mins(10);

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "not: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn append(claim: &Claim) -> Result<(), LedgerError> {
    let mut ledger = claim.ledger();
    let head = ledger.head()?;
    ledger.append(&head, &batch(head, 1).1)
}

#[test]
fn an_agent_has_one_owner_and_only_its_owner_appends() {
    let store = store("owners");
    let (one, other) = (join(&store), join(&store));
    let agent = AgentId::from("a");
    let claim = one.claim(&agent).expect("a claim");
    assert!(claim.is_restart(), "it is new");
    append(&claim).expect("it is the owner's");
    let why = other.claim(&agent).expect_err("it is driven");
    assert!(matches!(why, ClaimError::Driven { here: false, .. }), "{why}");
    let why = one.claim(&agent).expect_err("it is driven here");
    assert!(matches!(why, ClaimError::Driven { here: true, .. }), "{why}");
    let (_, first) = batch(Head::START, 1);
    let why = store.ledger(&agent).append(&Head::START, &first).expect_err("it is driven");
    assert!(why.to_string().contains("is driven by the worker"), "{why}");
    let placed = store.placed().expect("the owners");
    assert_eq!((placed.len(), placed[0].worker.as_str()), (1, &*one.id()));
    let (ledger, epoch) = (claim.ledger(), claim.epoch());
    claim.rest(None).expect("it rests");
    assert_eq!(store.placed().expect("the owners"), []);
    assert!(other.claim_due(9).expect("claims").is_empty(), "it is due at no time");
    // Anybody may append to an agent at rest, and it still rests.
    let mut free = store.ledger(&agent);
    let head = free.head().expect("a head");
    free.append(&head, &batch(head, 1).1).expect("nobody drives it");
    let again = other.claim(&agent).expect("it is free");
    assert!(!again.is_restart() && again.epoch() > epoch);
    append(&again).expect("it is the owner's");
    // What the earlier owner still wants to write is refused, with the right head too.
    let mut ledger = ledger;
    let head = ledger.head().expect("a head");
    let why = ledger.append(&head, &batch(head, 1).1).expect_err("it is another's");
    assert!(why.to_string().contains("no longer owns"), "{why}");
    again.hand_over().expect("it is free");
    let [next] = &one.claim_due(9).expect("claims")[..] else { panic!("it is due") };
    assert!(next.is_restart(), "it did not come to rest");
    // Its own earlier claim is as stale as that of another.
    let head = ledger.head().expect("a head");
    assert!(ledger.append(&head, &batch(head, 1).1).is_err(), "the epoch is another");
    append(next).expect("it is the owner's");
}

/// An append that is alone has another statement than those that go together, or that are the first
/// of their agent.
#[test]
fn earlier_claims_append_nothing_together_either() {
    let store = store("earlier_claims");
    let worker = join(&store);
    for has_entries in [false, true] {
        let claim = |number: usize| {
            let agent = AgentId::from(format!("agent-{has_entries}-{number}"));
            let claim = worker.claim(&agent).expect("a claim");
            if has_entries {
                append(&claim).expect("it is the owner's");
            }
            let ledger = claim.ledger();
            claim.hand_over().expect("it is free");
            ledger
        };
        let earlier: Vec<_> = (0..32).map(claim).collect();
        let claims = worker.claim_due(64).expect("claims");
        assert_eq!(claims.len(), 32);
        thread::scope(|scope| {
            for mut ledger in earlier {
                scope.spawn(move || {
                    let head = ledger.head().expect("a head");
                    let why = ledger.append(&head, &batch(head, 1).1).expect_err("it is stale");
                    assert!(why.to_string().contains("no longer owns"), "{why}");
                });
            }
        });
        for claim in &claims {
            assert_eq!(claim.ledger().head().expect("a head").seq, Seq(u64::from(has_entries)));
            append(claim).expect("it is the owner's");
        }
    }
}

#[test]
fn an_agent_that_a_lost_answer_left_to_its_worker_is_found_again() {
    let store = store("strays");
    let worker = join(&store);
    let claim = worker.claim(&"a".into()).expect("a claim");
    append(&claim).expect("it is the owner's");
    let strays = || worker.strays().expect("an answer");
    assert!(strays().is_empty() && strays().is_empty(), "it is driven");
    drop(claim);
    assert!(strays().is_empty(), "it may be given back just now");
    let [claim] = &strays()[..] else { panic!("nothing drives it") };
    assert!(claim.is_restart());
    append(claim).expect("it is the owner's");
}

#[test]
fn an_agent_that_waits_here_keeps_its_claim() {
    let store = store("waiting");
    let worker = join(&store);
    let agent = AgentId::from("a");
    let claim = worker.claim(&agent).expect("a claim");
    append(&claim).expect("it is the owner's");
    let epoch = claim.epoch();
    claim.wait();
    assert_eq!(worker.waiting(), std::slice::from_ref(&agent));
    let claim = worker.claim(&agent).expect("nothing drives it");
    assert!((claim.epoch(), claim.is_restart()) == (epoch, true), "it did not come to rest");
    claim.wait_at_rest();
    assert!(!worker.claim(&agent).expect("nothing drives it").is_restart());
}

#[test]
fn a_worker_claims_only_agents_that_it_can_drive() {
    let store = store("kinds");
    let kinds = |kinds: &[&str]| WorkerOptions {
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        lease: Duration::from_hours(1),
        ..WorkerOptions::default()
    };
    let plain = store.join(&kinds(&["elsewhere"])).expect("a worker");
    let other = store.join(&kinds(&["", "elsewhere"])).expect("a worker");
    for agent in ["model", "host", "away"] {
        let claim = plain.claim(&agent.into()).expect("a claim");
        append(&claim).expect("it is the owner's");
        claim.rest(Some(Timestamp::from_nanos(0))).expect("it rests");
    }
    store.set_kind(&"host".into(), "elsewhere").expect("it is set");
    store.set_kind(&"away".into(), "away").expect("it is set");
    let names = |claims: Vec<Claim>| -> Vec<String> {
        claims.iter().map(|claim| claim.agent().to_string()).collect()
    };
    assert_eq!(names(plain.claim_due(9).expect("claims")), ["host"]);
    assert_eq!(names(other.claim_due(9).expect("claims")), ["model"]);
}

#[test]
fn agents_of_a_dead_worker_are_taken_over_and_it_appends_no_more() {
    let store = store("dead");
    // A connection of its own, as that of another process.
    let elsewhere = PostgresStore::open(store.address()).expect("a store");
    let dead = join_for(&elsewhere, SHORT);
    let claims: Vec<_> =
        ["a", "b", "c"].map(|id| dead.claim(&id.into()).expect("a claim")).into_iter().collect();
    claims.iter().for_each(|claim| append(claim).expect("it is the owner's"));
    until("it is sure", || dead.is_sure());
    dead.stop_renewing();
    // Only now is there one that takes others for dead.
    let heir = join_for(&store, SHORT);
    until("the dead worker is not sure", || !dead.is_sure());
    let taken = std::sync::Mutex::new(Vec::new());
    until("its agents are taken over", || {
        let mut taken = taken.lock().expect("no panic");
        taken.extend(heir.claim_due(2).expect("claims"));
        assert!(taken.is_empty() || dead.since_renewal() >= SHORT, "not before the lease ends");
        taken.len() == 3
    });
    let taken = taken.into_inner().expect("no panic");
    assert!(taken.iter().all(Claim::is_restart));
    for claim in &claims {
        let why = append(claim).expect_err("it is another's").to_string();
        assert!(why.contains("no longer owns"), "{why}");
    }
    taken.iter().for_each(|claim| append(claim).expect("it is the heir's"));
    assert!(matches!(dead.claim(&"d".into()), Err(ClaimError::Store(_))));
    assert_eq!(store.workers().expect("the workers").len(), 1);
    heir.leave().expect("it leaves");
    let next = join(&store);
    assert_eq!(next.claim_due(9).expect("claims").len(), 3, "without a wait for the lease");
}

#[test]
fn what_is_sent_is_recorded_once_and_wakes_an_agent_that_is_being_given_back() {
    let store = store("inbox");
    let worker = join(&store);
    let agent = AgentId::from("a");
    let why = store.send(&agent, "k", "{}").expect_err("there is none");
    assert!(matches!(why.fault, Fault::NoAgent { .. }), "{why}");
    let claim = worker.claim(&agent).expect("a claim");
    append(&claim).expect("it is the owner's");
    for (key, fact) in [("k1", "one"), ("k2", "two"), ("k1", "one")] {
        store.send(&agent, key, fact).expect("it is stored");
    }
    let why = store.send(&agent, "k1", "another").expect_err("the key is taken");
    assert!(matches!(why.fault, Fault::OtherFact { .. }), "{why}");
    assert_eq!(worker.addressed().expect("letters").as_slice(), std::slice::from_ref(&agent));
    let arrived = claim.arrived(10).expect("facts");
    assert_eq!(arrived.iter().map(|it| it.fact.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    claim.recording(&arrived[0], || append(&claim)).expect("it is recorded");
    assert_eq!(claim.arrived(10).expect("facts"), arrived[1..]);
    claim.set_aside(&arrived[1], "not a fact").expect("it is out of the way");
    assert_eq!(
        (claim.arrived(10).expect("facts"), worker.addressed().expect("it")),
        (vec![], vec![])
    );
    // Something comes after the last look.
    store.send(&agent, "k3", "three").expect("it is stored");
    claim.rest(None).expect("it rests");
    let [claim] = &worker.claim_due(9).expect("claims")[..] else { panic!("it is due at once") };
    let arrived = claim.arrived(10).expect("facts");
    claim.forget(&arrived[0]).expect("it is known");
    assert_eq!(claim.arrived(10).expect("facts"), []);
}

#[test]
fn a_fact_that_is_sent_during_each_release_wakes_the_agent() {
    let store = store("race");
    let worker = join(&store);
    let agent = AgentId::from("a");
    let claim = worker.claim(&agent).expect("a claim");
    append(&claim).expect("it is the owner's");
    let mut claim = Some(claim);
    for round in 0..200 {
        let current = claim.take().expect("a claim");
        for arrived in current.arrived(10).expect("facts") {
            current.recording(&arrived, || append(&current)).expect("it is recorded");
        }
        assert_eq!(current.arrived(10).expect("facts"), []);
        thread::scope(|scope| {
            let sent = scope.spawn(|| store.send(&agent, &format!("k{round}"), "fact"));
            current.rest(None).expect("it rests");
            sent.join().expect("it ends").expect("it is stored");
        });
        let mut due = worker.claim_due(9).expect("claims");
        claim = due.pop();
        assert!(claim.is_some(), "round {round}: it sleeps while something waits");
    }
}

#[test]
fn a_database_that_crashes_during_claims_strands_nobody() {
    let mut server = Server::start().expect("a server");
    let store = PostgresStore::open(&server.address("wakeful")).expect("a store");
    // If each append below waited for a renewal, they would take hours.
    let worker = join_for(&store, Duration::from_mins(1));
    for number in 0..200 {
        let claim = worker.claim(&AgentId::from(format!("a{number}"))).expect("a claim");
        append(&claim).expect("it is the owner's");
        claim.rest(Some(Timestamp::from_nanos(0))).expect("it rests");
    }
    thread::scope(|scope| {
        let claimed = scope.spawn(|| {
            let (mut claims, began) = (Vec::new(), Instant::now());
            while claims.len() < 200 {
                assert!(began.elapsed() < PATIENCE, "{} claims", claims.len());
                claims.extend(worker.claim_due(3).expect("it waits for the server"));
                thread::sleep(Duration::from_millis(5));
            }
            claims
        });
        thread::sleep(Duration::from_millis(100));
        server.crash_and_start().expect("it starts again");
        let claims = claimed.join().expect("it ends");
        let agents: std::collections::BTreeSet<_> = claims.iter().map(Claim::agent).collect();
        assert_eq!(agents.len(), 200);
        let began = Instant::now();
        for claim in &claims {
            append(claim).expect("it is the owner's");
            assert!(began.elapsed() < PATIENCE, "each append waits for the lease");
        }
    });
}

#[test]
fn an_agent_that_is_pinned_goes_only_where_the_label_is() {
    let store = store("labels");
    let plain = join(&store);
    let options = WorkerOptions {
        labels: ["disk-7".to_owned()].into(),
        address: Some("https://10.0.0.7:7171".to_owned()),
        lease: Duration::from_hours(1),
        ..WorkerOptions::default()
    };
    let special = store.join(&options).expect("a worker");
    let claim = plain.claim(&"a".into()).expect("a claim");
    append(&claim).expect("it is the owner's");
    store.pin(&"a".into(), Some("disk-7")).expect("it is pinned");
    claim.rest(Some(Timestamp::from_nanos(0))).expect("it rests");
    assert!(plain.claim_due(9).expect("claims").is_empty());
    let claims = special.claim_due(9).expect("claims");
    assert_eq!(claims.len(), 1);
    let placed = store.placed().expect("the owners");
    assert_eq!(placed[0].address.as_deref(), Some("https://10.0.0.7:7171"));
    let now = special.clock().now();
    let own = wakeful_host::clock::SystemClock.now();
    assert!(now.nanos_since(own).abs() < 60_000_000_000, "both clocks are of this machine");
}
