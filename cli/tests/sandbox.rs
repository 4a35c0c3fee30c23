//! The sandbox: what the host provides to a guest, and guests that are not ours.

use std::fs;

use wakeful::{provider::ScriptedProvider, trace::Tracer};
use wakeful_core::{
    machine::Options,
    story::{Command, Story},
};
use wakeful_host::{
    clock::VirtualClock,
    engine::{Engine, EngineError, Mode},
    ledger::MemoryLedger,
    sandbox::{Breach, Calls, Guest, GuestError, Limit, Limits, Sandbox},
};

use crate::program::{arg, guest, product, source, trace, wakeful};

fn heartbeat() -> Story {
    let text =
        fs::read_to_string(source("tests/fixtures/stories/heartbeat.json")).expect("the story");
    Story::read(&text).expect("the story reads")
}

/// Plays the heartbeat in a sandbox with these limits. Returns the guest's calls and the ledger.
fn play(limits: Limits) -> Result<(Calls, MemoryLedger), EngineError> {
    let guest = product();
    let story = heartbeat();
    let (ledger, clock) = (MemoryLedger::default(), VirtualClock::at(story.starts_at));
    let provider = ScriptedProvider::new(story.clone());
    let mut sandbox =
        Sandbox::new(&guest, ledger.clone(), clock.clone(), provider.clone(), limits)?;
    sandbox.open(&Options::new(story.agent_id), Mode::Drive)?;
    loop {
        match provider.next(sandbox.next_wake()?) {
            Command::Propose { fact } => drop(sandbox.propose(fact.as_str())?),
            Command::Run => drop(sandbox.run_until_rest()?),
            Command::SetClock { to } => clock.set(to),
            Command::Done => return Ok((sandbox.calls(), ledger)),
        }
    }
}

#[test]
fn the_heartbeat_calls_every_import() {
    let (calls, ledger) = play(Limits::default()).expect("the heartbeat plays");
    assert!(
        calls.append >= 1 && calls.read >= 1 && calls.now >= 1 && calls.provider >= 1,
        "{calls:?}"
    );
    assert_eq!(
        calls.provider, 4,
        "three turns are started, and the completion of the item yields one"
    );
    assert_eq!(ledger.len(), 46);
}

#[test]
fn a_guest_out_of_fuel_is_told_by_the_limits_name() {
    let why =
        play(Limits { fuel_per_call: 10_000, ..Limits::default() }).expect_err("too little fuel");
    assert!(
        matches!(
            why,
            EngineError::Guest(GuestError::Breach(Breach { limit: Limit::Fuel, most: 10_000 }))
        ),
        "{why}"
    );
    assert!(why.to_string().contains("fuel_per_call"), "{why}");
}

#[test]
fn a_guest_out_of_memory_is_stopped() {
    let why = play(Limits { memory_bytes: 1 << 16, ..Limits::default() })
        .map(|_| ())
        .expect_err("too little memory");
    assert!(
        matches!(
            why,
            EngineError::Guest(GuestError::Breach(Breach { limit: Limit::Memory, most: 65_536 }))
        ),
        "{why}"
    );
}

#[test]
fn a_file_that_is_not_wasm_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("guest.wasm");
    fs::write(&file, "this is not wasm").expect("a file");
    let ran = wakeful([
        "replay",
        "--engine",
        "wasmtime",
        "--guest",
        &arg(&file),
        &arg(&source("tests/fixtures/scheduler")),
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("guest.wasm` is not a WebAssembly component"), "{}", ran.err);
}

