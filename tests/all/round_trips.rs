//! Import, export, import (contract 3.7): the second ledger says what the first said, and both
//! exports are equal byte for byte. The `expected.json` of an export holds for its folder, wherever
//! the ledger was cut.

use std::{num::NonZeroU64, path::PathBuf};

use wakeful::{
    case::{self, Case, CaseKind},
    trace::Tracer,
};
use wakeful_core::{
    explain::Explanation,
    foreign::{Folder, Import, expected::Expected},
    host::{ErrorCode, Ledger, Scheduler},
    id::Seq,
    machine::{Machine, Options},
    record::{decision::Boundary, edition::Edition, entry::EntryBytes, policy::Policy},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};
use wakeful_tests::paths;

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// A folder imported into a fresh ledger: the entries, and the explanation of the state.
fn imported(folder: &Folder) -> (Vec<EntryBytes>, Explanation) {
    let import = Import::of_folder(folder, NOW).expect("the folder reads");
    let mut machine = Machine::new(Options::new(import.agent_id().clone()));
    let mut entries = machine.begin(NOW).expect("a fresh ledger").expect("a first entry").batch;
    machine.committed();
    entries.extend(machine.import(import, NOW).expect("an import").batch);
    machine.committed();
    (entries, machine.explain(Boundary::RunLoopIdle, NOW))
}

fn exported(entries: &[EntryBytes]) -> Folder {
    wakeful_core::host::folder_of(entries).expect("the ledger is whole")
}

fn folder_of(case: &Case) -> &Folder {
    let CaseKind::Fixture(folder) = &case.kind else { panic!("{} is a story", case.name) };
    folder
}

/// Every fixture, and every recorded data folder that this tree has.
fn folders() -> Vec<Case> {
    let mut cases =
        case::load_all(&[paths::data("fixtures/scheduler")]).expect("the fixtures load");
    let shared = paths::root().join("../shared/conformance/ledgers");
    let recorded = if shared.is_dir() { shared } else { paths::data("ledgers/reference") };
    let below = std::fs::read_dir(&recorded)
        .expect("the recorded folders")
        .map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = below.filter(|path| path.is_dir()).collect();
    paths.sort();
    cases.extend(paths.iter().map(|path| case::load_one(path).expect("a data folder")));
    assert!(
        cases.len() >= 20,
        "the fixtures and at least four recorded folders, found {}",
        cases.len()
    );
    cases
}

/// What was found, without the key of a hint: a hint of the short form has no time, and that of an
/// export has one (contract 8.4).
fn without_hint_keys(found: &Explanation) -> Expected {
    let mut found = Expected::from_explanation(found);
    found.evidence.iter_mut().for_each(|evidence| {
        evidence.retain(|said| !said.starts_with("idempotency_key=wake_hint:"))
    });
    found
}

#[test]
fn what_was_imported_is_exported_and_imported_again_unchanged() {
    for case in folders() {
        let (entries, first) = imported(folder_of(&case));
        let export = exported(&entries);
        let (again, second) = imported(&export);
        assert_eq!(without_hint_keys(&second), without_hint_keys(&first), "{}", case.name);
        assert_eq!(second.closure, first.closure, "{}", case.name);
        assert_eq!(second.status, first.status, "{}", case.name);
        assert_eq!(
            Expected::of_fixture(&export).expect("expected.json reads"),
            Expected::from_explanation(&second),
            "{}",
            case.name
        );
        assert_eq!(exported(&again), export, "{}", case.name);
    }
}

/// The classes that the scheduler does not read are exported as they were imported, line by line.
#[test]
fn carried_lines_come_out_as_they_went_in() {
    const CARRIED: [&str; 3] = ["transcript", "workspaces", "working_memory_deltas"];
    let case =
        case::load_one(&paths::data("ledgers/reference/03-two-items")).expect("a data folder");
    let folder = folder_of(&case);
    let export = exported(&imported(folder).0);
    for class in CARRIED {
        let (given, written) = (
            &folder[&format!(".holon/ledger/{class}.jsonl")],
            &export[&format!("ledger/{class}.jsonl")],
        );
        assert_eq!(written, given, "{class}");
    }
}

/// contract 15.1: the address of a trigger holds its token, so only its hash goes in. All else
/// comes out as it went in.
#[test]
fn a_trigger_comes_out_without_its_address() {
    let case =
        case::load_one(&paths::data("ledgers/reference/03-two-items")).expect("a data folder");
    let folder = folder_of(&case);
    let (entries, _) = imported(folder);
    let read = |text: &str| -> serde_json::Map<String, serde_json::Value> {
        serde_json::from_str(text).expect("an object")
    };
    let mut given = read(&folder[".holon/ledger/external_triggers.jsonl"]);
    let url = given.remove("trigger_url").expect("an address");
    let address = url.as_str().expect("a text");
    let written = read(&exported(&entries)["ledger/external_triggers.jsonl"]);
    assert_eq!(written, given);
    let token = address.rsplit('/').next().expect("a token");
    assert!(token.len() > 20 && entries.iter().all(|entry| !entry.as_str().contains(token)));
}

