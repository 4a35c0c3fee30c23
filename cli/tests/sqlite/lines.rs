//! Ledgers as JSON lines, as `wakeful log --json` prints them and the workbench exports them.
//! Commands that only read take them, and other commands refuse them.

use std::{fs, path::Path};

use super::agent::file_with;
use crate::program::{Ran, arg, wakeful};

/// Creates a ledger file, and the same ledger as JSON lines.
fn both(folder: &Path) -> (String, String) {
    let (file, lines) = (folder.join("agent.sqlite"), folder.join("agent.jsonl"));
    drop(file_with(&file, 3));
    fs::write(&lines, wakeful(["log", &arg(&file), "--json"]).out).expect("written");
    (arg(&file), arg(&lines))
}

/// Runs `wakeful why` on lines that `change` has changed.
fn said_of(change: impl FnOnce(&mut Vec<String>)) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, lines) = both(folder.path());
    let mut text: Vec<_> =
        fs::read_to_string(&lines).expect("lines").lines().map(str::to_owned).collect();
    change(&mut text);
    fs::write(&lines, text.join("\n")).expect("written");
    wakeful(["why", &lines])
}

#[test]
fn who_looks_at_lines_sees_what_the_file_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, lines) = both(folder.path());
    for command in [
        &["why"][..],
        &["list", "heads"],
        &["log"],
        &["log", "--json"],
        &["replay", "--edition", "2026-05-08"],
    ] {
        let [of_file, of_lines] =
            [&file, &lines].map(|path| wakeful(command.iter().copied().chain([path.as_str()])));
        assert_eq!(
            (of_lines.code, &of_lines.out),
            (of_file.code, &of_file.out),
            "{command:?}: {}",
            of_lines.err
        );
        assert!(!of_file.out.is_empty());
    }
    let doctor = wakeful(["doctor", &lines]);
    for says in [
        ", as JSON lines\n",
        "chain      intact",
        "hold after the last entry; JSON lines do not record batches",
    ] {
        assert!(doctor.out.contains(says), "{}", doctor.out);
    }
    assert_eq!(wakeful(["status", &lines]).code, 0);
    let case = arg(&folder.path().join("case"));
    assert_eq!(wakeful(["export", &lines, "-o", &case]).code, 0);
    assert_eq!(wakeful(["replay", &case]).code, 0);
}

#[test]
fn lines_that_are_no_ledger_say_where() {
    let torn = said_of(|text| {
        let last = text.last_mut().expect("a line");
        last.truncate(last.len() - 3);
    });
    assert_eq!(torn.code, 2);
    assert!(torn.err.contains("line 7: not a whole entry"), "{}", torn.err);

    let changed = said_of(|text| text[2] = text[2].replace(r#""at":"20"#, r#""at":"21"#));
    assert!(
        changed.code == 2 && changed.err.contains("entry 3 breaks the chain"),
        "{}",
        changed.err
    );

    let without_beginning = said_of(|text| drop(text.remove(0)));
    assert!(
        without_beginning.code == 2
            && without_beginning.err.contains("line 1: found entry 2, expected entry 1"),
        "{}",
        without_beginning.err
    );

    let lost = said_of(|text| drop(text.remove(3)));
    assert!(lost.code == 2 && lost.err.contains("found entry 5, expected entry 4"), "{}", lost.err);
}

#[test]
fn nothing_is_appended_to_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, lines) = both(folder.path());
    let before = fs::read(&lines).expect("lines");
    for ran in [
        wakeful(["send", "--ledger", &lines, "prompt", "more"]),
        wakeful(["archive", &lines, "--before-now"]),
        wakeful(["explain", &lines]),
    ] {
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
    }
    assert!(fs::read(&lines).expect("lines") == before);
}
