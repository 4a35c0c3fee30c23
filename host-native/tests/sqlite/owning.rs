//! Who drives an agent (contract 2.4): owners that rest, release, end and are killed, in this
//! process and in others.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Barrier,
    thread,
    time::Duration,
};

use rusqlite::Connection;
use wakeful_core::{AgentId, Head};
use wakeful_host::ledger::{OwnError, Owned, Owner, SqliteError, SqliteFile};

use super::{
    agent::{file_with, ledger, observed},
    child::{self, Role},
};
use crate::shared::prompt;

fn open(path: &Path) -> SqliteFile {
    SqliteFile::open(path).expect("it opens")
}

fn own(file: &SqliteFile, agent: &str) -> Result<Owned, OwnError> {
    file.own(&AgentId::from(agent))
}

/// Owns an agent that nobody else drives. Returns the claim, and whether it is a restart.
fn owned(file: &SqliteFile, agent: &str) -> (Owned, bool) {
    let owned = own(file, agent).expect("nobody else drives it");
    let is_restart = owned.is_restart();
    (owned, is_restart)
}

/// Who drives the agent, and whether that one is in this process.
fn driver_of(claimed: Result<Owned, OwnError>) -> (Owner, bool) {
    match claimed.map(|_| ()).expect_err("another one drives it") {
        OwnError::Driven { agent, by, here } => {
            assert_eq!(agent, by.agent_id);
            (by, here)
        }
        why => panic!("{why}"),
    }
}

/// The lock files in the folder of a ledger.
fn locks(path: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(path.parent().expect("a folder")).expect("it is listed");
    let paths = files.map(|file| file.expect("a file").path());
    paths.filter(|path| path.to_string_lossy().contains("-owner-")).collect()
}

/// Does something to the file that no method does.
fn execute(path: &Path, sql: &str) {
    Connection::open(path).and_then(|file| file.execute_batch(sql)).expect("it is done");
}

/// Names an owner whose lock file is missing.
fn name_a_dead_owner(path: &Path, agent: &str, owner: &str) {
    execute(
        path,
        &format!("INSERT OR REPLACE INTO owners VALUES ('{agent}', '{owner}', 1, 'gone', 0)"),
    );
}

const DEAD: &str = "00112233445566778899aabbccddeeff";

/// A process that owns agent `a` until it is killed.
fn living(command: &mut Command, role: &str) -> (Child, String) {
    let mut child = command.spawn().expect("a child");
    let mut out = BufReader::new(child.stdout.take().expect("its output"));
    let (mut said, mark) = (String::new(), format!("{role}:owns:"));
    while !said.contains(&mark) {
        assert!(out.read_line(&mut said).expect("text") > 0, "it ended: {said}");
    }
    // The pipe stays open, so that the child can write to it.
    child.stdout = Some(out.into_inner());
    (child, child::said(&said, role, "owns").pop().expect("what it owns with"))
}

/// Sleeps until this process is killed.
fn live() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}

#[test]
fn a_second_process_is_refused_by_name_and_owns_as_soon_as_the_first_is_killed() {
    const NAME: &str = "sqlite::owning::a_second_process_is_refused_by_name_and_owns_as_soon_as_the_first_is_killed";
    if let Some(role) = Role::here() {
        let file = open(&role.ledger);
        let _owned = owned(&file, "a");
        // What a host has started may outlive it, and must not keep its lock.
        let mut outlives = Command::new("sleep").arg("600").spawn().expect("a process");
        role.say("owns", outlives.id());
        outlives.wait().expect("it ends later than this process");
        live();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1);
    let (mut first, outlives) = living(&mut child::command(NAME, "first", &path), "first");
    let (by, here) = driver_of(own(&file, "a"));
    assert_eq!((by.pid, by.is_own, here), (first.id(), false, false));
    let program = env::current_exe().expect("this test has a path");
    assert_eq!(Some(by.program.as_ref()), program.file_name());
    let said = own(&file, "a").map(|_| ()).expect_err("it is driven").to_string();
    assert_eq!(
        said,
        format!(
            "agent `a` is driven by process {} (`{}`) since {}: say things to it with `wakeful \
             send`, or end that process first",
            by.pid, by.program, by.since
        )
    );
    let reader = SqliteFile::open_read_only(&path).expect("a reader");
    assert_eq!(reader.owners().expect("the owners"), [by]);
    // Another agent of the file is free.
    own(&file, "b").expect("nobody drives it").release().expect("it is released");
    // It writes all the same: only driving needs an owner.
    observed("a", ledger(&file, "a")).propose(&prompt("said")).expect("it is recorded");

    first.kill().expect("it is killed");
    first.wait().expect("it is gone");
    assert_eq!(reader.owners().expect("the owners"), [], "a dead owner drives nothing");
    let (claim, is_restart) = owned(&file, "a");
    assert!(is_restart, "nobody knows how far the first one got");
    assert_eq!(locks(&path).len(), 1, "the lock file of the first one is removed");
    let ours = reader.owners().expect("the owners");
    assert_eq!((ours.len(), ours[0].pid, ours[0].is_own), (1, std::process::id(), false));
    assert!(file.owners().expect("the owners")[0].is_own);
    drop(claim);
    Command::new("kill").arg(outlives).status().expect("kill runs");
}

