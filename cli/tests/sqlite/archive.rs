//! `wakeful archive`: it moves the old part of a ledger into another file, and nothing is lost or
//! changed (contract 3.4, 3.5).

use std::{fs, path::Path};

use rusqlite::Connection;
use serde_json::Value;
use wakeful_core::{
    host::{Ledger, opening},
    machine::Options,
};
use wakeful_host::ledger::SqliteFile;

use super::agent::{entries, file_with, folded, ledger, observed};
use crate::program::{Ran, arg, prompt, wakeful};

fn archive(path: &Path, how: &str) -> Ran {
    wakeful(["archive", &arg(path), how])
}

fn execute(path: &Path, sql: &str) {
    Connection::open(path)
        .and_then(|file| file.execute_batch(sql))
        .unwrap_or_else(|why| panic!("{sql}: {why}"));
}

/// The number of entries in the table of this file.
fn kept(path: &Path) -> i64 {
    let connection = Connection::open(path).expect("it opens");
    connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).expect("a count")
}

/// Creates a file whose newest snapshot has entries before and after it. Also returns the path of
/// its archive.
fn long(folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let path = folder.join("agent.sqlite");
    drop(file_with(&path, 400));
    (path, folder.join("agent.archive.sqlite"))
}

#[test]
fn what_is_before_the_snapshot_is_moved_and_everything_reads_as_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = long(folder.path());
    let before = entries(&mut ledger(&SqliteFile::open(&path).expect("it opens"), "a"));
    let log = wakeful(["log", &arg(&path)]).out;
    let ran = archive(&path, "--before-snapshot");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert!(ran.out.starts_with("a  683 entries moved to `"), "{}", ran.out);
    assert_eq!((kept(&path), kept(&moved)), (before.len() as i64 - 683, 683));

    let file = SqliteFile::open(&path).expect("it opens");
    assert!(
        entries(&mut ledger(&file, "a")) == before,
        "all entries are read, also those in the archive"
    );
    assert_eq!(wakeful(["log", &arg(&path)]).out, log);
    let last = wakeful(["log", &arg(&path), "--after", "683", "--limit", "1"]);
    assert!(last.out.trim_start().starts_with("684 "), "{}", last.out);
    let state = folded("a", &mut ledger(&file, "a"));
    assert!(*observed("a", ledger(&file, "a")).state() == state);
    let status = wakeful(["status", &arg(&path)]);
    assert!(
        status.out.contains(&format!("archive  entries 1 to 683 are in `{}`\n", moved.display())),
        "{}",
        status.out
    );

    let doctor = wakeful(["doctor", &arg(&path)]);
    assert_eq!(doctor.code, 0, "{}", doctor.out);
    assert!(
        doctor.out.contains(&format!("archive    entries 1 to 683 are in `{}`\n", moved.display())),
        "{}",
        doctor.out
    );
    assert!(doctor.out.contains("equal to the log\n"), "{}", doctor.out);
    let of_archive = wakeful(["doctor", &arg(&moved)]);
    assert!(
        of_archive.out.starts_with("a  683 entries in 342 batches\n"),
        "the archive is a ledger: {}",
        of_archive.out
    );
    assert!(
        of_archive
            .out
            .contains(&format!("archive    the ledger continues in `{}`\n", path.display())),
        "{}",
        of_archive.out
    );
    let of_archive = wakeful(["status", &arg(&moved)]);
    assert!(
        of_archive
            .out
            .starts_with(&format!("an archive: the ledger continues in `{}`", path.display())),
        "{}",
        of_archive.out
    );
}

