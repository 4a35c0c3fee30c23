//! Compiled guests that are kept on disk: they are found again, do the same, and are kept only
//! where nobody else can write.

use std::{fs, path::Path, time::Instant};

use tempfile::TempDir;
use wakeful_core::{Boundary, Options};
use wakeful_host::{
    clock::SystemClock,
    engine::{Engine, Mode},
    ledger::MemoryLedger,
    provider::Elsewhere,
    sandbox::{Guest, GuestError, Limits, Pool, Runtime, Sandbox},
};

use crate::shared::{guest, prompt};

fn loaded(folder: &Path) -> Result<Guest, GuestError> {
    let pool = Pool { instances: 2, ..Pool::default() };
    Runtime::cached(pool, folder)?.load(&guest("wakeful.component.wasm"))
}

/// What a guest decides about a prompt.
fn decided(guest: &Guest) -> String {
    let ledger = MemoryLedger::default();
    let sandbox = Sandbox::new(guest, ledger, SystemClock, Elsewhere, Limits::default());
    let mut sandbox = sandbox.expect("an instance");
    sandbox.open(&Options::new("a".into()), Mode::Drive).expect("it opens");
    sandbox.propose(&prompt("m")).expect("a fact");
    let explained = sandbox.explain(Boundary::RunLoop).expect("an explanation");
    assert!(explained.contains("StartModelTurn"), "{explained}");
    explained.split("\"sentence\":").nth(1).expect("a sentence").to_owned()
}

#[test]
fn a_guest_that_was_compiled_before_is_read_from_the_folder() {
    let place = TempDir::new().expect("a folder");
    let folder = place.path().join("made/for/this");
    let began = Instant::now();
    let first = loaded(&folder).expect("it compiles");
    let compiling = began.elapsed();
    let began = Instant::now();
    let again = loaded(&folder).expect("it is found");
    let reading = began.elapsed();
    println!("compiled in {compiling:?}, found in {reading:?}");
    // Compiling takes seconds here, and reading milliseconds.
    assert!(reading * 4 < compiling, "{reading:?} against {compiling:?}");
    assert_eq!(decided(&first), decided(&again));
}

#[test]
#[cfg(unix)]
fn a_folder_that_others_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let place = TempDir::new().expect("a folder");
    let mode = |mode| {
        fs::set_permissions(place.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    for shared in [0o770, 0o702, 0o777] {
        mode(shared);
        let why = loaded(place.path()).err().expect("it is refused").to_string();
        assert!(why.contains("others may write to it") && why.contains("chmod go-w"), "{why}");
    }
    mode(0o755);
    let file = place.path().join("file");
    fs::write(&file, "").expect("it is written");
    let why = loaded(&file).err().expect("it is not a folder");
    assert!(matches!(why, GuestError::Cache { .. }), "{why}");
}