#[test]
fn in_one_process_clones_and_other_openings_exclude_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger ü #1.sqlite");
    let (file, other) = (open(&path), open(&path));
    let (claim, _) = owned(&file, "a");
    for claimed in [own(&file, "a"), own(&file.clone(), "a"), own(&other, "a")] {
        let said = claimed.as_ref().map(|_| ()).expect_err("it is driven").to_string();
        assert!(said.starts_with("agent `a` is driven by this process since "), "{said}");
        assert!(said.ends_with(": use its handle, or end it there first"), "{said}");
        let (by, here) = driver_of(claimed);
        assert_eq!((by.pid, here), (std::process::id(), true));
    }
    assert!(!driver_of(own(&other, "a")).0.is_own);
    claim.rest();
    driver_of(own(&other, "a"));
    let (claim, is_restart) = owned(&file.clone(), "a");
    assert!(!is_restart, "a refusal changes nothing");
    claim.release().expect("it is released");
    let (_claim, is_restart) = owned(&other, "a");
    assert!(is_restart, "another one drove it");
    assert_eq!(driver_of(own(&file, "a")).0.pid, std::process::id());
}

#[test]
fn only_an_agent_that_rested_here_is_no_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = open(&path);
    let (claim, is_restart) = owned(&file, "a");
    assert!(is_restart, "nobody has driven it here");
    claim.rest();
    for _ in 0..3 {
        let (claim, is_restart) = owned(&file, "a");
        assert!(!is_restart);
        claim.rest();
    }
    drop(owned(&file, "a"));
    let (claim, is_restart) = owned(&file, "a");
    assert!(is_restart, "its driver ended without rest");
    claim.rest();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _claim = owned(&file, "a");
        panic!("the test breaks the driver");
    }));
    assert!(panicked.is_err());
    assert!(owned(&file, "a").1, "its driver panicked");
    let (claim, _) = owned(&file, "a");
    claim.release().expect("it is released");
    assert_eq!(file.owners().expect("the owners"), []);
    assert!(owned(&file, "a").1, "another process may have driven it meanwhile");
}

#[test]
fn a_claim_lives_as_long_as_the_last_clone_of_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let (file, other) = (open(&path), open(&path));
    assert_eq!(locks(&path), [] as [PathBuf; 0], "nothing is owned yet");
    let (claim, _) = owned(&file, "a");
    owned(&file, "b").0.rest();
    assert_eq!(locks(&path).len(), 1, "one file for all agents of an owner");
    let clone = file.clone();
    drop(file);
    driver_of(own(&other, "a"));
    drop(clone);
    // A claim is a clone of the file too.
    driver_of(own(&other, "b"));
    drop(claim);
    assert_eq!(locks(&path), [] as [PathBuf; 0]);
    assert!(owned(&other, "a").1 && owned(&other, "b").1);
}

#[test]
fn all_names_of_a_file_exclude_each_other_also_after_a_change_of_the_folder() {
    const NAME: &str =
        "sqlite::owning::all_names_of_a_file_exclude_each_other_also_after_a_change_of_the_folder";
    if let Some(role) = Role::here() {
        env::set_current_dir(role.ledger.parent().expect("a folder")).expect("it is entered");
        let file = open(Path::new("ledger.sqlite"));
        env::set_current_dir("/").expect("it is entered");
        let _owned = owned(&file, "a");
        role.say("owns", "a");
        live();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 1));
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    let linked = elsewhere.join("linked.sqlite");
    symlink(&path, &linked).expect("a link");
    let (mut first, _) = living(&mut child::command(NAME, "first", &path), "first");
    let file = open(&linked);
    assert_eq!(driver_of(own(&file, "a")).0.pid, first.id());
    first.kill().expect("it is killed");
    first.wait().expect("it is gone");
    let _claim = owned(&file, "a");
    assert_eq!((locks(&path).len(), locks(&linked)), (1, vec![]));
    driver_of(own(&open(&path), "a"));
}

