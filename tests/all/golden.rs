//! Ledgers that earlier versions wrote, below tests/ledgers. They are never written again, and
//! every later version must read them (contract 3.4).
//!
//! `UPDATE=1` adds missing ledgers to the folder of this version, and changes none that exists.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use wakeful::{scenario, trace::Tracer};
use wakeful_core::{
    host::past::DecisionFrom,
    host::{Ledger, Scheduler},
    id::Seq,
    machine::{Machine, Options},
    record::{edition::Edition, entry::EntryBytes},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};
use wakeful_tests::paths;

const START: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// The file in the folder of a version that has what this version read in its ledgers.
const READINGS: &str = "readings.json";

/// The folders, one for each version that wrote ledgers. The last is that of this version.
const VERSIONS: [&str; 2] = ["v1", "v2"];

/// A ledger, one line for each entry.
struct Golden {
    name: String,
    lines: Vec<String>,
}

fn folder(version: &str) -> PathBuf {
    paths::data("ledgers").join(version)
}

/// The ledgers that scenarios give in this version.
fn written_now() -> Vec<Golden> {
    let entries = fs::read_dir(paths::data("scenarios"))
        .expect("scenarios")
        .map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    files.sort();
    files.iter().flat_map(|path| ledgers_of(path)).collect()
}

/// The ledgers of one scenario; `fresh` starts another one.
fn ledgers_of(path: &Path) -> Vec<Golden> {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let commands =
        scenario::commands(&fs::read_to_string(path).expect("a scenario")).expect("commands");
    // A scenario that needs a second process or a ledger that fails cannot be played by one engine
    // alone.
    let Ok(played) = scenario::record(&name, &commands) else { return Vec::new() };
    let trace = Tracer::Native.perform(&played).expect("it plays");
    let mut ledgers: Vec<Golden> = Vec::new();
    for line in trace.steps.iter().flat_map(|step| &step.entries).map(|line| line.get().to_owned())
    {
        if serde_json::from_str::<Value>(&line).expect("JSON")["seq"] == 1 {
            let number = ledgers.len() + 1;
            ledgers.push(Golden {
                name: if number == 1 { name.clone() } else { format!("{name}-{number}") },
                lines: Vec::new(),
            });
        }
        ledgers.last_mut().expect("a ledger begins with its first entry").lines.push(line);
    }
    ledgers
}

/// The stored ledgers of a version.
fn kept(version: &str) -> Vec<Golden> {
    let entries = fs::read_dir(folder(version))
        .expect("the folder of a version")
        .map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    files.sort();
    let read = |path: &PathBuf| Golden {
        name: path.file_stem().expect("a name").to_string_lossy().into_owned(),
        lines: fs::read_to_string(path).expect("a ledger").lines().map(str::to_owned).collect(),
    };
    files.iter().map(read).collect()
}

/// A scheduler that observes a copy of the ledger and writes nothing.
fn observed(golden: &Golden) -> Scheduler<MemoryLedger, VirtualClock, Elsewhere> {
    let mut machine = Machine::new(Options::new("default".into()));
    let mut ledger = MemoryLedger::default();
    for (line, at) in golden.lines.iter().zip(1..) {
        let (before, entry) = (machine.head(), EntryBytes::from_stored(line.clone()));
        machine.load(&entry).unwrap_or_else(|why| panic!("{}:{at}: {why}", golden.name));
        ledger.append(&before, &[entry]).expect("the next entry");
    }
    Scheduler::observe(machine.options().clone(), ledger, VirtualClock::at(START), Elsewhere)
        .expect("the ledger opens")
}

/// What this version reads in a ledger: its head and, for each edition, the decisions at all of its
/// entries.
fn reading(golden: &Golden) -> Value {
    let mut agent = observed(golden);
    let head = agent.state().head();
    let mut decisions = |edition: &Edition| {
        let found =
            agent.decisions_in(Seq(1)..=head.seq, Some(*edition)).expect("the ledger is whole");
        let line = |from: &DecisionFrom| format!("{} {:?} {}", from.seq, from.decision, from.rule);
        (edition.to_string(), Value::from(found.iter().map(line).collect::<Vec<_>>()))
    };
    let decides: serde_json::Map<String, Value> = Edition::ALL.iter().map(&mut decisions).collect();
    json!({"head": head, "decides": decides})
}

