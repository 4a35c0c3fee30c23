//! The targets of the fuzzer. `cargo xtask fuzz` lets libFuzzer look for bytes that panic. A test
//! replays the inputs that it has kept.
//!
//! Every input is lines of text, so that people can read the kept ones. Each target says what a
//! line means.

use std::sync::LazyLock;

use wakeful_core::{
    foreign::{Folder, Import},
    host::{Scheduler, SchedulerError},
    id::Seq,
    json,
    machine::{Machine, Options, ProposeError},
    record::{
        Class, Record,
        decision::{Boundary, DecisionKind},
        entry::{EntryBytes, seal_all},
    },
    time::Timestamp,
};
use wakeful_host::{
    clock::VirtualClock,
    engine::{Engine, EngineError, Mode},
    ledger::MemoryLedger,
    provider::Elsewhere,
    sandbox::{Guest, Limits, Plugin},
};

use crate::{paths, watched::WatchedLedger};

/// Feeds an input to the code under test; it panics if the code is wrong.
pub type Target = fn(&[u8]);

/// The targets, by name.
pub const TARGETS: [(&str, Target); 4] =
    [("facts", facts), ("foreign", foreign), ("ledger", ledger), ("exports", exports)];

const START: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// Only this many lines of an input are read: longer inputs find nothing that shorter ones do not.
const LINES: usize = 64;

fn lines(data: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(data).lines().take(LINES).map(str::to_owned).collect()
}

/// The fact decoder, the planes and the ladder. A line is a fact, or `+N` to let N milliseconds
/// pass. After each line the agent runs until it rests.
///
/// # Panics
/// If an invariant of contract 14 breaks, if the loop does not reach rest, or if the log does not
/// fold to the state.
pub fn facts(data: &[u8]) {
    let (ledger, clock) = (WatchedLedger::default(), VirtualClock::at(START));
    let mut now = START;
    let options = Options::new("a".into());
    let mut agent = Scheduler::drive(options.clone(), ledger.clone(), clock.clone(), Elsewhere)
        .expect("a fresh ledger");
    for line in lines(data) {
        if let Some(millis) = line.strip_prefix('+').and_then(|millis| millis.parse::<u32>().ok()) {
            now =
                Timestamp::from_nanos(now.as_nanos().saturating_add(i64::from(millis) * 1_000_000));
            clock.set(now);
        } else {
            match agent.propose(&line) {
                Ok(_)
                | Err(SchedulerError::Propose(
                    ProposeError::Malformed(_) | ProposeError::TooLarge { .. },
                )) => {}
                Err(why) => panic!("{line}: {why}"),
            }
        }
        agent.run_until_rest().expect("the loop reaches rest");
        assert!(agent.next_wake().is_none_or(|wake| wake >= now), "a wake is never past");
    }
    assert_eq!(ledger.breaches(), [], "no invariant breaks");
    let folded = Scheduler::observe(options, ledger.entries().clone(), clock, Elsewhere)
        .expect("what was stored can be read");
    assert!(folded.state() == agent.state(), "the log folds to the state");
}

/// The foreign reader. `=== PATH` starts a file of the folder, and its text follows.
///
/// # Panics
/// If an import cannot be explained or cannot be read again.
pub fn foreign(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut folder = Folder::new();
    for file in text.split("=== ").skip(1) {
        let (path, text) = file.split_once('\n').unwrap_or((file, ""));
        folder.insert(path.to_owned(), text.to_owned());
    }
    let Ok(import) = Import::of_folder(&folder, START) else { return };
    let options = Options::new(import.agent_id().clone());
    let ledger = MemoryLedger::default();
    let mut agent =
        Scheduler::observe(options.clone(), ledger.clone(), VirtualClock::at(START), Elsewhere)
            .expect("a fresh ledger");
    if agent.import(&folder).is_ok() {
        drop(agent.explain(Boundary::RunLoopIdle));
        drop(agent.why_not(Boundary::RunLoop, DecisionKind::StartModelTurn));
        let again = Scheduler::observe(options, ledger, VirtualClock::at(START), Elsewhere)
            .expect("what was stored can be read");
        assert!(again.state() == agent.state(), "the log folds to the state");
    }
}

