//! What happens to a running agent when something happens to its ledger file.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use wakeful_core::record::Record;

use super::{
    HEAD,
    agent::{Home, Live},
};
use crate::program::{arg, wakeful};

/// Two prompts, with a rest between them that is longer than any test waits.
const BUSY: &str = "script = [{ prompt = \"one\" }, { wait_ms = 600000 }, { prompt = \"two\" }]\n";

const ENGINES: [&str; 2] = ["native", "wasmtime"];

fn resting(engine: &str) -> (Home, Live) {
    let home = Home::with(&format!("{HEAD}{BUSY}"));
    let live = home.start(&["--engine", engine]);
    live.says("turn        1 terminal completed");
    live.says("StayIdle");
    (home, live)
}

fn connection(home: &Home) -> Connection {
    Connection::open(home.file("agent.sqlite")).expect("the ledger opens")
}

/// Puts the state of a backup into the open file.
fn restore(home: &Home, backup: &Path) {
    let tables = ["agents", "entries", "snapshots", "anchors"];
    let copied = tables.map(|table| {
        format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM older.{table};")
    });
    let sql = format!(
        "ATTACH '{}' AS older; BEGIN IMMEDIATE; {} COMMIT;",
        backup.display(),
        copied.concat()
    );
    connection(home).execute_batch(&sql).expect("the backup is restored");
}

/// A copy of the state of now.
fn backup(home: &Home) -> PathBuf {
    let path = home.file("backup.sqlite");
    connection(home).execute_batch(&format!("VACUUM INTO '{}'", path.display())).expect("a backup");
    path
}

#[test]
fn an_agent_ends_when_its_file_is_no_longer_at_its_path() {
    type Harm = fn(&Home);
    let harms: [(&str, Harm, &str); 8] = [
        (
            "deleted",
            |home| fs::remove_file(home.file("agent.sqlite")).expect("it is there"),
            "was deleted or renamed while it was in use",
        ),
        (
            "renamed",
            |home| {
                fs::rename(home.file("agent.sqlite"), home.file("moved.sqlite")).expect("a file");
            },
            "was deleted or renamed while it was in use",
        ),
        (
            "replaced by a copy",
            |home| {
                fs::copy(home.file("agent.sqlite"), home.file("copy")).expect("a copy");
                fs::rename(home.file("copy"), home.file("agent.sqlite")).expect("a file");
            },
            "was replaced by another file while it was in use",
        ),
        (
            "replaced by an empty file",
            |home| {
                fs::write(home.file("empty"), "").expect("a file");
                fs::rename(home.file("empty"), home.file("agent.sqlite")).expect("a file");
            },
            "was replaced by another file while it was in use",
        ),
        (
            "emptied",
            |home| fs::write(home.file("agent.sqlite"), "").expect("it is written"),
            "was cut off while it was in use",
        ),
        (
            "without its newest entries",
            |home| fs::remove_file(home.file("agent.sqlite-wal")).expect("it is there"),
            "agent.sqlite-wal`, which has the newest entries, was deleted",
        ),
        (
            "with its newest entries cut off",
            |home| fs::write(home.file("agent.sqlite-wal"), "").expect("it is written"),
            "was cut off while it was in use",
        ),
        (
            "with a hole, as an append leaves one in a file that was cut off just before",
            |home| {
                let wal = fs::OpenOptions::new().write(true).open(home.file("agent.sqlite-wal"));
                let wal = wal.expect("it is there");
                let length = wal.metadata().expect("its size").len();
                wal.set_len(0).and_then(|()| wal.set_len(length)).expect("it is written");
            },
            "was cut off while it was in use",
        ),
    ];
    for engine in ENGINES {
        for (how, harm, says) in &harms {
            let (home, live) = resting(engine);
            harm(&home);
            let (code, err) = live.end();
            assert!(
                code == 4
                    && err.contains(says)
                    && err.contains(&arg(&home.file("agent.sqlite")))
                    && err.contains("nothing more is stored"),
                "{engine}, {how}: {code} {err}"
            );
        }
    }
}

#[test]
fn an_agent_ends_when_an_older_state_is_restored_into_its_file() {
    for engine in ENGINES {
        let (home, live) = resting(engine);
        let older = backup(&home);
        assert_eq!(home.send(&["prompt", "a word more"]).code, 0);
        live.says("turn        2 terminal completed");
        live.says("StayIdle");
        restore(&home, &older);
        let (code, err) = live.end();
        assert_eq!(code, 4, "{engine}: {err}");
        assert!(
            err.contains(": the ledger no longer has entry ") && err.contains("agent.sqlite`"),
            "{engine}: {err}"
        );
        // The file itself is sound, so the agent goes on from there.
        let again = home.run(&["--virtual", "--until-rest"]);
        assert_eq!(again.code, 0, "{}{}", again.out, again.err);
    }
}

