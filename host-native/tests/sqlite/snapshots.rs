//! Snapshots: a ledger opens from its snapshot and the entries after it, with the same state as
//! from the whole log (contract 3.4, 3.5, I16).

use std::path::Path;

use rusqlite::Connection;
use wakeful_core::{
    FIRST_SNAPSHOT, Opening, Options, Scheduler, Seq, SnapshotIgnored, State,
    state::snapshot::CORE_VERSION,
};
use wakeful_host::ledger::{MemoryLedger, SqliteFile};

use super::agent::{NOW, entries, file_with, folded, ledger, observed};
use crate::shared::prompt;

/// The positions of the snapshots of agent `a`, and their lengths.
fn stored(path: &Path) -> Vec<(i64, i64)> {
    let connection = Connection::open(path).expect("it opens");
    let mut statement = connection
        .prepare("SELECT seq, length(text) FROM snapshots ORDER BY seq")
        .expect("a table");
    statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("rows")
        .map(|row| row.expect("a position and a length"))
        .collect()
}

fn execute(path: &Path, sql: &str) {
    let changed =
        Connection::open(path).and_then(|file| file.execute(sql, [])).expect("it is changed");
    assert!(changed > 0, "`{sql}` changes nothing");
}

/// How the ledger of agent `a` opens, the state it then has, and the state that the whole log
/// gives.
fn opened(path: &Path) -> (Opening, State, State) {
    let file = SqliteFile::open(path).expect("it opens");
    let agent = observed("a", ledger(&file, "a"));
    (agent.opening().clone(), agent.state().clone(), folded("a", &mut ledger(&file, "a")))
}

#[test]
fn a_snapshot_is_stored_when_the_entries_since_the_newest_outgrow_it_and_two_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let mut seen: Vec<(i64, i64)> = Vec::new();
    let file = file_with(&path, 0);
    let mut agent = observed("a", ledger(&file, "a"));
    for number in 0..1200 {
        agent.propose(&prompt(&format!("m{number}"))).expect("it is recorded");
        let now = stored(&path);
        assert!(now.len() <= 2, "{now:?}");
        if let Some(newest) = now.last().filter(|newest| seen.last() != Some(newest)) {
            seen.push(*newest);
        }
    }
    assert!(agent.snapshot_failed().is_none());
    assert!(seen.len() >= 4, "{seen:?}");
    let first = i64::try_from(FIRST_SNAPSHOT.0).expect("a small number");
    assert!((first..=first + 2).contains(&seen[0].0), "{seen:?}");
    for pair in seen.windows(2) {
        let least = (pair[0].1 / 128).max(first);
        // A prompt is two entries, so a snapshot may come one later.
        assert!((least..=least + 2).contains(&(pair[1].0 - pair[0].0)), "{seen:?}");
    }
    assert_eq!(stored(&path), seen[seen.len() - 2..], "the newest two");
    // The newest one is the state, however large it is. All before it were paid by entries.
    let before: i64 = seen[..seen.len() - 1].iter().map(|(_, bytes)| bytes).sum();
    let (newest, _) = seen[seen.len() - 1];
    assert!(before <= 128 * newest, "{before} bytes of snapshots for {newest} entries");
}

#[test]
fn to_open_a_long_ledger_reads_few_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 0);
    let mut agent = observed("a", ledger(&file, "a"));
    let mut most = 0;
    for number in 0..6_000 {
        agent.propose(r#"{"fact":"runtime_restarted"}"#).expect("it is recorded");
        if number % 97 == 0 {
            most = most.max(observed("a", ledger(&file, "a")).opening().verified);
        }
    }
    assert!(agent.state().head().seq >= Seq(6_000), "{}", agent.state().head());
    assert!(most <= FIRST_SNAPSHOT.0 + 1, "{most} entries were read");
}

