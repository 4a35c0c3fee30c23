//! `wakeful export`: it converts folders, and overwrites nothing without `--force`.

use std::{fs, path::Path};

use wakeful::{
    case::{self, CaseKind},
    trace::Tracer,
};
use wakeful_core::{
    host::{Ledger, Scheduler},
    machine::Options,
    record::{chain::Head, entry::EntryBytes},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};

use crate::program::{arg, source, wakeful};

const RECORDED: &str = "tests/ledgers/reference/10-crash-mid-turn";

#[test]
fn a_data_folder_becomes_a_case_that_replays_as_expected_in_every_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case");
    let ran = wakeful(["export", &arg(&source(RECORDED)), "-o", &arg(&case)]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("default: 101 entries, of them 10 carried and 0 of other agents, in "),
        "{}",
        ran.out
    );
    for engine in ["native", "wasmtime"] {
        let ran = wakeful(["replay", "--engine", engine, &arg(&case)]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("as expected") && ran.out.contains("2.run_open"), "{}", ran.out);
    }
}

#[test]
fn a_data_folder_replays_without_expectations_and_says_so() {
    let ran = wakeful(["replay", &arg(&source(RECORDED))]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("nothing expected")
            && ran.out.contains("1 case, 0 differ, 1 expect nothing"),
        "{}",
        ran.out
    );
}

#[test]
fn a_story_is_exported_as_a_fixture() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = arg(&source("tests/fixtures/stories/heartbeat.json"));
    let case = folder.path().join("heartbeat");
    let ran = wakeful(["export", &story, "-o", &arg(&case)]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(case.join("ledger/turns.jsonl").is_file());
    assert_eq!(wakeful(["replay", &arg(&case)]).code, 0);
}

#[test]
fn what_a_scheduler_exports_and_imports_is_what_the_commands_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let story = source("tests/fixtures/stories/heartbeat.json");
    let (exported, imported) = (folder.path().join("exported"), folder.path().join("imported"));
    assert_eq!(wakeful(["export", &arg(&story), "-o", &arg(&exported)]).code, 0);
    assert_eq!(wakeful(["export", &arg(&exported), "-o", &arg(&imported)]).code, 0);
    let texts = |path: &Path| match case::load_one(path).expect("a fixture").kind {
        CaseKind::Fixture(folder) => folder,
        CaseKind::Story(..) => panic!("a story"),
    };

    let trace = Tracer::Native.trace(&case::load_one(&story).expect("a story")).expect("a trace");
    let lines = trace
        .steps
        .iter()
        .flat_map(|step| &step.entries)
        .map(|line| EntryBytes::from_stored(line.get().to_owned()));
    let mut ledger = MemoryLedger::default();
    ledger.append(&Head::START, &lines.collect::<Vec<_>>()).expect("a fresh ledger");
    let observe = |ledger| {
        let options = Options::new("default".into());
        let clock = VirtualClock::at(Timestamp::from_nanos(1_780_000_000_000_000_000));
        Scheduler::observe(options, ledger, clock, Elsewhere).expect("it opens")
    };
    let lived = observe(ledger).export(None).expect("the ledger is whole");
    assert_eq!(lived, texts(&exported));
    let (mut first, mut second) =
        (observe(MemoryLedger::default()), observe(MemoryLedger::default()));
    let heads = (
        first.import(&lived).expect("it reads"),
        second.import(&texts(&imported)).expect("it reads"),
    );
    assert_eq!(heads.0, heads.1);
    assert_eq!(first.export(None).expect("the ledger is whole"), texts(&imported));
}

#[test]
fn a_folder_that_is_not_empty_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path();
    let write = |name: &str, text: &str| fs::write(target.join(name), text).expect("a file");
    fs::create_dir(target.join("ledger")).expect("a folder");
    write("ledger/tasks.jsonl", "older\n");
    write("notes.txt", "mine");
    let export = |force: &[&str]| {
        let args = ["export", &arg(&source(RECORDED)), "-o", &arg(target)].map(str::to_owned);
        wakeful(args.into_iter().chain(force.iter().map(|flag| (*flag).to_owned())))
    };
    let ran = export(&[]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains(
            "is not empty: name another folder, or replace the fixture in it with --force"
        ),
        "{}",
        ran.err
    );
    assert_eq!(read(&target.join("ledger/tasks.jsonl")), "older\n");
    let ran = export(&["--force"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        !read(&target.join("ledger/tasks.jsonl")).contains("older"),
        "no line of the older ledger is left"
    );
    assert_eq!(read(&target.join("notes.txt")), "mine", "an export leaves other files alone");
}

#[test]
fn a_bad_line_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let (home, target) = (folder.path().join("home"), folder.path().join("case"));
    fs::create_dir_all(home.join(".holon/ledger")).expect("folders");
    fs::create_dir_all(home.join(".holon/state")).expect("folders");
    fs::write(home.join(".holon/state/agent.json"), r#"{"id":"a","status":"asleep"}"#)
        .expect("agent.json");
    fs::write(home.join(".holon/ledger/tasks.jsonl"), "\n{\"id\":\"t\",\"kind\":\"dance\"}\n")
        .expect("a line");
    let ran = wakeful(["export", &arg(&home), "-o", &arg(&target)]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains(".holon/ledger/tasks.jsonl:2:") && ran.err.contains("(field `kind`)"),
        "{}",
        ran.err
    );
    assert!(!target.exists());
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}
