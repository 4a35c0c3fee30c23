//! Opening: new files, foreign files, damaged files, and readers beside a writer. Every message
//! says what to do.

use std::{fs, io::Write, os::unix::fs::FileExt, path::Path};

use rusqlite::Connection;
use wakeful_core::{EntryBytes, Head, Ledger, LedgerError, Seq};
use wakeful_host::{
    doctor, driver,
    ledger::{SqliteError, SqliteFile},
};

use super::agent::{entries, file_with, folded, ledger, observed};
use crate::shared::prompt;

/// The error of a file that cannot be opened, with its path replaced.
fn refused(path: &Path, opened: Result<SqliteFile, SqliteError>) -> String {
    let why = opened.map(|_| ()).expect_err("the file is refused");
    why.to_string().replace(&path.display().to_string(), "FILE")
}

fn value<T: rusqlite::types::FromSql>(path: &Path, pragma: &str) -> T {
    let connection = Connection::open(path).expect("SQLite opens it");
    connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).expect("a value")
}

#[test]
fn a_new_file_is_marked_and_in_wal_mode() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = SqliteFile::open(&path).expect("it is created");
    assert_eq!(file.path(), path);
    assert_eq!(file.agents().expect("the agents"), []);
    assert_eq!(value::<String>(&path, "journal_mode"), "wal");
    assert_eq!(
        (value::<i32>(&path, "application_id"), value::<i32>(&path, "user_version")),
        (0x576b_666c, 3)
    );
}

#[test]
fn an_empty_file_becomes_a_ledger_for_a_writer_and_is_none_for_a_reader() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    assert_eq!(refused(&path, SqliteFile::open_read_only(&path)), "`FILE` does not exist");
    fs::write(&path, "").expect("an empty file");
    let said = "`FILE` holds no ledger yet: a writer must open it first; a copy of a live file \
                needs its `-wal` too";
    assert_eq!(refused(&path, SqliteFile::open_read_only(&path)), said);
    assert_eq!(fs::metadata(&path).expect("it is there").len(), 0, "a reader writes nothing");
    SqliteFile::open(&path).expect("a writer may use it");
    SqliteFile::open_read_only(&path).expect("then a reader may use it too");
}

/// The first one creates the file, and none of the others sees it half made.
#[test]
fn a_new_file_may_be_opened_by_many_at_once() {
    for round in 0..20 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ledger.sqlite");
        let start = std::sync::Barrier::new(6);
        std::thread::scope(|scope| {
            for number in 0..6 {
                let (path, start) = (&path, &start);
                scope.spawn(move || {
                    start.wait();
                    let file =
                        SqliteFile::open(path).unwrap_or_else(|why| panic!("round {round}: {why}"));
                    let id = format!("agent-{number}");
                    observed(&id, ledger(&file, &id))
                        .propose(&prompt("first"))
                        .expect("it is recorded");
                });
            }
        });
        assert_eq!(
            SqliteFile::open_read_only(&path)
                .and_then(|file| file.agents())
                .expect("it is whole")
                .len(),
            6
        );
    }
}

#[test]
fn a_newer_schema_is_refused_by_number() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 1));
    Connection::open(&path)
        .and_then(|file| file.pragma_update(None, "user_version", 7))
        .expect("it is made newer");
    let said = "`FILE` has schema version 7, this program reads up to 3: use a newer one";
    assert_eq!(refused(&path, SqliteFile::open(&path)), said);
    assert_eq!(refused(&path, SqliteFile::open_read_only(&path)), said);
}

#[test]
fn a_file_of_another_program_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.sqlite");
    let said = "`FILE` is not a Wakeful ledger; it was not changed";
    Connection::open(&path)
        .and_then(|file| file.execute_batch("CREATE TABLE notes (text)"))
        .expect("another program's file");
    let before = fs::read(&path).expect("its bytes");
    assert_eq!(refused(&path, SqliteFile::open(&path)), said);
    assert_eq!(refused(&path, SqliteFile::open_read_only(&path)), said);
    assert_eq!(fs::read(&path).expect("its bytes"), before);
    for text in ["hello\n", &"no database ".repeat(1000)] {
        fs::write(&path, text).expect("a text file");
        assert_eq!(refused(&path, SqliteFile::open(&path)), said);
        assert_eq!(fs::read_to_string(&path).expect("its text"), text);
    }
}

#[test]
fn a_folder_and_a_file_in_no_folder_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    assert_eq!(
        refused(path, SqliteFile::open(path)),
        "`FILE` is a folder: name a file in it, as in `FILE/ledger.sqlite`"
    );
    let inside = path.join("none/ledger.sqlite");
    assert_eq!(
        refused(path, SqliteFile::open(&inside)),
        "`FILE/none/ledger.sqlite` cannot be created: the folder `FILE/none` does not exist"
    );
}

#[test]
fn a_name_that_sqlite_reads_otherwise_is_a_file_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file:x?mode=memory");
    drop(file_with(&path, 1));
    assert!(path.is_file());
    assert!(
        matches!(SqliteFile::open(Path::new("")), Err(SqliteError::Folder(_))),
        "an empty path names no file"
    );
}

#[test]
fn a_damaged_page_is_an_error_that_says_how_to_rescue_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 200));
    let pages = fs::metadata(&path).expect("it is there").len() / 4096;
    assert!(pages > 10, "the last connection moved the WAL into the file");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("it opens");
    (5..pages)
        .for_each(|page| file.write_all_at(&[0x5a; 4096], page * 4096).expect("a page is damaged"));
    let file = SqliteFile::open_read_only(&path).expect("its first pages are whole");
    let mut stored = ledger(&file, "a");
    let why = std::iter::successors(Some(0), |seq| Some(seq + 10))
        .find_map(|seq| stored.read(Seq(seq), 10).err());
    let Some(LedgerError::Failed { message }) = why else { panic!("a failure, not {why:?}") };
    assert!(message.contains("is damaged (") && message.contains(".recover`"), "{message}");
}