/// What a version read in its ledgers when it wrote them.
fn read_then(version: &str) -> BTreeMap<String, Value> {
    let text =
        fs::read_to_string(folder(version).join(READINGS)).unwrap_or_else(|_| "{}".to_owned());
    serde_json::from_str(&text).expect("an object")
}

#[test]
fn ledgers_of_every_version_are_read_as_when_they_were_written() {
    if env::var_os("UPDATE").is_some() {
        add_missing();
    }
    for version in VERSIONS {
        let then = read_then(version);
        let ledgers = kept(version);
        assert!(
            ledgers.len() >= 40 && ledgers.len() == then.len(),
            "{version}: {} ledgers, {} readings",
            ledgers.len(),
            then.len()
        );
        for golden in &ledgers {
            assert_eq!(reading(golden), then[&golden.name], "{version}/{}", golden.name);
        }
    }
}

/// If no stored ledger had a class of records, no test would read it. So each class that scenarios
/// write now must be in some stored ledger.
#[test]
fn the_ledgers_of_this_version_have_every_class_of_entries_that_scenarios_write() {
    let classes = |ledgers: &[Golden]| -> BTreeSet<String> {
        let class = |line: &String| {
            serde_json::from_str::<Value>(line).expect("JSON")["class"]
                .as_str()
                .expect("a class")
                .to_owned()
        };
        ledgers.iter().flat_map(|golden| &golden.lines).map(class).collect()
    };
    let newest = VERSIONS[VERSIONS.len() - 1];
    let (now, there) = (classes(&written_now()), classes(&kept(newest)));
    assert!(now.len() >= 10, "{now:?}");
    assert!(
        now.is_subset(&there),
        "tests/ledgers/{newest} lacks {:?}",
        now.difference(&there).collect::<Vec<_>>()
    );
}

/// A ledger of an earlier version can be continued: it is driven, gets facts, and verifies as a
/// whole.
#[test]
fn a_ledger_of_an_earlier_version_goes_on() {
    for version in VERSIONS {
        for golden in &kept(version) {
            let ledger = std::mem::take(observed(golden).ledger());
            let mut agent = Scheduler::drive(
                Options::new("default".into()),
                ledger,
                VirtualClock::at(START),
                Elsewhere,
            )
            .expect("it is driven");
            let before = agent.state().head().seq;
            agent
                .propose(r#"{"fact":"policy_set","edition":"2026-05-08"}"#)
                .expect("it is recorded");
            agent
                .propose(r#"{"fact":"policy_set","edition":"2026-05-27"}"#)
                .expect("it is recorded");
            let lines = agent.ledger().lines_from(0);
            assert!(lines.len() as u64 > before.0 + 1, "{version}/{}", golden.name);
            observed(&Golden { name: golden.name.clone(), lines });
        }
    }
}

/// Writes the missing ledgers of this version, and changes none that exists.
fn add_missing() {
    let newest = folder(VERSIONS[VERSIONS.len() - 1]);
    fs::create_dir_all(&newest).expect("a folder");
    let mut then = read_then(VERSIONS[VERSIONS.len() - 1]);
    for golden in written_now() {
        let path = newest.join(format!("{}.jsonl", golden.name));
        if path.exists() {
            continue;
        }
        fs::write(&path, golden.lines.join("\n") + "\n").expect("written");
        then.insert(golden.name.clone(), reading(&golden));
    }
    let lines: Vec<String> =
        then.iter().map(|(name, reading)| format!("\"{name}\": {reading}")).collect();
    fs::write(newest.join(READINGS), format!("{{\n{}\n}}\n", lines.join(",\n"))).expect("written");
}
