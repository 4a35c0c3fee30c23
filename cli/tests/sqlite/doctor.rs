//! `wakeful doctor`: it finds nothing in a sound ledger, and it finds each kind of damage.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use serde_json::Value;
use wakeful_core::{
    host::{Ledger, Scheduler},
    machine::Options,
    record::{Class, Record, chain::Head, entry},
};
use wakeful_host::{
    clock::VirtualClock,
    ledger::{SqliteFile, SqliteLedger},
    provider::Elsewhere,
};

use super::{
    agent::{Agent, NOW, file_with, ledger, observed},
    commands::heartbeat,
};
use crate::program::{Ran, arg, prompt, wakeful};

fn doctor(path: &Path) -> Ran {
    wakeful(["doctor", &arg(path)])
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&wakeful(["doctor", &arg(path), "--json"]).out).expect("one JSON object")
}

fn execute(path: &Path, sql: &str) {
    assert!(
        Connection::open(path).and_then(|file| file.execute(sql, [])).expect("it is changed") > 0,
        "{sql}"
    );
}

#[test]
fn a_sound_ledger_is_well_and_says_what_is_owed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = heartbeat(&path);
    let ran = doctor(&path);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("default  46 entries in "), "{}", ran.out);
    for line in [
        "chain      intact, head \
         46@36a0da1572c1035fd5fbe0b1dbe206808b5ecbf584fa0777f679e0b296e312e6",
        "snapshot   none",
        "invariants all 27 hold after each batch",
        "owed       timer look-again at 2026-05-27T09:20:00Z (entry 37)",
    ] {
        assert!(lines.contains(&line), "`{line}` in\n{}", ran.out);
    }
    assert_eq!(wakeful(["doctor", &arg(&path), "--thorough"]).out, ran.out);
    let found = json(&path);
    assert_eq!(found["checked"], found["batches"]);
    assert_eq!((&found["damage"], &found["snapshot"]["snapshot"]), (&Value::Null, &"none".into()));
    assert_eq!(
        (&found["obligations"][0]["seq"], &found["breaches"]),
        (&37.into(), &Value::Array(Vec::new()))
    );
    drop(file);
}

#[test]
fn of_a_long_ledger_ever_fewer_batches_are_checked_and_it_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 600);
    let ran = doctor(&path);
    let (before, after) = ("all 27 hold after each of ", " checked batches; --thorough checks all");
    let checked = ran
        .out
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once(after))
        .map(|(number, _)| number.parse());
    assert!(ran.code == 0 && matches!(checked, Some(Ok(300..600))), "{}", ran.out);
    drop(file);
}

#[test]
fn a_snapshot_is_held_against_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 37);
    let ran = doctor(&path);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("snapshot   at entry 65, equal to the log"), "{}", ran.out);
    // A valid snapshot of another ledger with as many entries.
    let other = folder.path().join("other.sqlite");
    let strange = SqliteFile::open(&other).expect("it opens");
    let mut agent = observed("a", ledger(&strange, "a"));
    (0..37).for_each(|number| assert!(agent.propose(&prompt(&format!("other{number}"))).is_ok()));
    let connection = Connection::open(&path).expect("it opens");
    connection
        .execute("ATTACH ?1 AS other", [other.display().to_string()])
        .expect("it is attached");
    connection
        .execute("UPDATE main.snapshots SET text = (SELECT text FROM other.snapshots)", [])
        .expect("it is replaced");
    let ran = doctor(&path);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains("snapshot   the snapshot at entry 65 differs from what the log gives"),
        "{}",
        ran.out
    );
    execute(
        &path,
        "UPDATE snapshots SET text = replace(text, '\"core_version\":\"', '\"core_version\":\"9')",
    );
    let ran = doctor(&path);
    assert_eq!(ran.code, 0, "the next snapshot replaces it: {}", ran.out);
    assert!(ran.out.contains("snapshot   the snapshot was made by version 9"), "{}", ran.out);
    execute(&path, "UPDATE snapshots SET text = 'no snapshot'");
    assert_eq!((doctor(&path).code, &json(&path)["snapshot"]["snapshot"]), (1, &"bad".into()));
    drop(file);
}

