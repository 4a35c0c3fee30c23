//! What keeps a store usable for years: its versions, its old entries, and what the doctor finds.

use std::fs;

use wakeful_core::{host::Ledger, id::Seq, record::chain::Head, time::Timestamp};
use wakeful_host::ledger::{ClaimError, Fault, PostgresStore};
use wakeful_tests::paths;

use super::{append, batch, join, server, store};

#[test]
fn a_store_of_a_newer_version_is_used_while_that_version_allows_it() {
    let address = server().address("versions");
    let store = PostgresStore::open(&address).expect("a store");
    let (head, first) = batch(Head::START, 2);
    store.ledger(&"a".into()).append(&Head::START, &first).expect("it appends");
    let execute = |text: &str| server().execute(&format!("SET search_path = versions; {text}"));
    // As a server of the next version does, while this one still runs.
    execute("ALTER TABLE agents ADD COLUMN next text NOT NULL DEFAULT ''").expect("it adds");
    execute("UPDATE schema_version SET version = version + 1").expect("it says so");
    let (next, second) = batch(head, 2);
    store.ledger(&"a".into()).append(&head, &second).expect("a connection that is open goes on");
    let again = PostgresStore::open(&address).expect("and a new one is let in");
    let worker = join(&again);
    let claim = worker.claim(&"a".into()).expect("a claim");
    let (_, third) = batch(next, 1);
    claim.ledger().append(&next, &third).expect("it appends");
    claim.rest(None).expect("it rests");
    PostgresStore::open_read_only(&address).expect("it reads");
    execute("UPDATE schema_version SET oldest = version").expect("it says so");
    for why in [PostgresStore::open(&address), PostgresStore::open_read_only(&address)] {
        let why = why.expect_err("it is too new");
        assert!(matches!(why.fault, Fault::Newer { .. }), "{why}");
    }
}

#[test]
fn a_worker_leaves_an_agent_alone_that_a_newer_program_drove() {
    let store = store("formats");
    let (old, new) = (join(&store), join(&store));
    let claim = new.claim(&"a".into()).expect("a claim");
    append(&claim).expect("it is the owner's");
    claim.rest(Some(Timestamp::from_nanos(0))).expect("it rests, and is due");
    // As a worker whose program has the next format leaves it.
    let raise = "SET search_path = formats; UPDATE agents SET format = format + 1";
    server().execute(raise).expect("it raises");
    assert!(old.claim_due(9).expect("claims").is_empty());
    match old.claim(&"a".into()) {
        Err(ClaimError::Store(why)) => {
            assert!(matches!(why.fault, Fault::NewerAgent { .. }), "{why}")
        }
        other => panic!("{other:?}"),
    }
    let lower = "SET search_path = formats; UPDATE agents SET format = format - 1";
    server().execute(lower).expect("it lowers");
    assert_eq!(old.claim_due(9).expect("claims").len(), 1);
}

#[test]
fn the_doctor_finds_a_head_that_is_not_the_newest_entry() {
    let store = store("astray");
    let mut ledger = store.ledger(&"a".into());
    let (head, first) = batch(Head::START, 3);
    ledger.append(&Head::START, &first).expect("it appends");
    assert_eq!(ledger.astray().expect("it reads"), None);
    let wrong = "SET search_path = astray; DELETE FROM entries WHERE seq = 3";
    server().execute(wrong).expect("it deletes");
    let why = ledger.astray().expect("it reads").expect("they differ");
    assert!(why.contains(&head.to_string()), "{why}");
}

#[test]
fn old_entries_move_aside_in_parts_and_are_read_where_they_are() {
    let store = store("aside");
    let mut ledger = store.ledger(&"a".into());
    let mut head = Head::START;
    for _ in 0..7 {
        let (next, entries) = batch(head, 1_000);
        ledger.append(&head, &entries).expect("it appends");
        head = next;
    }
    let read = || {
        let (mut ledger, mut all) = (store.ledger(&"a".into()), Vec::new());
        loop {
            let after = Seq(all.len() as u64);
            let page = ledger.read_with_batches(after, 999).expect("a page");
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    };
    let before = read();
    let mut parts = Vec::new();
    let moved = store.archive(&"a".into(), Seq(6_500), |seq| parts.push(seq)).expect("they move");
    assert_eq!((moved, parts), (6_500, vec![Seq(5_000), Seq(6_500)]));
    assert!(read() == before && before.len() == 7_000);
    assert_eq!(store.archive(&"a".into(), Seq(6_500), |_| ()).expect("none is left"), 0);
    let (next, entries) = batch(head, 1);
    ledger.append(&head, &entries).expect("it appends");
    assert_eq!(store.ledger(&"a".into()).head().expect("a head"), next);
}

#[test]
fn the_statements_of_the_pages_are_understood_by_a_store() {
    // The name of a store's schema if its address gives none.
    drop(store("wakeful"));
    let mut blocks = 0;
    for page in fs::read_dir(paths::root().join("docs")).expect("the pages") {
        let path = page.expect("a page").path();
        if path.extension().is_none_or(|ends| ends != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a page");
        for block in text.split("\n```sql\n").skip(1) {
            let (statements, _) = block.split_once("\n```").expect("the end of a block");
            let told = server().execute(statements);
            told.unwrap_or_else(|why| panic!("{}: {why}\n{statements}", path.display()));
            blocks += 1;
        }
    }
    assert!(blocks > 0, "docs/fleet.md has statements");
}