#[test]
fn a_snapshot_and_the_entries_after_it_give_what_the_whole_log_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    for messages in [0, 130, 10, 250] {
        let file = SqliteFile::open(&path).expect("it opens");
        let mut agent = observed("a", ledger(&file, "a"));
        let from = agent.state().head().seq;
        for number in 0..messages {
            agent.propose(&prompt(&format!("m{from}-{number}"))).expect("it is recorded");
        }
        drop((agent, file));
        let (opening, state, whole) = opened(&path);
        assert_eq!(state, whole);
        assert_eq!(opening.ignored, None);
        assert_eq!(opening.snapshot.is_some(), whole.head().seq >= FIRST_SNAPSHOT);
        assert_eq!(
            opening.verified,
            whole.head().seq.0 - opening.snapshot.map_or(0, |seq| seq.0),
            "only the tail is read"
        );
    }
}

#[test]
fn an_agent_goes_on_from_a_snapshot_as_one_that_never_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let mut unbroken = observed("a", MemoryLedger::default());
    let script: Vec<String> = (0..400).map(|number| prompt(&format!("m{number}"))).collect();
    script.iter().for_each(|fact| assert!(unbroken.propose(fact).is_ok()));
    for part in script.chunks(37) {
        let file = SqliteFile::open(&path).expect("it opens");
        let mut agent = observed("a", ledger(&file, "a"));
        part.iter().for_each(|fact| assert!(agent.propose(fact).is_ok()));
    }
    let (opening, state, _) = opened(&path);
    assert!(opening.snapshot.is_some());
    assert_eq!(&state, unbroken.state(), "head and all");
    assert_eq!(
        unbroken.opening(),
        &Opening::default(),
        "a store without snapshots folds from the first entry"
    );
}

/// Opens a ledger whose snapshot was changed by `sql`; returns why the snapshot is ignored.
fn ignored_after(sql: &str) -> SnapshotIgnored {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 37));
    execute(&path, sql);
    let (opening, state, whole) = opened(&path);
    assert_eq!(state, whole, "nothing is lost after `{sql}`");
    assert_eq!(
        (opening.snapshot, opening.verified),
        (None, whole.head().seq.0),
        "the log is folded whole"
    );
    // The next batch replaces the snapshot.
    let file = SqliteFile::open(&path).expect("it opens");
    observed("a", ledger(&file, "a")).propose(&prompt("one more")).expect("it is recorded");
    let (again, state, whole) = opened(&path);
    assert_eq!(
        (again.snapshot, again.ignored),
        (Some(whole.head().seq), None),
        "a new one takes its place"
    );
    assert_eq!(state, whole);
    opening.ignored.expect("a reason")
}

#[test]
fn a_snapshot_that_cannot_be_used_is_ignored_with_its_reason() {
    let said = |sql: &str| ignored_after(sql).to_string();
    let damaged = said("UPDATE snapshots SET text = replace(text, '\"m7\"', '\"x7\"')");
    assert_eq!(damaged, "the snapshot's digest does not match its state");
    let version = format!(
        "UPDATE snapshots SET text = replace(text, '\"core_version\":\"{CORE_VERSION}\"', \
         '\"core_version\":\"99.0.0\"')"
    );
    assert!(
        said(&version).starts_with(
            "the snapshot was made by version 99.0.0 of format 2, this program is version"
        ),
        "{version}"
    );
    assert!(
        said("UPDATE snapshots SET text = substr(text, 1, 1000)")
            .starts_with("the snapshot cannot be read: EOF while parsing")
    );
    assert!(said("UPDATE snapshots SET text = ''").starts_with("the snapshot cannot be read: "));
    let moved = "UPDATE snapshots SET text = replace(text, '\"head\":{\"seq\":65,', \
                 '\"head\":{\"seq\":63,') WHERE length(text) > 0";
    assert_eq!(ignored_after(moved), SnapshotIgnored::WrongDigest, "the digest covers the head");
}