/// An older state is not the only other history: it may have been continued beyond the old end.
#[test]
fn an_agent_ends_when_another_history_of_any_length_is_put_into_its_file() {
    for more in 0..4 {
        let (home, live) = resting("native");
        let older = backup(&home);
        assert_eq!(home.send(&["hint", "look"]).code, 0);
        live.says("StayIdle");
        let ledger = arg(&older);
        for number in 0..more * 8 {
            let hint = format!("other {number}");
            assert_eq!(wakeful(["send", "--ledger", &ledger, "hint", &hint]).code, 0);
        }
        restore(&home, &older);
        let (code, err) = live.end();
        assert!(code == 4 && err.contains("no longer has entry"), "{more}: {code} {err}");
    }
}

#[test]
fn a_file_that_another_process_tidies_up_is_not_lost() {
    let (home, live) = resting("native");
    let vacuum = || {
        let tidied: i64 = connection(&home)
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .expect("a checkpoint");
        assert_eq!(
            (tidied, fs::metadata(home.file("agent.sqlite-wal")).expect("a file").len()),
            (0, 0)
        );
        connection(&home).execute_batch("VACUUM").expect("it is free");
    };
    for turn in 2..4 {
        vacuum();
        assert_eq!(home.send(&["prompt", "a word more"]).code, 0);
        live.says(&format!("turn        {turn} terminal completed"));
    }
    live.signal("INT");
    assert_eq!(live.end(), (0, String::new()));
}

/// Longer than the time limit of a call in the sandbox, which is 30 s.
const LONG: Duration = Duration::from_secs(32);

/// An agent in the middle of a turn, and another process that holds its file.
fn held_in_its_turn(engine: &str) -> (Home, Live, Connection) {
    // The turn must not end before the test has the lock.
    for delay_ms in [500, 5_000, 50_000, 500_000] {
        let home = Home::with(&format!(
            "{HEAD}script = [{{ prompt = \"one\" }}]\n[[turns]]\nmoves = [{{ says = \"a \
             moment\" }}, {{ delay_ms = {delay_ms} }}, {{ says = \"done\" }}]\n"
        ));
        let live = home.start(&["--engine", engine, "--until-rest"]);
        live.says("a moment");
        let other = connection(&home);
        other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
        let turns = home.entries().into_iter().filter(|it| matches!(it.record, Record::Turn(_)));
        if turns.count() == 1 {
            return (home, live, other);
        }
    }
    panic!("{engine}: the turn always ends before the lock is there");
}

#[test]
fn a_file_that_is_held_for_long_is_waited_for_and_nothing_is_done_twice() {
    thread::scope(|scope| {
        for engine in ENGINES {
            scope.spawn(move || {
                let (home, mut live, other) = held_in_its_turn(engine);
                live.warns("is held by ");
                thread::sleep(LONG);
                other.execute_batch("ROLLBACK").expect("the end of it");
                live.says("turn        1 terminal completed");
                let (code, err) = live.end();
                assert_eq!(code, 0, "{engine}: {err}");
                let notices: Vec<_> = err.lines().filter(|line| line.contains("notice:")).collect();
                assert!(
                    notices.len() == 2
                        && notices[0].contains("is held by ")
                        && notices[0].contains(" since ")
                        && notices[1].contains("can be written again after "),
                    "{engine}: {err}"
                );
                let turns = home
                    .entries()
                    .iter()
                    .filter(|entry| matches!(entry.record, Record::Turn(_)))
                    .count();
                assert_eq!(turns, 2, "{engine}: one turn, started once and ended once");
            });
        }
    });
}

#[test]
fn ctrl_c_ends_an_agent_that_waits_for_its_file() {
    for engine in ENGINES {
        let (home, live) = resting(engine);
        let other = connection(&home);
        other.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
        live.signal("INT");
        let (code, err) = live.end();
        assert!(
            code == 2
                && err.contains("; the agent goes on when the file is free\n")
                && err.contains("was held by "),
            "{engine}: {code} {err}"
        );
    }
}

#[test]
fn short_commands_wait_for_a_bounded_time_and_say_who_holds_the_file() {
    let (home, mut live) = resting("native");
    live.kill();
    let other = connection(&home);
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let since = Instant::now();
    let sent = home.send(&["prompt", "hello"]);
    assert!(since.elapsed() >= Duration::from_secs(30));
    assert_eq!(sent.code, 2, "{}", sent.out);
    let holder = if cfg!(target_os = "linux") { "was held by process " } else { "was held by " };
    let (_, waited) = sent.err.split_once(holder).expect("a holder");
    let (_, waited) = waited.split_once(" for ").expect("how long it waited");
    let (seconds, _) = waited.split_once(" s: ").expect("seconds");
    assert!(seconds.parse::<u64>().is_ok_and(|seconds| seconds >= 30), "{}", sent.err);
    // Reading needs no lock.
    let status = wakeful(["status", &arg(&home.file("agent.sqlite"))]);
    assert_eq!(status.code, 0, "{}", status.err);
}
