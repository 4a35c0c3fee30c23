//! Leases that could not be renewed for a while, and claims of before.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use wakeful_core::id::AgentId;
use wakeful_host::ledger::{Address, Claim, PostgresStore, Worker};
use wakeful_tests::fleet::Server;

use super::{SHORT, append, join_for, server, store, until};

#[test]
fn after_a_failover_no_worker_is_taken_for_dead_before_it_had_the_time_to_renew() {
    let mut server = Server::start().expect("a server");
    let address = server.address("wakeful");
    let [store, elsewhere] = [(); 2].map(|()| PostgresStore::open(&address).expect("a store"));
    let lease = SHORT * 2;
    let (worker, slow) = (join_for(&store, lease), join_for(&elsewhere, lease));
    slow.stop_renewing();
    server.kill();
    thread::sleep(lease * 3 / 2);
    let resumed = Instant::now();
    server.crash_and_start().expect("it starts again");
    until("the worker has renewed its lease", || worker.is_sure());
    // One that ends and one that begins know nothing of the others.
    let [leaves, _new] = [(); 2].map(|()| join_for(&store, lease));
    leaves.leave().expect("it leaves");
    until("one that does not renew is taken for dead", || {
        let workers = store.workers().expect("the workers");
        let is_gone = workers.iter().all(|it| *it.worker != *slow.id());
        assert!(!is_gone || resumed.elapsed() >= lease, "the slow one may renew still");
        is_gone
    });
}

#[test]
fn an_append_waits_while_the_lease_is_in_doubt() {
    let mut server = Server::start().expect("a server");
    let store = PostgresStore::open(&server.address("wakeful")).expect("a store");
    let worker = join_for(&store, SHORT);
    let claim = worker.claim(&"a".into()).expect("a claim");
    append(&claim).expect("it is the owner's");
    server.kill();
    until("the worker is in doubt", || !claim.is_sure());
    let doubted = Instant::now();
    thread::scope(|scope| {
        let appended = scope.spawn(|| {
            append(&claim).expect("it is the owner's");
            worker.since_renewal() < doubted.elapsed()
        });
        server.crash_and_start().expect("it starts again");
        assert!(appended.join().expect("it ends"), "it was renewed first");
    });
}

#[test]
fn while_no_standby_has_a_commit_renewals_fill_no_server_and_an_append_outlasts_it_with_a_lease() {
    let server = Server::start().expect("a server");
    let store = PostgresStore::open(&server.address("wakeful")).expect("a store");
    let worker = join_for(&store, SHORT * 3);
    let claim = worker.claim(&"a".into()).expect("a claim");
    let renewed = || Instant::now().checked_sub(worker.since_renewal()).expect("an instant");
    let execute = |text: &str| server.execute(text).expect("it is done");
    let holds = |what: &str| server.execute(&format!("DO $$ BEGIN ASSERT {what}; END $$")).is_ok();
    execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    execute("SELECT pg_reload_conf()");
    until("it waits for a standby", || {
        holds("current_setting('synchronous_standby_names') = 'nobody'")
    });
    thread::scope(|scope| {
        let appended = scope.spawn(|| {
            append(&claim).expect("it is the owner's");
            renewed()
        });
        until("the worker is in doubt", || !claim.is_sure());
        let before = renewed();
        thread::sleep(SHORT);
        // The append, this question, a renewal, and one that is just being cancelled.
        let few = "(SELECT count(*) FROM pg_stat_activity WHERE state = 'active') <= 4";
        until("few connections are active", || holds(few));
        execute("ALTER SYSTEM RESET synchronous_standby_names");
        execute("SELECT pg_reload_conf()");
        let after = appended.join().expect("it ends");
        // They are measured, and a renewal is much younger than the one before.
        assert!(after > before + Duration::from_millis(100), "the lease was not renewed first");
    });
}

#[test]
fn a_host_that_takes_connections_and_never_answers_keeps_nobody_from_the_next_one() {
    // The system takes connections for a program that only listens.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("its port").port();
    let address = server().address("silent_host");
    let both = address.shown().replacen('@', &format!("@127.0.0.1:{port},"), 1);
    let store = PostgresStore::open(&Address::parse(&both).expect("an address"));
    store.expect("a store").heads().expect("an answer");
    silent.set_nonblocking(true).expect("it is set");
    silent.accept().expect("the silent host was asked too");
}

