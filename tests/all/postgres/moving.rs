//! Agents that move between a file and a store.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wakeful_core::{
    host::Ledger,
    id::{AgentId, Seq},
    record::{
        Record,
        chain::Head,
        control::{ControlRecord, Marker},
        entry::{self, EntryBytes},
    },
    time::Timestamp,
};
use wakeful_host::ledger::{Belongings, MoveError, SqliteFile, Store, move_agent};

use super::{batch, join, store};

/// What goes with an agent.
fn with() -> Belongings {
    let texts = vec![("agent".to_owned(), "a".to_owned(), "kept".to_owned())];
    Belongings { kind: "elsewhere".to_owned(), texts }
}

#[test]
fn an_agent_moves_from_a_file_to_a_store_and_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agents.sqlite");
    let file = SqliteFile::open(&path).expect("a file");
    let store = store("moving");
    let agent = AgentId::from("a");
    let mut head = Head::START;
    for entries in [1, 3, 700, 2, 900] {
        let (next, batch) = batch(head, entries);
        file.ledger(&agent).append(&head, &batch).expect("it appends");
        head = next;
    }
    let (old, new) = (Store::Sqlite(file.clone()), Store::Postgres(store.clone()));
    let (old_name, new_name) = (path.display().to_string(), store.address().shown().to_owned());
    let (old, new) = ((&old, old_name.as_str()), (&new, new_name.as_str()));
    let driven = file.own(&agent).expect("nobody drives it");
    assert!(matches!(move_agent(&agent, old, new, &with(), drop), Err(MoveError::Driven(_))));
    driven.release().expect("it is free");
    let mut told = Vec::new();
    let moved = move_agent(&agent, old, new, &with(), |seq| told.push(seq)).expect("it moves");
    assert_eq!((moved.head, moved.copied, told.last()), (head, head.seq.0, Some(&head.seq)));
    // The old place says where it is, and the new one goes on.
    let (next, more) = batch(head, 2);
    let why = file.ledger(&agent).append(&head, &more).expect_err("it has moved").to_string();
    assert!(why.contains(new.1), "{why}");
    let batches = |of: Vec<(EntryBytes, Seq)>| of.into_iter().map(|(_, at)| at).collect::<Vec<_>>();
    let there = store.ledger(&agent).read_with_batches(Seq(700), 20).expect("entries");
    let here = file.ledger(&agent).read_with_batches(Seq(700), 20).expect("entries");
    assert_eq!(batches(there), batches(here), "a batch is one there too");
    store.ledger(&agent).append(&head, &more).expect("it appends");
    let kept = || store.kept_one("agent", "a").expect("it reads");
    assert_eq!(kept().as_deref(), Some("kept"), "it came with the agent");
    store.keep("agent", "a", "its own").expect("it keeps");
    // The same move again finds that it was done.
    let moved = move_agent(&agent, old, new, &with(), drop).expect("it has moved");
    assert_eq!((moved.head, moved.copied), (head, 0));
    assert_eq!(kept().as_deref(), Some("its own"), "what was done changes nothing");
    let worker = join(&store);
    let claim = worker.claim(&agent).expect("a claim");
    assert!(matches!(move_agent(&agent, new, old, &with(), drop), Err(MoveError::Changed { .. })));
    claim.rest(None).expect("it rests");
    let moved = move_agent(&agent, new, old, &with(), drop).expect("it moves back");
    assert_eq!((moved.head, moved.copied), (next, 2), "only what is new is copied");
    let why = worker.claim(&agent).expect_err("it has moved").to_string();
    assert!(why.contains(&old_name), "{why}");
    let (_, more) = batch(next, 1);
    file.ledger(&agent).append(&next, &more).expect("it goes on in the file");
}

#[test]
fn a_move_onto_another_history_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store("histories");
    let agent = AgentId::from("a");
    let place = |name: &str, nanos: i64| {
        let path = folder.path().join(name);
        let file = SqliteFile::open(&path).expect("a file");
        let records = vec![Record::Control(ControlRecord::StartRequested(Marker {}))];
        let (_, batch) = entry::seal_all(Head::START, Timestamp::from_nanos(nanos), records);
        file.ledger(&agent).append(&Head::START, &batch).expect("it appends");
        (Store::Sqlite(file), path.display().to_string())
    };
    let ((one, one_name), (other, other_name)) = (place("one", 0), place("other", 7));
    let (there, there_name) = (Store::Postgres(store.clone()), store.address().shown().to_owned());
    let there = (&there, there_name.as_str());
    move_agent(&agent, (&one, &one_name), there, &with(), drop).expect("it moves");
    let lives = move_agent(&agent, (&other, &other_name), there, &with(), drop);
    assert!(matches!(lives, Err(MoveError::Alive { .. })), "{lives:?}");
    // It goes on in a third place, and the next one has another history.
    let third =
        (&Store::Sqlite(SqliteFile::open(&folder.path().join("third")).expect("a file")), "third");
    move_agent(&agent, there, third, &with(), drop).expect("it moves");
    let other = move_agent(&agent, (&other, &other_name), there, &with(), drop);
    assert!(matches!(other, Err(MoveError::OtherHistory { .. })), "{other:?}");
    let goes_on_in = store.ledger(&agent).goes_on_in().expect("it is there");
    assert_eq!(goes_on_in.as_deref(), Some("third"), "it is as it was");
}

#[test]
fn a_move_that_was_cut_off_is_finished_by_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agents.sqlite");
    let file = SqliteFile::open(&path).expect("a file");
    let store = store("cut_off");
    let agent = AgentId::from("a");
    let (head, entries) = batch(Head::START, 3_000);
    file.ledger(&agent).append(&Head::START, &entries).expect("it appends");
    let (old, new) = (Store::Sqlite(file.clone()), Store::Postgres(store.clone()));
    let (old_name, new_name) = (path.display().to_string(), store.address().shown().to_owned());
    let (old, new) = ((&old, old_name.as_str()), (&new, new_name.as_str()));
    let dies = |seq: Seq| assert!(seq.0 < 2_000, "the process dies");
    let cut = catch_unwind(AssertUnwindSafe(|| move_agent(&agent, old, new, &with(), dies)));
    assert!(cut.is_err());
    let (_, more) = batch(head, 1);
    let there = store.ledger(&agent).head().expect("a head");
    let why = store.ledger(&agent).append(&there, &more).expect_err("it has not arrived");
    assert!(why.to_string().contains(&old_name), "{why}");
    assert!(join(&store).claim_due(9).expect("claims").is_empty(), "nobody drives it there");
    let moved = move_agent(&agent, old, new, &with(), drop).expect("it moves");
    assert!(moved.head == head && moved.copied < 3_000, "{moved:?}");
}
