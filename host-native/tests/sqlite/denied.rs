//! Missing permissions and a failing disk, each tested in a process with fewer rights than the
//! test.

use std::{
    env, fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

use wakeful_core::Ledger;
use wakeful_host::ledger::SqliteFile;

use super::{
    agent::{entries, file_with, folded, ledger, observed},
    child::{self, Role},
};
use crate::shared::prompt;

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode is set");
}

/// Runs a child that may not write in its folder. Root may write anywhere, so under root the child
/// is another user.
fn without_rights(name: &str, role: &str, path: &Path) -> String {
    let folder = path.parent().expect("a folder");
    let executable = folder.join("test-itself");
    fs::copy(env::current_exe().expect("this test has a path"), &executable)
        .expect("a copy that every user can run");
    permit(&executable, 0o555);
    permit(path, 0o444);
    permit(folder, 0o555);
    let mut command = Command::new(executable);
    child::as_child(&mut command, name, role, path);
    if fs::metadata(folder).expect("the folder").uid() == 0 {
        command.uid(65534).gid(65534);
    }
    let out = child::finished(command.current_dir(folder).spawn().expect("a child"));
    permit(folder, 0o755);
    out
}

#[test]
fn a_file_that_this_user_may_only_read_says_so_to_a_writer_and_what_sqlite_needs_to_a_reader() {
    const NAME: &str = "sqlite::denied::a_file_that_this_user_may_only_read_says_so_to_a_writer_and_what_sqlite_needs_to_a_reader";
    if let Some(role) = Role::here() {
        let said = |opened: Result<SqliteFile, _>| match opened {
            Ok(file) => format!("{} entries", entries(&mut ledger(&file, "a")).len()),
            Err(why) => ToString::to_string(&why),
        };
        role.say("writer", said(SqliteFile::open(&role.ledger)));
        return role.say("reader", said(SqliteFile::open_read_only(&role.ledger)));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 2));
    let out = without_rights(NAME, "denied", &path);
    let file = path.display();
    let read_only = format!(
        "`{file}` is read-only: give this user the right to write to it and to its folder, or \
         only observe it"
    );
    assert_eq!(child::said(&out, "denied", "writer"), [read_only]);
    let needs = format!(
        "`{file}` cannot be opened: this user needs the right to read it, and to write to its \
         folder, where SQLite keeps `-wal` and `-shm` beside it"
    );
    assert_eq!(child::said(&out, "denied", "reader"), [needs]);
    assert_eq!(entries(&mut ledger(&SqliteFile::open(&path).expect("it opens"), "a")).len(), 5);
}

/// A limit on file sizes simulates a disk that fails in the middle of a batch.
#[test]
fn a_disk_that_fails_in_the_middle_of_a_batch_stores_nothing_of_it() {
    const NAME: &str =
        "sqlite::denied::a_disk_that_fails_in_the_middle_of_a_batch_stores_nothing_of_it";
    if let Some(role) = Role::here() {
        let file = SqliteFile::open(&role.ledger).expect("it opens");
        let mut agent = observed("a", ledger(&file, "a"));
        let before = agent.state().clone();
        role.say("why", agent.propose(&long()).expect_err("no more fits"));
        assert_eq!(agent.state(), &before);
        role.say("head", agent.state().head());
        agent.propose(&prompt("short")).expect("what fits is recorded");
        return role.say("then", agent.state().head());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 2));
    let itself = env::current_exe().expect("this test has a path");
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; ulimit -f 100; exec "$0" "$@""#]).arg(itself);
    child::as_child(&mut command, NAME, "limited", &path);
    let out = child::finished(command.spawn().expect("a child"));
    let [why, head, then] = ["why", "head", "then"]
        .map(|what| child::said(&out, "limited", what).pop().expect("a report of the child"));
    let starts = format!(
        "the ledger failed: cannot append to `{}`: reading or writing the disk failed (",
        path.display()
    );
    assert!(why.starts_with(&starts) && why.ends_with("): check the disk and try again"), "{why}");
    assert_ne!(head, then);
    let file = SqliteFile::open(&path).expect("it opens");
    let mut stored = ledger(&file, "a");
    assert_eq!(folded("a", &mut stored).head().to_string(), then);
    assert!(stored.load_snapshot().expect("the table is whole").is_none());
}

/// A fact that does not fit into a file of 100 blocks.
fn long() -> String {
    prompt("long")
        .replace(r#""text":"hello long""#, &format!(r#""text":"{}""#, "word ".repeat(50_000)))
}
