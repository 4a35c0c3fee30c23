//! A store in PostgreSQL from the command line: each command takes its address as it takes a file.

mod servers;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::Value;
use wakeful_host::ledger::{PostgresStore, WorkerOptions};

use crate::{
    postgres::{Guard, Server},
    program::{arg, command, source, wakeful},
};

/// A file with an agent that waits, moved into a store.
fn moved(server: &Server, folder: &Path) -> String {
    let store = server.address("wakeful").shown().to_owned();
    let file = arg(&folder.join("a.sqlite"));
    let story = arg(&source("docs/stories/nightly.toml"));
    let run = [
        "run",
        "--ledger",
        &file,
        "--agent",
        "night",
        "--story",
        &story,
        "--virtual",
        "--until-rest",
    ];
    assert_eq!(wakeful(run).code, 0);
    let done = wakeful(["migrate", &file, &store, "--json"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let done: Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!((&done["agent_id"], &done["copied"]), (&"night".into(), &done["head"]["seq"]));
    store
}

#[test]
fn commands_read_a_store_as_they_read_a_file() {
    let server = Server::start().expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let store = moved(&server, folder.path());
    let file = arg(&folder.path().join("a.sqlite"));
    for words in ["log", "why", "list items"] {
        let (there, here) = (command(words, &[&store]), command(words, &[&file]));
        assert_eq!((there.code, &there.out), (0, &here.out), "{words}: {}", there.err);
    }
    // This one says how to end the wait, with the place.
    let waits = wakeful(["list", "waits", &store]).out;
    assert!(waits.contains("wakeful send --ledger") && waits.contains("postgres://"), "{waits}");
    let listed = wakeful(["agents", &store]);
    assert!(listed.out.contains("waiting for task"), "{}", listed.out);
    let status = wakeful(["status", &store, "--agent", "night"]);
    assert!(status.out.contains("awaiting task"), "{}", status.out);
    let none = wakeful(["status", &store, "--agent", "day"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("`night`"), "{}", none.err);
}

#[test]
fn what_is_said_to_an_agent_goes_into_its_ledger_or_to_the_worker_that_drives_it() {
    let server = Server::start().expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let address = moved(&server, folder.path());
    let send = |text: &str| wakeful(["send", "--ledger", &address, "prompt", text]);
    let said = send("hello");
    assert!(said.code == 0 && said.out.contains("accepted"), "{} {}", said.out, said.err);
    let store = PostgresStore::open(&server.address("wakeful")).expect("a store");
    let worker = store.join(&WorkerOptions::default()).expect("a worker");
    let claim = worker.claim(&"night".into()).expect("a claim");
    let said = send("and again");
    assert!(said.code == 0 && said.out.contains("stored"), "{} {}", said.out, said.err);
    let arrived = claim.arrived(9).expect("facts");
    assert!(arrived[0].fact.contains("and again"), "{arrived:?}");
    let listed = wakeful(["agents", &address, "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(listed["driven_by"]["worker"], *worker.id());
    let back = wakeful(["migrate", &address, &arg(&folder.path().join("a.sqlite"))]);
    assert_eq!(back.code, 2);
    assert!(back.err.contains("is driven"), "{}", back.err);
}

#[test]
fn an_agent_runs_in_a_store_and_is_given_back_when_it_rests() {
    let server = Server::start().expect("a server");
    let address = server.address("wakeful").shown().to_owned();
    let folder = tempfile::tempdir().expect("a folder");
    let story = folder.path().join("story.toml");
    let text = "story = \"hello\"\nshows = \"A turn.\"\nagent_id = \"ada\"\n\
                starts_at = 2026-01-01T00:00:00Z\n\n[[script]]\nprompt = \"hello\"\n";
    std::fs::write(&story, text).expect("it writes");
    let run = ["run", "--store", &address, "--story", &arg(&story), "--until-rest"];
    let ran = wakeful(run);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    let store = PostgresStore::open(&server.address("wakeful")).expect("a store");
    assert_eq!(store.driver(&"ada".into()).expect("it reads"), None);
    assert!(store.workers().expect("they").is_empty());
    let ledger = wakeful(["log", &address, "--json"]).out;
    assert!(ledger.contains("hello"), "{ledger}");
    // What came meanwhile through another process is heard by the next run.
    let worker = store.join(&WorkerOptions::default()).expect("a worker");
    let claim = worker.claim(&"ada".into()).expect("a claim");
    let said = wakeful(["send", "--ledger", &address, "prompt", "and again"]);
    assert!(said.out.contains("stored"), "{} {}", said.out, said.err);
    let driven = wakeful(run);
    assert!(driven.code == 2 && driven.err.contains("is driven"), "{}", driven.err);
    claim.hand_over().expect("it is given back");
    let ran = wakeful(run);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    assert!(wakeful(["log", &address, "--json"]).out.contains("and again"));
    let ran = wakeful([&run[..], &["--virtual"]].concat());
    assert!(ran.code == 2 && ran.err.contains("--virtual is for ledger files"), "{}", ran.err);
}

#[test]
fn a_store_is_examined_and_its_old_entries_move_aside() {
    let server = Server::start().expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let address = moved(&server, folder.path());
    let whole = wakeful(["log", &address, "--json"]).out;
    let examined = wakeful(["doctor", &address]);
    assert_eq!(examined.code, 0, "{}", examined.out);
    assert!(examined.out.contains("intact, head"), "{}", examined.out);
    let archived = wakeful(["archive", &address, "--before-snapshot"]);
    assert!(archived.code == 2 && archived.err.contains("no snapshot"), "{}", archived.err);
    let archived = wakeful(["archive", &address, "--before-now", "--to", "a.sqlite"]);
    assert!(archived.code == 2 && archived.err.contains("--to is for ledger files"));
    let archived = wakeful(["archive", &address, "--before-now", "--json"]);
    assert_eq!(archived.code, 0, "{}", archived.err);
    let told: Value = serde_json::from_str(&archived.out).expect("JSON");
    assert_eq!(told["archive"], "archived");
    let moved = told["moved"].as_u64().expect("a number");
    assert!(moved > 9 && told["anchor"]["seq"] == moved, "{told}");
    // Every command reads what it read before.
    assert_eq!(wakeful(["log", &address, "--json"]).out, whole);
    let examined = wakeful(["doctor", &address, "--thorough"]);
    assert!(examined.code == 0 && examined.out.contains("equal to the log"), "{}", examined.out);
    let again = wakeful(["archive", &address, "--before-snapshot"]);
    assert!(again.code == 0 && again.out.contains("nothing to move"), "{}", again.out);
    let back = wakeful(["migrate", &address, &arg(&folder.path().join("b.sqlite"))]);
    assert_eq!(back.code, 0, "{}", back.err);
    assert_eq!(wakeful(["log", &arg(&folder.path().join("b.sqlite")), "--json"]).out, whole);
    let home = arg(&folder.path().join("home"));
    let left = wakeful(["list", "leftovers", &address, "--home", &home]);
    assert!(left.code == 0 && left.out.contains("nothing to remove"), "{} {}", left.out, left.err);
    assert!(wakeful(["list", "leftovers", &address]).err.contains("--home"));
}

#[test]
fn a_store_that_was_restored_is_told_by_heads_that_were_kept() {
    let server = Server::start().expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let store = moved(&server, folder.path());
    let restored = store.replace("/postgres?", "/restored?");
    server.execute("CREATE DATABASE restored TEMPLATE postgres").expect("a backup");
    assert_eq!(wakeful(["list", "heads", &store]).out, wakeful(["list", "heads", &restored]).out);
    let before = folder.path().join("before.jsonl");
    fs::write(&before, wakeful(["list", "heads", &store, "--json"]).out).expect("it writes");
    assert_eq!(wakeful(["send", "--ledger", &store, "prompt", "hello"]).code, 0);
    let after = folder.path().join("after.jsonl");
    fs::write(&after, wakeful(["list", "heads", &store, "--json"]).out).expect("it writes");
    // Also when old entries have moved aside.
    assert_eq!(wakeful(["archive", &store, "--before-now"]).code, 0);
    for (place, kept, code) in
        [(&store, &before, 0), (&store, &after, 0), (&restored, &before, 0), (&restored, &after, 1)]
    {
        let found = wakeful(["list", "heads", place, "--against", &arg(kept)]);
        assert_eq!(found.code, code, "{} {}", found.out, found.err);
        assert_eq!(found.out.contains("night  set back: entry "), code == 1, "{}", found.out);
    }
}

#[test]
fn an_address_that_leads_nowhere_is_told_at_once_and_no_password_is_shown() {
    let place = "postgres://me@127.0.0.1:1/fleet";
    let ran = wakeful(["agents", place]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot be reached"), "{}", ran.err);
    let ran = wakeful(["agents", "postgres://me:hunter2@127.0.0.1:1/fleet"]);
    assert!(ran.err.contains("PGPASSWORD") && !ran.err.contains("hunter2"), "{}", ran.err);
    for command in [
        &["serve", "--store", place][..],
        &["token", "list", "--store", place],
        &["doctor", place],
        &["archive", place, "--before-now"],
        &["list", "leftovers", place, "--home", "home"],
        &["run", "--ledger", place, "--story", &arg(&source("docs/stories/nightly.toml"))],
    ] {
        let ran = wakeful(command.iter().copied());
        assert!(ran.code == 2 && ran.err.contains("cannot be reached"), "{command:?}: {}", ran.err);
    }
    // A password of the environment is used, and is not in an error either.
    let ran = Command::new(env!("CARGO_BIN_EXE_wakeful"))
        .args(["agents", place])
        .env("PGPASSWORD", "hunter2")
        .output()
        .expect("it runs");
    assert!(!String::from_utf8_lossy(&ran.stderr).contains("hunter2"));
}

#[test]
fn a_guarded_server_is_reached_with_its_password_over_tls() {
    const CERTIFICATE: &str = include_str!("../server/localhost.pem");
    let password = "correct horse";
    let key = include_str!("../server/localhost.key");
    let guard = Guard { password, certificate: CERTIFICATE, key };
    let server = Server::start_guarded(&guard).expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let trusted = folder.path().join("ca.pem");
    fs::write(&trusted, CERTIFICATE).expect("it writes");
    let plain = server.address("wakeful").shown().to_owned();
    let encrypted = format!("{plain}&sslmode=require");
    let ask = |address: &str, variables: &[(&str, &str)]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_wakeful"))
            .args(["agents", address])
            .env_remove("PGPASSWORD")
            .env("HOME", folder.path())
            .envs(variables.iter().copied())
            .output()
            .expect("it runs");
        (ran.status.code(), String::from_utf8(ran.stderr).expect("UTF-8"))
    };
    // A schema without a store is the answer of a server that lets one in.
    let is_in = |(code, said): (Option<i32>, String)| {
        assert_eq!(code, Some(2));
        assert!(said.contains("there is no store"), "{said}");
    };
    let is_out = |(code, said): (Option<i32>, String), why: &str| {
        assert_eq!(code, Some(2));
        assert!(said.contains(why) && !said.contains(password), "{said}");
    };
    is_out(ask(&plain, &[]), "does not let this user in");
    is_out(ask(&plain, &[("PGPASSWORD", "wrong")]), "does not let this user in");
    is_in(ask(&plain, &[("PGPASSWORD", password)]));
    is_out(ask(&encrypted, &[("PGPASSWORD", password)]), "no encrypted connection");
    let trust = ("PGSSLROOTCERT", trusted.to_str().expect("text"));
    is_in(ask(&encrypted, &[("PGPASSWORD", password), trust]));
    let passfile = folder.path().join(".pgpass");
    fs::write(&passfile, format!("127.0.0.1:*:postgres:postgres:{password}\n")).expect("it");
    let mode = |mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(&passfile, mode).expect("a mode");
    };
    mode(0o644);
    is_out(ask(&encrypted, &[trust]), "with the mode 0600");
    mode(0o600);
    is_in(ask(&encrypted, &[trust]));
}