#[test]
fn an_exported_story_decides_as_its_ledger() {
    let stories = case::load_all(&[paths::data("fixtures/stories")]).expect("the stories load");
    for case in &stories {
        let trace = Tracer::Native.trace(case).expect("a trace");
        let lines = trace.steps.iter().flat_map(|step| &step.entries);
        let entries: Vec<_> =
            lines.map(|line| EntryBytes::from_stored(line.get().to_owned())).collect();
        let mut agent = observer(&entries);
        let export = agent.export(None).expect("the ledger is whole");
        assert_eq!(export, exported(&entries), "{}", case.name);
        let lived = agent.explain(Boundary::RunLoopIdle);
        assert_eq!(
            Expected::from_explanation(&imported(&export).1),
            Expected::from_explanation(&lived),
            "{}",
            case.name
        );
    }
}

/// An observer of a ledger with these entries.
fn observer(entries: &[EntryBytes]) -> Scheduler<MemoryLedger, VirtualClock, Elsewhere> {
    let mut machine = Machine::new(Options::new("default".into()));
    let mut ledger = MemoryLedger::default();
    for entry in entries {
        let before = machine.head();
        machine.load(entry).expect("an entry");
        ledger.append(&before, std::slice::from_ref(entry)).expect("the next entry");
    }
    Scheduler::observe(machine.options().clone(), ledger, VirtualClock::at(NOW), Elsewhere)
        .expect("the ledger opens")
}

#[test]
fn a_ledger_that_is_cut_anywhere_is_exported_as_what_its_folder_replays_as() {
    let stories = case::load_all(&[paths::data("fixtures/stories")]).expect("the stories load");
    let mut differ = 0;
    for case in &stories {
        let trace = Tracer::Native.trace(case).expect("a trace");
        let lines = trace.steps.iter().flat_map(|step| &step.entries);
        let entries: Vec<_> =
            lines.map(|line| EntryBytes::from_stored(line.get().to_owned())).collect();
        let mut agent = observer(&entries);
        for (last, _) in (1..).zip(&entries) {
            let export = agent.export(Some(Seq(last))).expect("the ledger is whole");
            let replay = observer(&[]).replay(&export).expect("the folder reads");
            assert_eq!(Some(&replay.found), replay.expected.as_ref(), "{} up to {last}", case.name);
            let then = agent.at(Seq(last)).expect("an entry");
            differ += u64::from(
                Expected::from_explanation(&then.explain(Boundary::RunLoopIdle, then.state().at()))
                    != replay.found,
            );
        }
    }
    assert!(differ > 0, "some key has an epoch that only a driver knows");
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let mut agent = observer(&[]);
    for seq in [0, 2] {
        let why = agent.export(Some(Seq(seq))).expect_err("no such entry").report();
        assert_eq!(why.code, ErrorCode::NoSuchEntry);
    }
    let only_begun = agent.export(Some(Seq(1))).expect("its first entry");
    assert_eq!(only_begun.keys().collect::<Vec<_>>(), ["agent.json", "expected.json"]);
}

#[test]
fn the_folder_has_the_edition_and_policy_of_the_ledger_if_they_are_not_the_defaults() {
    let plain = Options::new("default".into());
    let policy = Policy { hint_ids: NonZeroU64::MIN, ..Policy::default() };
    let editions = [Edition::default(), Edition::Rfc20260508];
    for (edition, policy) in editions
        .into_iter()
        .flat_map(|edition| [(edition, Policy::default()), (edition, policy.clone())])
    {
        let is_plain = (edition, &policy) == (plain.edition, &plain.policy);
        let mut machine =
            Machine::new(Options { edition, policy: policy.clone(), ..plain.clone() });
        let began = machine.begin(NOW).expect("a fresh ledger").expect("a first entry").batch;
        let folder = exported(&began);
        assert_eq!(folder.get("ledger/control.jsonl").is_none(), is_plain, "{edition}");
        let mut again = Machine::new(plain.clone());
        again.begin(NOW).expect("a fresh ledger");
        again.committed();
        again
            .import(Import::of_folder(&folder, NOW).expect("the folder reads"), NOW)
            .expect("an import");
        again.committed();
        assert_eq!(
            (again.state().control().edition, &again.state().control().policy),
            (edition, &policy)
        );
    }
}
