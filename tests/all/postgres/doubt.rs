//! Leases that could not be renewed for a while, and claims of before.

use std::{
    thread,
    time::{Duration, Instant},
};

use wakeful_core::id::AgentId;
use wakeful_host::ledger::{Claim, PostgresStore, Worker};
use wakeful_tests::fleet::Server;

use super::{append, join, server, store, until};

/// The leases of [`join`] take two seconds.
const LEASE: Duration = Duration::from_secs(2);

#[test]
fn after_a_failover_no_worker_is_taken_for_dead_before_it_had_the_time_to_renew() {
    let mut server = Server::start().expect("a server");
    let address = server.address("wakeful");
    let [store, elsewhere] = [(); 2].map(|()| PostgresStore::open(&address).expect("a store"));
    let (worker, slow) = (join(&store), join(&elsewhere));
    slow.stop_renewing();
    server.kill();
    thread::sleep(LEASE * 3 / 2);
    server.crash_and_start().expect("it starts again");
    until("the worker has renewed its lease", || worker.is_sure());
    let resumed = Instant::now();
    let workers = || store.workers().expect("the workers").len();
    while resumed.elapsed() < LEASE / 2 {
        assert_eq!(workers(), 2, "the other one may renew still");
        thread::sleep(Duration::from_millis(50));
    }
    until("one that does not is taken for dead", || workers() == 1);
}

#[test]
fn an_append_waits_while_the_lease_is_in_doubt() {
    let mut server = Server::start().expect("a server");
    let store = PostgresStore::open(&server.address("wakeful")).expect("a store");
    let worker = join(&store);
    let claim = worker.claim(&"a".into()).expect("a claim");
    append(&claim).expect("it is the owner's");
    server.kill();
    until("the worker is in doubt", || !claim.is_sure());
    thread::scope(|scope| {
        let appended = scope.spawn(|| {
            append(&claim).expect("it is the owner's");
            claim.is_sure()
        });
        server.crash_and_start().expect("it starts again");
        assert!(appended.join().expect("it ends"), "it was renewed first");
    });
}

#[test]
fn the_end_of_a_lost_claim_does_not_end_a_later_one() {
    for (schema, end) in [("dropped", drop as fn(Claim)), ("waiting_again", Claim::wait)] {
        let store = store(schema);
        let worker = join(&store);
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