#[test]
fn a_changed_byte_of_an_entry_breaks_the_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    drop(file_with(&path, 3));
    let connection = Connection::open(&path).expect("it opens");
    let changed = connection
        .execute("UPDATE entries SET canonical = replace(canonical, 'm1', 'm9') WHERE seq = 4", []);
    assert_eq!(changed.expect("an update"), 1);
    let file = SqliteFile::open(&path).expect("it opens");
    let opened = wakeful_core::Machine::new(wakeful_core::Options::new("a".into()));
    let why = entries(&mut ledger(&file, "a"))
        .iter()
        .try_fold(opened, |mut machine, entry| machine.load(entry).map(|()| machine))
        .err();
    assert_eq!(
        why.map(|why| why.to_string()).as_deref(),
        Some("entry 4 breaks the chain: its bytes or an earlier entry were changed")
    );
}

#[test]
fn a_reader_sees_what_a_writer_commits_meanwhile_and_can_write_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    let file = file_with(&path, 1);
    let reading = SqliteFile::open_read_only(&path).expect("a reader");
    let mut writer = observed("a", ledger(&file, "a"));
    let mut reader = ledger(&reading, "a");
    for number in 0..5 {
        assert_eq!(&folded("a", &mut reader), writer.state(), "before message {number}");
        writer.propose(&prompt(&format!("later-{number}"))).expect("it is recorded");
    }
    let head = reader.head().expect("a head");
    let (sealed, batch) = next_entry(&head);
    let Err(LedgerError::Failed { message }) = reader.append(&head, &batch) else {
        panic!("a reader stored {sealed}")
    };
    let said = "is read-only: give this user the right to write to it and to its folder, or only \
                observe it";
    assert!(message.ends_with(said), "{message}");
}

fn next_entry(head: &wakeful_core::Head) -> (Seq, Vec<wakeful_core::EntryBytes>) {
    use wakeful_core::{ControlRecord, Entry, Marker, Record};
    let (entry, bytes) = Entry::seal(
        head,
        super::agent::NOW,
        Record::Control(ControlRecord::StartRequested(Marker {})),
    );
    (entry.seq, vec![bytes])
}

#[test]
fn a_torn_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.sqlite");
    fs::File::create(&path)
        .and_then(|mut file| file.write_all(b"SQLite format 3\0"))
        .expect("half a header");
    let why = refused(&path, SqliteFile::open(&path));
    assert!(why.starts_with("`FILE` is"), "{why}");
}

/// The entries of agent `a` in a file, as any command reads them; `None` if it gets an error.
fn shown(path: &Path) -> Option<Vec<EntryBytes>> {
    let mut stored = ledger(&SqliteFile::open_read_only(path).ok()?, "a");
    let ends = stored.head().ok()?.seq;
    driver::verify(&mut stored, Head::START, ends, |_| ()).ok()?;
    let mut all: Vec<EntryBytes> = Vec::new();
    loop {
        let page = stored.read(Seq(all.len() as u64), 100).ok()?;
        if page.is_empty() {
            return Some(all);
        }
        all.extend(page);
    }
}

/// SQLite does not check its own structures as it reads. A flipped bit of a key can hide all rows
/// after it, or make a row that is never found.
#[test]
fn a_flipped_bit_beside_the_text_of_an_entry_is_found_or_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, flipped) =
        (folder.path().join("sound.sqlite"), folder.path().join("flipped.sqlite"));
    drop(file_with(&path, 100));
    let whole = shown(&path).expect("it is sound");
    let sound = fs::read(&path).expect("the file");
    let mut found = 0;
    for entry in [&whole[130], whole.last().expect("one")] {
        // A long text continues on another page.
        let text = &entry.as_str().as_bytes()[..60];
        let places: Vec<usize> =
            (0..sound.len() - 60).filter(|at| &sound[*at..*at + 60] == text).collect();
        let &[at] = places.as_slice() else { panic!("once in the file, not {places:?}") };
        // The columns before the text: their lengths, the keys, and the first byte of the chain.
        for (place, bit) in
            (at - 46..=at - 32).flat_map(|place| (0..8).map(move |bit| (place, bit)))
        {
            let mut bytes = sound.clone();
            bytes[place] ^= 1 << bit;
            fs::write(&flipped, bytes).expect("it is written");
            let file = SqliteFile::open_read_only(&flipped).expect("its first page is whole");
            let examined = doctor::examine(
                &"a".into(),
                &mut ledger(&file, "a"),
                doctor::Thoroughness::Spread,
                |_| (),
            );
            drop(file);
            let is_well = examined.as_ref().is_ok_and(doctor::Examination::is_well);
            match shown(&flipped) {
                Some(entries) if entries == whole => {}
                // Without its newest entry it is the ledger of an earlier time.
                Some(entries) => {
                    assert!(!is_well, "byte {place}, bit {bit}: {} entries", entries.len());
                    assert!(entry == whole.last().expect("one") && whole.starts_with(&entries));
                }
                None => assert!(!is_well, "byte {place}, bit {bit}"),
            }
            found += usize::from(!is_well);
            for beside in ["-wal", "-shm"] {
                fs::remove_file(folder.path().join(format!("flipped.sqlite{beside}"))).ok();
            }
        }
    }
    assert!(found > 150, "{found}");
}