#[test]
fn a_guest_that_does_not_exist_is_named() {
    let ran = wakeful([
        "replay",
        "--engine",
        "wasmtime",
        "--guest",
        "no-such.wasm",
        &arg(&source("tests/fixtures/scheduler")),
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot read guest `no-such.wasm`"), "{}", ran.err);
}

#[test]
fn a_guest_with_a_foreign_import_is_refused_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("guest.wasm");
    let text = r#"(component (import "wasi:filesystem/types@0.2.0" (instance)))"#;
    fs::write(&file, wat::parse_str(text).expect("a component")).expect("a file");
    let ran = wakeful([
        "replay",
        "--engine",
        "wasmtime",
        "--guest",
        &arg(&file),
        &arg(&source("tests/fixtures/scheduler")),
    ]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("guest imports `wasi:filesystem/types@0.2.0`"), "{}", ran.err);
}

#[test]
fn a_guest_of_another_version_of_the_world_is_refused_by_its_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("guest.wasm");
    for version in ["0.1.1", "0.2.1", "0.3.0", "1.0.0"] {
        let text =
            format!(r#"(component (import "wakeful:scheduler/clock@{version}" (instance)))"#);
        fs::write(&file, wat::parse_str(text).expect("a component")).expect("a file");
        let ran = wakeful([
            "replay",
            "--engine",
            "wasmtime",
            "--guest",
            &arg(&file),
            &arg(&source("tests/fixtures/scheduler")),
        ]);
        assert_eq!(ran.code, 2);
        let said = format!(
            "guest speaks version {version} of `wakeful:scheduler`, this program speaks version \
             0.2.0: take both from one release"
        );
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
}

#[test]
fn a_guest_that_is_no_scheduler_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("guest.wasm");
    fs::write(&file, wat::parse_str("(component)").expect("a component")).expect("a file");
    let ran = wakeful([
        "replay",
        "--engine",
        "wasmtime",
        "--guest",
        &arg(&file),
        &arg(&source("tests/fixtures/scheduler")),
    ]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("does not export what `wakeful:scheduler/agent@0.2.0` does"),
        "{}",
        ran.err
    );
}

/// Runs a copy of the program outside its build folder, where it finds no guest.
fn elsewhere(environment: &[(&str, String)]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("wakeful");
    fs::copy(env!("CARGO_BIN_EXE_wakeful"), &program).expect("a copy of the program");
    let cases = source("tests/fixtures/scheduler").canonicalize().expect("the fixtures");
    let output = std::process::Command::new(&program)
        .args(["replay", "--engine", "wasmtime"])
        .arg(cases)
        .env_remove("WAKEFUL_GUEST")
        .envs(environment.iter().map(|(name, value)| (*name, value.as_str())))
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("a code"), text(output.stdout), text(output.stderr))
}

#[test]
fn without_a_guest_one_line_says_how_to_build_it() {
    let (code, out, err) = elsewhere(&[]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        err,
        "error: there is no guest: build it with `cargo xtask run`, or name one with --guest or \
         WAKEFUL_GUEST\n"
    );
}

#[test]
fn the_guest_is_found_by_the_environment() {
    let guest = guest("wakeful.component.wasm").canonicalize().expect("the guest");
    let (code, out, err) = elsewhere(&[("WAKEFUL_GUEST", arg(&guest))]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("101 cases, 0 differ"), "{out}");
}

#[test]
fn fuel_is_counted_step_by_step_and_is_the_same_on_every_run() {
    let guest = Guest::load(&guest("wakeful.component.wasm")).expect("the guest");
    let fuel = || -> Vec<u64> {
        let mut engine = Tracer::sandboxed(&guest).expect("an engine");
        let trace = trace(&source("tests/fixtures/stories/heartbeat.json"), &mut engine);
        let steps = trace["steps"].as_array().expect("steps").iter();
        steps.map(|step| step["fuel_spent"].as_u64().expect("fuel")).collect()
    };
    let first = fuel();
    assert!(first.len() > 10 && first.is_sorted_by(|one, next| one < next), "{first:?}");
    assert_eq!(fuel(), first);
}

#[cfg(target_os = "linux")]
#[test]
fn one_agent_runs_in_the_sandbox_where_there_are_addresses_for_one() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let guest = arg(&guest("wakeful.component.wasm"));
    let explained = |kilobytes: &str, engine: &str| {
        let limited = format!("ulimit -v {kilobytes}; exec \"$@\"");
        let program = env!("CARGO_BIN_EXE_wakeful");
        let output = std::process::Command::new("sh")
            .args(["-c", &limited, "sh", program, "explain", &story, "--engine", engine])
            .args(["--guest", &guest])
            .output()
            .expect("a shell starts");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{kilobytes} kB, {engine}: {err}");
        output.stdout
    };
    let free = explained("unlimited", "native");
    for kilobytes in ["16000000", "1000000"] {
        for engine in ["wasmtime", "pulley"] {
            assert_eq!(explained(kilobytes, engine), free, "{kilobytes} kB, {engine}");
        }
    }
}

#[test]
fn the_number_of_instances_is_an_option() {
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let guest = arg(&guest("wakeful.component.wasm"));
    let with = |instances: &str| {
        let args = ["explain", &story, "--engine", "winch", "--guest", &guest];
        wakeful(args.iter().chain(&["--instances", instances]))
    };
    assert_eq!((with("1").code, with("4000000000").code), (0, 0));
    assert!(with("0").err.contains("invalid value '0' for '--instances <N>'"));
}