#[test]
fn of_many_that_find_a_dead_owner_one_owns() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 1));
    for round in 0..20 {
        name_a_dead_owner(&path, "a", DEAD);
        // Every second dead owner has left its file.
        if round % 2 == 0 {
            fs::write(folder.path().join(format!("ledger.sqlite-owner-{DEAD}")), "").expect("it");
        }
        let start = Barrier::new(6);
        let claims: Vec<_> = thread::scope(|scope| {
            let contenders: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        let file = open(&path);
                        start.wait();
                        own(&file, "a")
                    })
                })
                .collect();
            contenders.into_iter().map(|it| it.join().expect("it ends")).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = claims.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 5), "round {round}");
        for why in lost {
            assert!(driver_of(why).1);
        }
        assert_eq!(locks(&path).len(), 1, "round {round}");
    }
}

#[test]
fn files_of_dead_owners_are_tidied_and_no_other_file_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let (file, other) = (open(&path), open(&path));
    let _claim = owned(&other, "other");
    let beside = |name: &str| folder.path().join(name);
    let left = beside(&format!("ledger.sqlite-owner-{DEAD}"));
    let strangers = [
        beside("ledger.sqlite-owner-notes"),
        beside(&format!("ledger.sqlite-owner-{DEAD}0")),
        beside(&format!("other.sqlite-owner-{DEAD}")),
    ];
    [&left].into_iter().chain(&strangers).for_each(|path| fs::write(path, "").expect("a file"));
    let living = locks(&path).into_iter().filter(|lock| *lock != left && !strangers.contains(lock));
    let living: Vec<_> = living.collect();
    let _claim = owned(&file, "a");
    assert!(!left.exists());
    assert!(strangers.iter().chain(&living).all(|path| path.exists()));
    driver_of(own(&file, "other"));
}

#[test]
fn a_row_with_anything_else_than_an_owner_names_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = open(&path);
    for owner in ["", "x", "/../ledger.sqlite", "../../../../etc/passwd"] {
        name_a_dead_owner(&path, "a", owner);
        assert_eq!(file.owners().expect("the owners"), []);
        let (claim, is_restart) = owned(&file, "a");
        assert!(is_restart);
        claim.release().expect("it is released");
    }
}

#[test]
fn a_copy_of_a_ledger_names_owners_that_are_dead() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("ledger.sqlite"), folder.path().join("copy.sqlite"));
    let file = file_with(&path, 1);
    let _claim = owned(&file, "a");
    execute(&path, &format!("VACUUM INTO '{}'", copy.display()));
    let copied = open(&copy);
    assert_eq!(copied.owners().expect("the owners"), []);
    assert!(owned(&copied, "a").1);
    driver_of(own(&open(&path), "a"));
}

#[test]
fn the_lock_file_has_the_owner_and_the_mode_of_the_ledger() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1);
    for mode in [0o600, 0o660, 0o666] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode is set");
        let other = open(&path);
        let _claim = owned(&other, "a");
        let [lock] = &locks(&path)[..] else { panic!("one lock file") };
        let (ledger, lock) =
            (fs::metadata(&path).expect("it is there"), fs::metadata(lock).expect("it is there"));
        assert_eq!(lock.mode() & 0o777, mode);
        assert_eq!((lock.uid(), lock.gid()), (ledger.uid(), ledger.gid()));
    }
    drop(file);
}

#[test]
fn a_lock_file_that_cannot_be_made_is_named_and_nothing_is_owned() {
    let folder = tempfile::tempdir().expect("a folder");
    // SQLite's own files beside it have room for their names, and the lock file has none.
    let path = folder.path().join("l".repeat(230));
    let file = open(&path);
    let why = own(&file, "a").map(|_| ()).expect_err("there is no lock");
    assert!(matches!(why, OwnError::Sqlite(SqliteError::NoLock { .. })), "{why:?}");
    let said = why.to_string();
    assert!(said.starts_with(&format!("`{}-owner-", path.display())), "{said}");
    assert!(said.contains("` cannot be made: File name too long"), "{said}");
    assert!(
        said.ends_with(
            "give this user the right to use it, and its folder a file system with file locks"
        ),
        "{said}"
    );
    assert_eq!(file.owners().expect("the owners"), []);
    assert!(matches!(own(&file, "a"), Err(OwnError::Sqlite(_))), "nobody drives it");
}