#[test]
fn the_rest_verifies_and_goes_on_without_the_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = long(folder.path());
    let log = wakeful(["log", &arg(&path)]).out;
    assert_eq!(archive(&path, "--before-snapshot").code, 0);
    fs::rename(&moved, folder.path().join("elsewhere")).expect("it goes");

    let file = SqliteFile::open(&path).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    agent.propose(&prompt("one more")).expect("it is recorded");
    let doctor = wakeful(["doctor", &arg(&path)]);
    assert_eq!(doctor.code, 0, "{}{}", doctor.out, doctor.err);
    assert!(
        doctor.out.starts_with("a  803 entries, 59 batches after the snapshot\n"),
        "{}",
        doctor.out
    );
    assert!(
        doctor.out.contains("archive    the entries up to 683 were moved to `"),
        "{}",
        doctor.out
    );
    assert!(
        doctor.out.contains("snapshot   at entry 685; the remaining ledger starts with it\n"),
        "{}",
        doctor.out
    );
    let status = wakeful(["status", &arg(&path)]);
    assert!(
        status.code == 0 && status.out.contains("\narchive  the entries up to 683 were moved to `"),
        "{}",
        status.out
    );
    let rest = wakeful(["log", &arg(&path)]);
    assert_eq!((rest.code, rest.err.contains("were moved to")), (0, true), "{}", rest.err);
    assert!(rest.out.starts_with(log.lines().nth(683).expect("entry 684")), "{}", rest.out);

    // A command that needs old entries says where they are. So does a version that cannot use the
    // snapshot.
    let past = wakeful(["replay", &arg(&path), "--edition", "2026-05-08"]);
    assert!(
        past.code == 2
            && past.err.contains("which cannot be read")
            && past.err.contains("put it back there"),
        "{}",
        past.err
    );
    execute(
        &path,
        "UPDATE snapshots SET text = replace(text, '\"core_version\":\"', '\"core_version\":\"9')",
    );
    let status = wakeful(["status", &arg(&path)]);
    assert!(status.code == 2 && status.err.contains("put it back there"), "{}", status.err);
    assert_eq!(wakeful(["doctor", &arg(&path)]).code, 2);
    fs::rename(folder.path().join("elsewhere"), &moved).expect("it comes back");
    let status = wakeful(["status", &arg(&path)]);
    assert!(
        status.code == 0 && status.out.contains("made by version 9"),
        "{}{}",
        status.out,
        status.err
    );
}

#[test]
fn damage_in_the_rest_is_found_without_the_archive() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = long(folder.path());
    assert_eq!(archive(&path, "--before-snapshot").code, 0);
    fs::remove_file(&moved).expect("it goes");
    execute(
        &path,
        "UPDATE entries SET canonical = replace(canonical, '\"m', '\"x') WHERE seq = 750",
    );
    let doctor = wakeful(["doctor", &arg(&path)]);
    assert!(doctor.code == 1 && doctor.out.contains("entry 750"), "{}", doctor.out);
    assert!(
        doctor.out.contains("snapshot   at entry 685; the remaining ledger starts with it\n"),
        "{}",
        doctor.out
    );
    execute(
        &path,
        "UPDATE entries SET canonical = replace(canonical, '\"m', '\"x') WHERE seq = 684",
    );
    let doctor = wakeful(["doctor", &arg(&path)]);
    assert!(doctor.code == 1 && doctor.out.contains("entry 684"), "{}", doctor.out);
}