#[test]
fn a_store_is_opened_while_its_cluster_fails_over() {
    // Longer than one waits for a server that does not answer at all.
    const FAILOVER: Duration = Duration::from_secs(5);
    let began = Instant::now();
    let way = Way::through(&server().address("failing_over"), move |here| {
        if began.elapsed() < FAILOVER {
            // It closes the connection after this.
            drop((&*here).write_all(STARTING_UP));
        }
        began.elapsed() >= FAILOVER
    });
    // Nobody listens at the port of the other host.
    let both = way.address.shown().replacen('@', "@127.0.0.1:1,", 1);
    let store = PostgresStore::open(&Address::parse(&both).expect("an address"));
    store.expect("a store").heads().expect("an answer");
    assert!(began.elapsed() >= FAILOVER);
}

/// What a standby says before it is the primary, as a message of the protocol.
const STARTING_UP: &[u8] =
    b"E\0\0\0\x3eSFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";

#[test]
fn a_renewal_whose_answer_is_lost_does_not_cost_the_lease() {
    let way = Way::to(&server().address("lost_answer"));
    let store = PostgresStore::open(&way.address).expect("a store");
    // A third of it is less than one waits for the answer to another call.
    let worker = join_for(&store, Duration::from_secs(24));
    // Many connections, so that the renewal does not have to make one.
    let asked = Barrier::new(12);
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| (asked.wait(), store.heads().expect("an answer")));
        }
    });
    way.lose();
    let lost = Instant::now();
    until("it is renewed", || {
        assert!(worker.is_sure(), "it is in doubt after {:?}", lost.elapsed());
        worker.since_renewal() < lost.elapsed()
    });
}

/// A way to a server, whose connections can be lost without a word, as by a firewall that forgets
/// them.
struct Way {
    address: Address,
    /// Counts the losses. A connection of an earlier one carries nothing.
    losses: Arc<AtomicUsize>,
}

impl Way {
    fn to(address: &Address) -> Self {
        Self::through(address, |_| true)
    }

    /// A way on which only some connections get to the server.
    fn through(address: &Address, lets: impl Fn(&TcpStream) -> bool + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its port").port();
        let (before, rest) = address.shown().split_once('@').expect("a user");
        let (host, rest) = rest.split_once('/').expect("a host");
        let (host, losses) = (host.to_owned(), Arc::<AtomicUsize>::default());
        let way = format!("{before}@127.0.0.1:{port}/{rest}");
        let address = Address::parse(&way).expect("an address");
        let now = Arc::clone(&losses);
        thread::spawn(move || {
            for here in listener.incoming().flatten().filter(lets) {
                let there = TcpStream::connect(&host).expect("the server");
                let ends =
                    || (here.try_clone().expect("a copy"), there.try_clone().expect("a copy"));
                let of = now.load(Ordering::Acquire);
                let ((one, other), (other_too, one_too)) = (ends(), ends());
                for (from, to) in [(one, other), (one_too, other_too)] {
                    let now = Arc::clone(&now);
                    thread::spawn(move || carry(from, to, || now.load(Ordering::Acquire) == of));
                }
            }
        });
        Self { address, losses }
    }

    fn lose(&self) {
        self.losses.fetch_add(1, Ordering::Release);
    }
}

/// Carries bytes while the connection is not lost. After that it takes them, and says nothing.
fn carry(mut from: TcpStream, mut to: TcpStream, is_there: impl Fn() -> bool) {
    let mut bytes = [0; 4 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if is_there() && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn the_end_of_a_lost_claim_does_not_end_a_later_one() {
    for (schema, end) in [("dropped", drop as fn(Claim)), ("waiting_again", Claim::wait)] {
        let store = store(schema);
        let worker = join_for(&store, SHORT);
        let agent = AgentId::from("a");
        let lost = worker.claim(&agent).expect("a claim");
        append(&lost).expect("it is the owner's");
        let before = worker.id();
        // As another worker does after the lease.
        let taken = "DELETE FROM workers; UPDATE agents SET owner = NULL, owned_since = NULL,
                     epoch = epoch + 1, due_at = now()";
        server().execute(&format!("SET search_path = {schema}; {taken}")).expect("it is taken");
        until("the worker joins again", || worker.id() != before);
        let claim = claimed(&worker);
        end(lost);
        assert_eq!((worker.holds(), worker.waiting()), (1, Vec::new()));
        let strays = || worker.strays().expect("an answer");
        assert!(strays().is_empty() && strays().is_empty(), "something drives it");
        append(&claim).expect("it is the owner's");
    }
}

fn claimed(worker: &Worker) -> Claim {
    let mut claims = worker.claim_due(9).expect("claims");
    assert_eq!(claims.len(), 1, "also while the lost claim is still there");
    claims.remove(0)
}
