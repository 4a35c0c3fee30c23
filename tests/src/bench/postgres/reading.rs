//! Reading a ledger, beside a bare `SELECT` of the same rows.

use std::hint::black_box;

use wakeful_core::{
    host::Ledger,
    record::{chain::Head, entry::EntryBytes},
};
use wakeful_host::ledger::PostgresLedger;

use super::{
    bare::Bare,
    batch::{ENTRIES, Sealer},
    store,
};
use crate::{
    bench::{Depth, Figure, measure::elapsed},
    fleet::Server,
};

/// The entries of the ledger.
const LENGTH: u64 = 10_000;
/// The entries of a page: those that a host of agents asks for.
const PAGE: u32 = 1024;

/// All rows of an agent in one answer, in the columns of a page.
const SELECT: &str = "SELECT canonical, chain, batch FROM entries
    WHERE agent = (SELECT agent FROM agents WHERE agent_id = $1) ORDER BY seq";

/// Figures. Reading goes through the ledger page by page, and checks that each entry continues the
/// chain. The bare side gets the same rows of the same table in one answer, and looks at each.
pub(super) fn figures(depth: Depth, server: &Server) -> Vec<Figure> {
    let store = store(server, "reading");
    let mut ledger = store.ledger(&"reader".into());
    for batch in Sealer::new().seal(LENGTH / ENTRIES as u64) {
        ledger.append(&batch.expected, &batch.entries).expect("a new ledger");
    }
    let bare = Bare::connect(server, "reading");
    bare.run("VACUUM ANALYZE entries, agents");
    let select = bare.prepare(SELECT);
    let [mut checked, mut opened] = [ledger.clone(), ledger];
    let [checked, opened, bare] = elapsed(
        depth.turns(),
        [
            Box::new(|| read(&mut checked, follows)),
            Box::new(|| {
                read(&mut opened, |entry, head| entry.open(head).expect("it is whole").head())
            }),
            Box::new(|| {
                let rows = bare.rows(&select, &[&"reader"]);
                for row in &rows {
                    black_box((
                        row.get::<_, &str>(0),
                        row.get::<_, &[u8]>(1),
                        row.get::<_, i64>(2),
                    ));
                }
                assert_eq!(rows.len() as u64, LENGTH, "all entries");
                LENGTH
            }),
        ],
    );
    let beside = "a bare `SELECT` of the same rows";
    let what = |how| format!("reading one of {LENGTH} entries in PostgreSQL, {how}");
    vec![
        Figure::new(what("its chain checked"), checked, beside, bare).within(2.0),
        Figure::new(what("checked and parsed"), opened, beside, bare),
    ]
}

/// Reads all entries, and returns their number. `next` checks an entry after a head, and returns
/// the next head.
fn read(ledger: &mut PostgresLedger, next: impl Fn(&EntryBytes, &Head) -> Head) -> u64 {
    let mut head = Head::START;
    loop {
        let page = ledger.read(head.seq, PAGE).expect("the store answers");
        if page.is_empty() {
            assert_eq!(head.seq.0, LENGTH, "all entries");
            return LENGTH;
        }
        for entry in &page {
            head = next(entry, &head);
        }
    }
}

/// Checks that an entry continues the chain. It is not parsed.
fn follows(entry: &EntryBytes, head: &Head) -> Head {
    let (canonical, chain) = entry.split().expect("it ends with its chain");
    assert_eq!(head.chain.extend(&canonical), chain, "the chain is whole");
    Head { seq: head.seq.next(), chain }
}