/// A ledger's snapshot is replaced by that of another ledger.
#[test]
fn a_snapshot_of_another_history_or_another_agent_is_ignored() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, other) = (folder.path().join("ledger.sqlite"), folder.path().join("other.sqlite"));
    drop(file_with(&path, 37));
    let file = SqliteFile::open(&other).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    (0..37).for_each(|number| assert!(agent.propose(&prompt(&format!("other{number}"))).is_ok()));
    let mut stranger = observed("b", ledger(&file, "b"));
    (0..37).for_each(|number| assert!(stranger.propose(&prompt(&format!("m{number}"))).is_ok()));
    let take = |number: u8| {
        let connection = Connection::open(&path).expect("it opens");
        connection
            .execute("ATTACH ?1 AS other", [other.display().to_string()])
            .expect("it is attached");
        let sql =
            "UPDATE main.snapshots SET text = (SELECT text FROM other.snapshots WHERE agent = ?1)";
        assert_eq!(connection.execute(sql, [number]).expect("it is replaced"), 1);
    };
    take(1);
    let (opening, state, whole) = opened(&path);
    assert_eq!(state, whole);
    let why = opening.ignored.expect("a reason").to_string();
    assert_eq!(why, "the snapshot is of another history: entry 65 of the ledger differs");
    take(2);
    let (opening, state, whole) = opened(&path);
    assert_eq!(state, whole);
    assert_eq!(opening.ignored, Some(SnapshotIgnored::OtherAgent("b".into())));
}

#[test]
fn a_ledger_that_ends_before_its_snapshot_has_lost_entries_and_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 37));
    execute(&path, "DELETE FROM entries WHERE seq > 50");
    let file = SqliteFile::open(&path).expect("it opens");
    let opened = Scheduler::observe(
        Options::new("a".into()),
        ledger(&file, "a"),
        wakeful_host::clock::VirtualClock::at(NOW),
        wakeful_host::provider::Elsewhere,
    );
    let why = opened.map(|_| ()).expect_err("it is refused").to_string();
    let said = "the ledger ends before entry 65, which its snapshot covers: entries were lost, \
                restore a copy that has them";
    assert_eq!(why, said);
    execute(&path, "UPDATE snapshots SET text = replace(text, '\"m7\"', '\"x7\"')");
    let agent = observed("a", ledger(&file, "a"));
    assert_eq!(
        (agent.opening().ignored.clone(), agent.state().head().seq),
        (Some(SnapshotIgnored::WrongDigest), Seq(50))
    );
}

#[test]
fn a_snapshot_that_cannot_be_loaded_is_ignored_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 37));
    Connection::open(&path)
        .and_then(|file| file.execute_batch("ALTER TABLE snapshots RENAME COLUMN text TO words"))
        .expect("it is changed");
    let (opening, state, whole) = opened(&path);
    assert_eq!(state, whole);
    let why = opening.ignored.expect("a reason").to_string();
    assert!(
        why.starts_with(
            "the snapshot cannot be loaded: the ledger failed: cannot read a snapshot of `"
        ),
        "{why}"
    );
    let file = SqliteFile::open(&path).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    agent
        .propose(&prompt("one more"))
        .expect("a fact is recorded though its snapshot cannot be stored");
    let failed = agent.snapshot_failed().map(ToString::to_string).expect("it says so");
    assert!(failed.contains("cannot store a snapshot in `"), "{failed}");
    assert_eq!(entries(&mut ledger(&file, "a")).len() as u64, agent.state().head().seq.0);
}

#[test]
fn a_writer_that_was_second_catches_up_and_says_the_same_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let (one, two) = (file_with(&path, 1), SqliteFile::open(&path).expect("a second connection"));
    let (mut first, mut second) =
        (observed("a", ledger(&one, "a")), observed("a", ledger(&two, "a")));
    assert_eq!(second.catch_up().expect("it reads"), 0);
    let before = second.state().head().seq;
    first.propose(&prompt("first")).expect("it is recorded");
    second.propose(&prompt("second")).expect_err("a conflict");
    assert_eq!(second.catch_up().expect("it reads"), first.state().head().seq.0 - before.0);
    second.propose(&prompt("second")).expect("it is recorded now");
    assert_eq!(&folded("a", &mut ledger(&one, "a")), second.state());
}
