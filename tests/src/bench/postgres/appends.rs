//! Appends of one agent: beside bare SQL, under a claim, and on three nodes.

use wakeful_core::{host::Ledger, id::AgentId};
use wakeful_host::ledger::{Address, PostgresLedger, PostgresStore, WorkerOptions};

use super::{
    bare::Appender,
    batch::{Batch, ENTRIES, Sealer},
    store, there,
};
use crate::{
    bench::{
        Depth, Figure, agent,
        measure::{least, timed},
    },
    fleet::{Cluster, Nodes, Server, address_of},
};

/// Appends per measurement, which is short: the least of many is disturbed less.
const APPENDS: u64 = 50;

/// Figures. An agent without a claim is measured as `plain`: nobody drives it, so each append makes
/// it due. Under a claim an append also compares owner and epoch, ends the agent's rest, keeps the
/// alarm away, and deletes the row of the inbox that became its entries.
pub(super) fn figures(depth: Depth, server: &Server) -> Vec<Figure> {
    let store = store(server, "appends");
    let bare = Appender::connect(server);
    bare.begin([0]);
    let agent = AgentId::from("claimed");
    let worker = store.join(&WorkerOptions::default()).expect("a worker");
    let claim = worker.claim(&agent).expect("nobody drives it");
    let (mut plain, mut claimed) = (store.ledger(&"plain".into()), claim.ledger());
    let mut sealers = [Sealer::new(), Sealer::new(), Sealer::new()];
    let [of_bare, of_plain, of_claimed] = &mut sealers;
    let fact = agent::message("message");
    let mut sent = 0_u64;
    let [bare, plain, claimed] = least(
        turns(depth),
        [
            Box::new(|| {
                let batches = of_bare.seal(APPENDS);
                timed(APPENDS, || batches.iter().for_each(|batch| bare.append(0, batch)))
            }),
            Box::new(|| append(&mut plain, &of_plain.seal(APPENDS))),
            Box::new(|| {
                let batches = of_claimed.seal(APPENDS);
                for _ in 0..APPENDS {
                    sent += 1;
                    store.send(&agent, &sent.to_string(), &fact).expect("it is stored");
                }
                let most = u32::try_from(APPENDS).expect("few");
                let arrived = claim.arrived(most).expect("the inbox is read");
                assert_eq!(arrived.len(), batches.len(), "each append takes one");
                timed(APPENDS, || {
                    for (arrived, batch) in arrived.iter().zip(&batches) {
                        claim
                            .recording(arrived, || claimed.append(&batch.expected, &batch.entries))
                            .expect("it is the owner's");
                    }
                })
            }),
        ],
    );
    assert!(claim.arrived(1).expect("the inbox is read").is_empty(), "each append took its row");
    worker.leave().expect("the worker ends");
    let mut figures = vec![
        Figure::new(format!("append of {ENTRIES} entries in PostgreSQL"), plain, "bare SQL", bare)
            .within(1.3),
        Figure::new(
            "append under a claim that takes a fact from the inbox",
            claimed,
            "plain",
            plain,
        )
        .within(1.2),
    ];
    figures.push(on_three_nodes(depth, &store));
    figures
}

/// An append that a standby must have, beside one on a single node.
fn on_three_nodes(depth: Depth, one: &PostgresStore) -> Figure {
    let cluster = there(Cluster::start());
    let address =
        Address::parse(&address_of("127.0.0.1", &cluster.ports())).expect("it is an address");
    let three = PostgresStore::open(&address).expect("a new store");
    let [mut one, mut three] = [one, &three].map(|store| store.ledger(&"of-nodes".into()));
    let [mut of_one, mut of_three] = [Sealer::new(), Sealer::new()];
    let [one, three] = least(
        turns(depth),
        [
            Box::new(|| append(&mut one, &of_one.seal(APPENDS))),
            Box::new(|| append(&mut three, &of_three.seal(APPENDS))),
        ],
    );
    Figure::new("append on three nodes, of which two have it", three, "on one node", one)
        .within(4.0)
}

fn turns(depth: Depth) -> u32 {
    depth.turns() * 4
}

/// The time of an append.
fn append(ledger: &mut PostgresLedger, batches: &[Batch]) -> f64 {
    timed(batches.len() as u64, || {
        for batch in batches {
            ledger.append(&batch.expected, &batch.entries).expect("the head is the expected one");
        }
    })
}