#[test]
fn the_next_move_continues_the_archive_and_an_agent_that_lives_does_not_notice() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = long(folder.path());
    let file = SqliteFile::open(&path).expect("it opens");
    let mut agent = observed("a", ledger(&file, "a"));
    assert_eq!(archive(&path, "--before-snapshot").code, 0);
    (0..300).for_each(|number| assert!(agent.propose(&prompt(&format!("n{number}"))).is_ok()));
    let end = agent.state().head();
    let ran = wakeful(["archive", &arg(&path), "--before-now", "--json"]);
    let told: Value = serde_json::from_str(&ran.out)
        .unwrap_or_else(|why| panic!("{why}: {}{}", ran.out, ran.err));
    assert_eq!(told["moved"], end.seq.0 - 1 - 683 - told["left"].as_u64().expect("a number") + 1);
    assert_eq!(
        (told["snapshot"].clone(), told["archive"].clone()),
        (end.seq.0.into(), arg(&moved).into())
    );
    assert!(agent.propose(&prompt("after it")).is_ok());
    assert_eq!(wakeful(["doctor", &arg(&path)]).code, 0);
    assert_eq!(entries(&mut ledger(&file, "a")).len() as u64, agent.state().head().seq.0);

    let again = archive(&path, "--before-snapshot");
    assert!(
        again.code == 0 && again.out.starts_with("a  nothing to move: "),
        "{}{}",
        again.out,
        again.err
    );
    let other = folder.path().join("other.sqlite");
    let ran = wakeful(["archive", &arg(&path), "--before-now", "--to", &arg(&other)]);
    assert!(
        ran.code == 2 && ran.err.contains("name that file, so that the next ones continue them"),
        "{}",
        ran.err
    );
    assert!(!other.exists(), "no file is left of a refused move");
}

#[test]
fn a_move_that_did_not_come_to_its_end_is_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = long(folder.path());
    // A process that died after the copy: the ledger is unchanged, and the archive has the entries.
    let copy = folder.path().join("copy.sqlite");
    fs::copy(&path, &copy).expect("a copy");
    assert_eq!(
        wakeful(["archive", &arg(&copy), "--before-snapshot", "--to", &arg(&moved)]).code,
        0
    );
    execute(&moved, "DELETE FROM entries WHERE seq > 200");
    let ran = archive(&path, "--before-snapshot");
    assert_eq!((ran.code, kept(&moved)), (0, 683), "{}", ran.err);
    assert_eq!(wakeful(["doctor", &arg(&path)]).code, 0);
}

#[test]
fn a_copy_that_goes_on_is_no_archive_and_nothing_is_appended_to_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = long(folder.path());
    let copy = folder.path().join("copy.sqlite");
    fs::copy(&path, &copy).expect("a copy");
    let to =
        |from: &Path, to: &Path, how: &str| wakeful(["archive", &arg(from), how, "--to", &arg(to)]);
    let ran = to(&path, &copy, "--before-snapshot");
    assert!(ran.code == 2 && ran.err.contains("holds a live ledger"), "{}", ran.err);
    assert_eq!(to(&path, &moved, "--before-snapshot").code, 0);
    let ran = to(&copy, &path, "--before-snapshot");
    assert!(ran.code == 2 && ran.err.contains("holds a live ledger"), "{}", ran.err);
    let ran = wakeful(["explain", &arg(&path)]);
    assert!(ran.code == 2 && ran.err.contains("is a ledger file: "), "{}", ran.err);

    let refusal = format!(
        "is the archive of agent `a`: nothing is appended here, the ledger continues in `{}`",
        path.display()
    );
    let story = folder.path().join("story.toml");
    let text = "story = \"s\"\n\
                shows = \"s\"\n\
                agent_id = \"a\"\n\
                starts_at = 2030-05-27T09:00:00Z\n\
                [[script]]\n\
                prompt = \"to the archive\"\n";
    fs::write(&story, text).expect("a story");
    for said in [
        wakeful(["send", "--ledger", &arg(&moved), "prompt", "said to the archive"]),
        wakeful([
            "run",
            "--ledger",
            &arg(&moved),
            "--story",
            &arg(&story),
            "--virtual",
            "--until-rest",
        ]),
        archive(&moved, "--before-now"),
    ] {
        assert!(said.code == 2 && said.err.contains(&refusal), "{}", said.err);
    }
    let file = SqliteFile::open(&moved).expect("it opens");
    let why = observed("a", ledger(&file, "a"))
        .propose(&prompt("said to the archive"))
        .expect_err("it has ended");
    assert!(why.to_string().ends_with(&refusal), "{why}");
    assert_eq!(kept(&moved), 683);

    // Entries that another program appends to the archive are not read.
    execute(
        &moved,
        "INSERT INTO entries SELECT agent, 684, 684, chain, '{}' FROM entries WHERE seq = 683",
    );
    assert_eq!(wakeful(["doctor", &arg(&path)]).code, 0, "the remaining ledger is unaffected");
    execute(&moved, "DELETE FROM entries WHERE seq = 684");

    // Another archive file is refused, and it is not created.
    let other = folder.path().join("other.sqlite");
    let ran = to(&path, &other, "--before-snapshot");
    assert!(ran.code == 2 && ran.err.contains("name that file") && !other.exists(), "{}", ran.err);

    // If the archive is missing, nothing is created or stored.
    fs::rename(&moved, folder.path().join("away")).expect("it goes");
    let before = fs::read(&path).expect("the file");
    let ran = wakeful(["archive", &arg(&path), "--before-now"]);
    assert!(ran.code == 2 && ran.err.contains("does not exist") && !moved.exists(), "{}", ran.err);
    assert!(fs::read(&path).expect("the file") == before);
}