#[test]
fn a_reader_owns_nothing_and_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1);
    let reader = SqliteFile::open_read_only(&path).expect("a reader");
    for _ in 0..2 {
        let why = own(&reader, "a").map(|_| ()).expect_err("it only reads");
        assert!(matches!(why, OwnError::Sqlite(SqliteError::ReadOnly(_))), "{why:?}");
    }
    assert!(matches!(reader.keep("k", "n", "v"), Err(SqliteError::ReadOnly(_))));
    assert!(matches!(reader.forget("k", "n"), Err(SqliteError::ReadOnly(_))));
    assert_eq!(locks(&path), [] as [PathBuf; 0]);
    drop(file);
}

#[test]
fn files_of_older_versions_are_read_as_they_are_and_migrated_by_a_writer() {
    let back = [
        "DROP TABLE owners; DROP TABLE kept; PRAGMA user_version = 2",
        "DROP TABLE owners; DROP TABLE kept; DROP TABLE anchors;
         ALTER TABLE agents DROP COLUMN goes_on_in; PRAGMA user_version = 1",
    ];
    for sql in back {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.sqlite");
        let head = ledger(&file_with(&path, 2), "a").head().expect("a head");
        execute(&path, sql);
        let reader = SqliteFile::open_read_only(&path).expect("a reader");
        assert_eq!(reader.owners().expect("none"), []);
        assert_eq!(reader.kept("token").expect("none"), []);
        assert_eq!(reader.heads().expect("the heads"), [(AgentId::from("a"), head)]);
        let file = open(&path);
        let _claim = owned(&file, "a");
        file.keep("token", "t", "x").expect("it is kept");
        assert_eq!(reader.kept("token").expect("one").len(), 1);
        assert_eq!(reader.owners().expect("one").len(), 1);
    }
}

#[test]
fn heads_are_of_the_agents_that_have_entries() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 2);
    for id in ["c", "b"] {
        observed(id, ledger(&file, id)).propose(&prompt("m")).expect("it is recorded");
    }
    execute(&path, "INSERT INTO agents (agent_id) VALUES ('empty')");
    let heads = file.heads().expect("the heads");
    let ids: Vec<_> = heads.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    for (id, head) in heads {
        assert_eq!(ledger(&file, id.as_str()).head(), Ok(head));
        assert_ne!(head, Head::START);
    }
}

#[test]
fn the_version_changes_with_each_change_of_another_connection_and_with_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1);
    let reader = SqliteFile::open_read_only(&path).expect("a reader");
    let (own, others) = (file.version().expect("a version"), reader.version().expect("a version"));
    file.keep("cursor", "a", "1").expect("it is kept");
    assert_eq!(file.version().expect("a version"), own, "its own change");
    let changed = reader.version().expect("a version");
    assert_ne!(changed, others);
    assert_eq!(reader.version().expect("a version"), changed, "nothing has changed since");
    observed("a", ledger(&open(&path), "a")).propose(&prompt("x")).expect("it is recorded");
    assert_ne!(file.version().expect("a version"), own);
    assert_ne!(reader.version().expect("a version"), changed);
}

#[test]
fn texts_are_kept_by_kind_and_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = open(&path);
    let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    for (kind, name, value) in
        [("token", "b", "1"), ("token", "a", "2"), ("cursor", "b", "3"), ("token", "b", "4")]
    {
        file.keep(kind, name, value).expect("it is kept");
    }
    drop(file);
    let file = open(&path);
    assert_eq!(file.kept("token").expect("the tokens"), [text("a", "2"), text("b", "4")]);
    assert!(file.forget("token", "b").expect("it is forgotten"));
    assert!(!file.forget("token", "b").expect("it was not there"));
    assert_eq!(file.kept("token").expect("the tokens"), [text("a", "2")]);
    assert_eq!(file.kept("cursor").expect("the cursors"), [text("b", "3")]);
    assert_eq!(file.kept("none").expect("nothing"), []);
}
