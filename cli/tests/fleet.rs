//! A store in PostgreSQL from the command line: each command takes its address as it takes a file.

use std::{path::Path, process::Command};

use serde_json::Value;
use wakeful_host::ledger::{PostgresStore, WorkerOptions};

use crate::{
    postgres::{Guard, Server},
    program::{arg, source, wakeful},
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
    for command in ["log", "why", "items"] {
        let (there, here) = (wakeful([command, &store]), wakeful([command, &file]));
        assert_eq!((there.code, &there.out), (0, &here.out), "{command}: {}", there.err);
    }
    // This one says how to end the wait, with the place.
    let waits = wakeful(["waits", &store]).out;
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
    assert_eq!(listed["driven_by"]["worker"], worker.id());
    let back = wakeful(["migrate", &address, &arg(&folder.path().join("a.sqlite"))]);
    assert_eq!(back.code, 2);
    assert!(back.err.contains("is driven"), "{}", back.err);
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
        &["doctor", place][..],
        &["archive", place, "--before-now"],
        &["serve", "--ledger", place],
        &["token", "list", "--ledger", place],
        &["gc", place],
        &["run", "--ledger", place, "--story", &arg(&source("docs/stories/nightly.toml"))],
    ] {
        let ran = wakeful(command.iter().copied());
        assert!(ran.code == 2 && ran.err.contains("is a store"), "{command:?}: {}", ran.err);
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
    const CERTIFICATE: &str = include_str!("server/localhost.pem");
    let password = "correct horse";
    let key = include_str!("server/localhost.key");
    let guard = Guard { password, certificate: CERTIFICATE, key };
    let server = Server::start_guarded(&guard).expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    let trusted = folder.path().join("ca.pem");
    std::fs::write(&trusted, CERTIFICATE).expect("it writes");
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
    std::fs::write(&passfile, format!("127.0.0.1:*:postgres:postgres:{password}\n")).expect("it");
    let mode = |mode| {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&passfile, mode).expect("a mode");
    };
    mode(0o644);
    is_out(ask(&encrypted, &[trust]), "with the mode 0600");
    mode(0o600);
    is_in(ask(&encrypted, &[trust]));
}