#[test]
fn what_cannot_be_moved_stays_and_it_is_said_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, moved) = long(folder.path());
    let refused = |args: &[&str], says: &str| {
        let before = (fs::read(&path).expect("the file"), moved.exists());
        let ran = wakeful(args.iter().map(|word| (*word).to_owned()));
        assert!(ran.code == 2 && ran.err.contains(says), "{args:?}: {} {}", ran.code, ran.err);
        assert!(
            (fs::read(&path).expect("the file"), moved.exists()) == before,
            "{args:?}: nothing is changed"
        );
    };
    let file = arg(&path);
    refused(&["archive", &file, "--before-snapshot", "--to", &file], "is the ledger itself");
    refused(&["archive", &file], "--before-snapshot");
    refused(&["archive", &file, "--before-snapshot", "--agent", "b"], "holds no agent `b`");
    let strange = folder.path().join("strange.sqlite");
    let other = SqliteFile::open(&strange).expect("it opens");
    let mut agent = observed("a", ledger(&other, "a"));
    (0..3).for_each(|number| assert!(agent.propose(&prompt(&format!("strange{number}"))).is_ok()));
    assert_eq!(archive(&strange, "--before-now").code, 0);
    let strange = folder.path().join("strange.archive.sqlite");
    refused(
        &["archive", &file, "--before-snapshot", "--to", &arg(&strange)],
        "holds a different history of agent `a`",
    );
    let young = folder.path().join("young.sqlite");
    drop(file_with(&young, 3));
    refused(&["archive", &arg(&young), "--before-snapshot"], "the ledger has no snapshot yet");
    execute(&path, "UPDATE entries SET canonical = replace(canonical, '\"m5\"', '\"m6\"')");
    refused(&["archive", &file, "--before-snapshot"], "run `wakeful doctor` for details");
}

#[test]
fn a_file_of_the_first_version_is_read_as_it_is_and_migrated_by_who_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("old.sqlite");
    drop(file_with(&path, 5));
    execute(
        &path,
        "DROP TABLE owners; DROP TABLE kept; DROP TABLE anchors; ALTER TABLE agents DROP COLUMN \
         goes_on_in; PRAGMA user_version = 1",
    );
    assert_eq!(wakeful(["doctor", &arg(&path)]).code, 0);
    let version = || {
        Connection::open(&path)
            .and_then(|file| file.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)))
    };
    assert_eq!(version(), Ok(1), "reading changes nothing");
    let file = SqliteFile::open(&path).expect("it opens");
    assert_eq!(version(), Ok(3));
    let (machine, _) =
        opening::open(&Options::new("a".into()), &mut ledger(&file, "a")).expect("it opens");
    assert_eq!(ledger(&file, "a").read(machine.head().seq, 1), Ok(Vec::new()));
}