#[test]
fn damage_is_named_with_its_entry_and_what_is_before_it_is_still_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 37);
    execute(&path, "UPDATE entries SET canonical = replace(canonical, 'm9', 'm8') WHERE seq = 21");
    let ran = doctor(&path);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    for line in [
        "a  20 entries in 10 batches",
        "chain      entry 21 breaks the chain: its bytes or an earlier entry were changed",
        "           the lines below are about the ledger up to entry 20",
        "snapshot   the snapshot at entry 65 lies beyond the damage, so it cannot be compared \
         with the log",
        "owed       message m8 now (entry 18)",
    ] {
        assert!(ran.out.lines().any(|found| found == line), "`{line}` in\n{}", ran.out);
    }
    execute(&path, "DELETE FROM entries WHERE seq = 5");
    assert_eq!(json(&path)["damage"], "found entry 6, expected entry 5");
    drop(file);
}

#[test]
fn entries_that_were_lost_at_the_end_are_missed_by_the_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 37);
    execute(&path, "DELETE FROM entries WHERE seq > 41");
    let ran = doctor(&path);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains(
            "snapshot   the ledger ends before entry 65, which its snapshot covers: entries were \
             lost"
        ),
        "{}",
        ran.out
    );
    drop(file);
}

/// Appends records as one batch that no scheduler would append.
fn forge(file: &SqliteFile, records: &[(Class, Value)]) {
    let mut stored = ledger(file, "a");
    let head: Head = stored.head().expect("a head");
    let records = records
        .iter()
        .map(|(class, record)| Record::decode(*class, &record.to_string()).expect("a record"))
        .collect();
    stored.append(&head, &entry::seal_all(head, NOW, records).1).expect("it is stored");
}

#[test]
fn a_batch_that_no_scheduler_would_append_is_named_with_the_invariant_that_it_breaks() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1);
    let mut agent = observed("a", ledger(&file, "a"));
    for fact in [r#"{"fact":"runtime_restarted"}"#, r#"{"fact":"stop_requested"}"#] {
        agent.propose(fact).expect("it is recorded");
    }
    assert_eq!(doctor(&path).code, 0);
    let at = agent.state().head().seq.next();
    let turn = serde_json::json!({
        "run_id": "r", "agent_id": "a", "turn_index": 1, "message_id": "m0",
        "status": "started", "started_at": NOW,
    });
    forge(&file, &[(Class::Turns, turn)]);
    let ran = doctor(&path);
    assert_eq!(ran.code, 1);
    let line = format!("broken     I1: entry {at} moves an agent that may not run (entry {at})");
    assert!(ran.out.lines().any(|found| found == line), "`{line}` in\n{}", ran.out);
    assert!(!ran.out.contains("invariants"), "{}", ran.out);
    assert_eq!(
        (&json(&path)["breaches"][0]["id"], &json(&path)["breaches"][0]["seq"]),
        (&"I1".into(), &at.0.into())
    );
}

#[test]
fn what_looks_wrong_now_is_named_with_its_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 0);
    let mut agent = observed("a", ledger(&file, "a"));
    agent
        .propose(r#"{"fact":"work_item_created","work_item_id":"w","objective":"W"}"#)
        .expect("it is recorded");
    agent
        .propose(r#"{"fact":"work_item_blocked","work_item_id":"w","blocked_by":"the weather"}"#)
        .expect("it is recorded");
    let ran = doctor(&path);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let seq = agent.state().work().items[&"w".into()].seq;
    let line =
        ran.out.lines().find(|line| line.starts_with("warning")).expect("a diagnostic").to_owned();
    assert!(line.ends_with(&format!("(entry {seq})")), "{line}");
    assert_eq!(json(&path)["diagnostics"][0]["kind"], "blocked_work_item_without_recheck_or_wait");
}

#[test]
fn a_page_that_cannot_be_read_is_no_finding_but_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 200));
    let mut bytes = std::fs::read(&path).expect("it is readable");
    bytes[5 * 4096..].fill(0x5a);
    std::fs::write(&path, bytes).expect("its pages are damaged");
    let ran = doctor(&path);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err.contains("agent `a`: the ledger failed: `") && ran.err.contains("is damaged ("),
        "{}",
        ran.err
    );
}

/// A file with what every table can hold: an agent with a snapshot and an archive, and another
/// agent.
fn furnished(folder: &Path) -> PathBuf {
    let path = folder.join("agent.sqlite");
    let file = file_with(&path, 135);
    let archived = wakeful(["archive", &arg(&path), "--agent", "a", "--before-snapshot"]);
    assert_eq!(archived.code, 0, "{}", archived.err);
    observed("b", ledger(&file, "b")).propose(&prompt("m")).expect("it is recorded");
    path
}

