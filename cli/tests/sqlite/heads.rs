//! `wakeful list heads`: kept heads find each ledger that was set back or replaced.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use serde_json::{Value, json};
use wakeful_host::ledger::SqliteFile;

use super::agent::{file_with, ledger, observed};
use crate::program::{Ran, arg, prompt, wakeful};

/// Keeps what is printed beside the file.
fn keep(path: &Path, printed: Ran) -> PathBuf {
    assert_eq!((printed.code, printed.err.as_str()), (0, ""));
    let kept = path.with_extension("heads");
    fs::write(&kept, printed.out).expect("it writes");
    kept
}

fn heads(path: &Path) -> Ran {
    wakeful(["list", "heads", &arg(path), "--json"])
}

fn against(path: &Path, kept: &Path) -> Ran {
    wakeful(["list", "heads", &arg(path), "--against", &arg(kept)])
}

/// A copy of the file as it is now, which is whole.
fn back_up(path: &Path, name: &str) -> PathBuf {
    let copy = path.with_file_name(name);
    let into = format!("VACUUM INTO '{}'", copy.display());
    Connection::open(path).and_then(|file| file.execute(&into, [])).expect("a copy");
    copy
}

fn say(path: &Path, texts: &[&str]) {
    let mut agent = observed("a", ledger(&SqliteFile::open(path).expect("it opens"), "a"));
    for text in texts {
        agent.propose(&prompt(text)).expect("it is recorded");
    }
}

#[test]
fn a_kept_head_is_found_while_the_ledger_goes_on_and_after_it_was_archived() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.sqlite");
    drop(file_with(&path, 400));
    let head = wakeful(["doctor", &arg(&path), "--json"]);
    let whole: Value = serde_json::from_str(&head.out).expect("JSON");
    let (seq, chain) = (&whole["head"]["seq"], whole["head"]["chain"].as_str().expect("a hash"));
    let printed = wakeful(["list", "heads", &arg(&path)]);
    assert_eq!((printed.code, printed.out), (0, format!("a  {seq}@{chain}\n")));
    let kept = keep(&path, heads(&path));
    // What `doctor` prints has the head too.
    let examined = folder.path().join("examined");
    fs::write(&examined, head.out).expect("it writes");

    for more in [&[][..], &["one more"]] {
        say(&path, more);
        for kept in [&kept, &examined] {
            let found = against(&path, kept);
            assert_eq!((found.code, found.err.as_str()), (0, ""));
            assert_eq!(found.out, "1 of 1 kept head found\n");
        }
    }
    assert_eq!(wakeful(["archive", &arg(&path), "--before-now"]).code, 0);
    let found = against(&path, &kept);
    assert_eq!((found.code, found.out.as_str()), (0, "1 of 1 kept head found\n"), "{}", found.err);
    fs::remove_file(folder.path().join("agent.archive.sqlite")).expect("the archive is lost");
    let found = against(&path, &kept);
    assert_eq!((found.code, found.out.as_str()), (2, "0 of 1 kept head found\n"));
    assert!(found.err.contains("agent `a`") && found.err.contains("archive"), "{}", found.err);
}

#[test]
fn a_ledger_that_was_set_back_or_replaced_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.sqlite");
    drop(file_with(&path, 3));
    let [old, other] = ["old.sqlite", "other.sqlite"].map(|name| back_up(&path, name));
    say(&path, &["a fourth"]);
    let kept = keep(&path, heads(&path));

    let found = against(&old, &kept);
    assert_eq!((found.code, found.err.as_str()), (1, ""));
    assert_eq!(
        found.out,
        "a  set back: entry 9 was kept, and the ledger ends at entry 7\n0 of 1 kept head found\n"
    );
    say(&other, &["another fourth"]);
    for more in [&[][..], &["and a fifth"]] {
        say(&other, more);
        let found = against(&other, &kept);
        assert_eq!(found.code, 1);
        let says = "a  another history: entry 9 is not the one that was kept\n";
        assert!(found.out.starts_with(says), "{}", found.out);
    }
    // A place that was set back to its beginning.
    let empty = folder.path().join("empty.sqlite");
    drop(SqliteFile::open(&empty).expect("it opens"));
    let found = against(&empty, &kept);
    assert_eq!(found.code, 1);
    assert!(found.out.starts_with("a  not here: entry 9 was kept\n"), "{}", found.out);

    let told = |path: &Path| {
        let ran = wakeful(["list", "heads", &arg(path), "--against", &arg(&kept), "--json"]);
        let told: Value = serde_json::from_str(&ran.out).expect("one line");
        json!([ran.code, told["agent_id"], told["kept"]["seq"], told["head"]["seq"], told["found"]])
    };
    assert_eq!(told(&path), json!([0, "a", 9, 9, "there"]));
    assert_eq!(told(&old), json!([1, "a", 9, 7, "set_back"]));
    assert_eq!(told(&other), json!([1, "a", 9, 11, "other_history"]));
    assert_eq!(told(&empty), json!([1, "a", 9, null, "no_agent"]));
}

#[test]
fn an_agent_that_had_moved_away_and_lives_again_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.sqlite");
    drop(file_with(&path, 3));
    let old = back_up(&path, "old.sqlite");
    let there = arg(&folder.path().join("there.sqlite"));
    assert_eq!(wakeful(["migrate", &arg(&path), &there]).code, 0);
    let listed = wakeful(["agents", &arg(&path)]);
    assert!(listed.out.contains(&format!("  goes on in `{there}`")), "{}", listed.out);
    let kept = keep(&path, heads(&path));
    assert_eq!(against(&path, &kept).code, 0);
    let found = against(&old, &kept);
    assert!(found.code == 1 && found.out.starts_with("a  lives here again: "), "{}", found.out);
}

#[test]
fn heads_that_cannot_be_read_say_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("agent.sqlite");
    drop(file_with(&path, 1));
    let kept = keep(&path, heads(&path));
    let line = fs::read_to_string(&kept).expect("a line");
    let refused = |text: &str| {
        fs::write(&kept, text).expect("it writes");
        let ran = against(&path, &kept);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text}");
        ran.err
    };
    let torn = refused(&format!("{line}\n{}", &line[..line.len() - 9]));
    assert!(torn.contains("agent.heads`: ") && torn.contains("line 3 column"), "{torn}");
    assert!(torn.contains("what `wakeful list heads --json` prints"), "{torn}");
    let odd = refused(&line.replacen("\"chain\":\"", "\"chain\":\"x", 1));
    assert!(odd.contains("at `head.chain`, line 1 ") && odd.contains("hexadecimal"), "{odd}");
    // Otherwise nothing would be compared, and all be well.
    assert!(refused("\n").contains("has no heads"));
    let missing = against(&path, &folder.path().join("missing"));
    assert!(missing.code == 2 && missing.err.contains("missing"), "{}", missing.err);
}