/// The ledger reader. A line with `CLASS`, a tab and a record is sealed as the next entry. So the
/// fold also meets entries that only a newer or broken writer could have stored. Any other line is
/// an entry as it is stored.
///
/// # Panics
/// If the ledger cannot be explained, or if its snapshot is not the state.
pub fn ledger(data: &[u8]) {
    let options = Options::new("a".into());
    let mut machine = Machine::new(options.clone());
    for line in lines(data) {
        let loaded = match line.split_once('\t') {
            Some((class, record)) => {
                let class = Class::ALL.iter().find(|known| known.as_str() == class);
                let Some(Ok(record)) = class.map(|class| Record::decode(*class, record)) else {
                    continue;
                };
                let (_, bytes) =
                    seal_all(machine.head(), machine.state().at().max(START), vec![record]);
                bytes.iter().try_for_each(|entry| machine.load(entry))
            }
            None => machine.load(&EntryBytes::from_stored(line)),
        };
        // A damaged ledger is refused from its first bad entry on, so the entries before it are all
        // there is to check.
        if loaded.is_err() {
            break;
        }
    }
    let now = machine.state().at();
    drop(machine.explain(Boundary::RunLoop, now));
    drop(machine.why_not(Boundary::RunLoopIdle, DecisionKind::Sleep, now));
    assert!(machine.next_wake(now).is_none_or(|wake| wake >= now), "a wake is never past");
    drop(machine.summary());
    if machine.head().seq > Seq(0) && machine.state().control().agent_id == options.agent_id {
        let resumed = Machine::resume(options, &machine.snapshot()).expect("its own snapshot");
        assert!(resumed.state() == machine.state(), "a snapshot is the state");
    }
}

/// The exports of the guest. A line is a call: its name, then its argument if it takes one.
///
/// # Panics
/// If the guest traps or reaches a limit.
pub fn exports(data: &[u8]) {
    // Loading and linking the guest is slow, so a thread does it once for all of its inputs.
    thread_local! {
        static PLUGIN: Plugin<MemoryLedger, VirtualClock, Elsewhere> =
            Plugin::new(&GUEST).expect("it is linked");
    }
    static GUEST: LazyLock<Guest> = LazyLock::new(|| {
        Guest::load(&paths::guest("wakeful.component.wasm")).expect("the guest loads")
    });
    let clock = VirtualClock::at(START);
    let instance = PLUGIN.with(|plugin| {
        plugin.instance(MemoryLedger::default(), clock.clone(), Elsewhere, Limits::default())
    });
    let mut engine = instance.expect("an instance");
    for line in lines(data) {
        let (call, given) = line.split_once(' ').unwrap_or((&line, ""));
        let answered = match call {
            "drive" => options(given)
                .map_or(Ok(()), |options| engine.open(&options, Mode::Drive).map(drop)),
            "observe" => options(given)
                .map_or(Ok(()), |options| engine.open(&options, Mode::Observe).map(drop)),
            "clock" => {
                clock.set(Timestamp::from_nanos(given.parse().unwrap_or_default()));
                Ok(())
            }
            "propose" => engine.propose(given).map(drop),
            "run" => engine.run_until_rest().map(drop),
            "step" => engine.step(boundary(given)).map(drop),
            "replay" => engine.replay(given).map(drop),
            "catch-up" => engine.catch_up().map(drop),
            "explain" => engine.explain(boundary(given)).map(drop),
            "explain-at" => engine.explain_at(Boundary::RunLoop, seq(given)).map(drop),
            "why-not" => engine.why_not(Boundary::RunLoop, kind(given)).map(drop),
            "why-not-at" => {
                engine.why_not_at(Boundary::RunLoop, DecisionKind::Sleep, seq(given)).map(drop)
            }
            "state" => engine.state().map(drop),
            "state-at" => engine.state_at(seq(given)).map(drop),
            "summary" => engine.summary().map(drop),
            "snapshot" => engine.snapshot().map(drop),
            "next-wake" => engine.next_wake().map(drop),
            _ => Ok(()),
        };
        // A refused call is fine. Only an error of the guest itself is a finding.
        if let Err(EngineError::Guest(why)) = answered {
            panic!("{line}: {why}");
        }
    }
}

fn options(text: &str) -> Option<Options> {
    json::read(text).ok()
}

fn boundary(name: &str) -> Boundary {
    Boundary::ALL
        .iter()
        .copied()
        .find(|known| known.to_string() == name)
        .unwrap_or(Boundary::RunLoop)
}

fn kind(name: &str) -> DecisionKind {
    DecisionKind::named(name).unwrap_or(DecisionKind::Noop)
}

fn seq(text: &str) -> Seq {
    Seq(text.parse().unwrap_or_default())
}