/// Takes the rules out of the schema, as if another program had written the file.
fn without_rules(path: &Path) {
    let file = Connection::open(path).expect("it opens");
    file.execute_batch(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(replace(replace(
             sql, 'STRICT, WITHOUT', 'WITHOUT'), 'STRICT', ''), 'NOT NULL', '');
         PRAGMA writable_schema = RESET;",
    )
    .expect("the schema is changed");
}

/// The scheduler of an agent, as its driver.
fn driven(id: &str, ledger: SqliteLedger) -> Agent<SqliteLedger> {
    Scheduler::drive(Options::new(id.into()), ledger, VirtualClock::at(NOW), Elsewhere)
        .expect("the ledger opens")
}

/// What may be wrong without a finding, because nothing reads it, or because it is about another
/// file, and why.
const UNREAD: [(&str, &str, &str); 4] = [
    ("agents", "goes_on_in", "it only says where to look for what comes after an archive"),
    ("snapshots", "agent", "a ledger without a snapshot is sound"),
    ("snapshots", "seq", "the text of the snapshot has it too"),
    ("anchors", "archive", "it only says where the archive is, and a missing one is told"),
];

#[test]
fn whatever_a_column_holds_the_doctor_finds_it_and_does_not_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let sound = furnished(folder.path());
    without_rules(&sound);
    let last = "(SELECT max(seq) FROM entries WHERE agent = 1)";
    let rows = [
        ("agents", "agent_id = 'a'".to_owned(), &["agent", "agent_id", "goes_on_in"][..]),
        (
            "entries",
            format!("agent = 1 AND seq = {last} - 3"),
            &["agent", "seq", "batch", "chain", "canonical"],
        ),
        (
            "entries",
            format!("agent = 1 AND seq = {last}"),
            &["agent", "seq", "batch", "chain", "canonical"],
        ),
        ("snapshots", "agent = 1".to_owned(), &["agent", "seq", "text"]),
        ("anchors", "agent = 1".to_owned(), &["agent", "seq", "chain", "archive"]),
    ];
    let values = ["0", "-1", "-(SELECT 7)", "9223372036854775807", "'text'", "x'00ff'", "NULL"];
    let mut found = 0;
    for (table, which, columns) in rows {
        for column in columns {
            for value in values {
                let path = folder.path().join("flipped.sqlite");
                fs::copy(&sound, &path).expect("a copy");
                let what = format!("UPDATE {table} SET {column} = {value} WHERE {which}");
                let file = Connection::open(&path).expect("it opens");
                file.execute_batch("PRAGMA ignore_check_constraints = ON").expect("a setting");
                // Some keys take no such value, whatever the schema says.
                let Ok(changed) = file.execute(&what, []) else { continue };
                assert_eq!(changed, 1, "{what}");
                drop(file);
                let is_unread = UNREAD.iter().any(|(of, name, _)| (*of, *name) == (table, *column));
                // The batches that are checked depend on nothing but the table of entries.
                let thorough = &["--thorough"][..usize::from(table == "entries")];
                for more in [&[][..], thorough] {
                    let ledger = arg(&path);
                    let ran = wakeful(["doctor", &ledger, "--agent", "a"].iter().chain(more));
                    assert!(
                        ran.code == 1
                            || (ran.code == 2 && ran.err.starts_with("error: "))
                            || (ran.code == 0 && is_unread),
                        "{what}: {} {}{}",
                        ran.code,
                        ran.out,
                        ran.err
                    );
                    found += usize::from(ran.code > 0);
                }
            }
        }
    }
    assert!(found > 150, "{found}");
}

#[test]
fn a_turn_that_ctrl_c_interrupted_is_owed_and_not_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 0);
    let mut agent = driven("a", ledger(&file, "a"));
    agent.propose(&prompt("m")).expect("it is recorded");
    agent.run_until_rest().expect("a turn starts");
    let run = agent.state().open_run().expect("a turn runs").run_id.clone();
    for fact in [
        r#"{"fact":"shutdown_requested"}"#.to_owned(),
        format!(r#"{{"fact":"turn_aborted","run_id":"{run}","reason":"daemon_shutdown"}}"#),
    ] {
        agent.propose(&fact).expect("it is recorded");
    }
    let ran = doctor(&path);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.contains("owed       interrupted run "), "{}", ran.out);
}
