//! Hosts that lie: a ledger that returns entries it was never given, or reports appends it never
//! made; a clock that leaps; a provider that claims every task. Native core and sandbox must return
//! the same typed error, or an agent that is unharmed. In both cases the real ledger stays sound.

use std::{cell::Cell, rc::Rc};

use wakeful_core::{
    Clock, Effect, EntryBytes, ErrorCode, Head, Ledger, LedgerError, Options, Provider,
    ProviderError, Seq, TaskId, Timestamp,
};
use wakeful_host::{
    engine::{Engine, EngineError, Mode, Native},
    ledger::MemoryLedger,
    provider::Elsewhere,
    sandbox::{Guest, GuestError, Limit, Limits, Plugin},
};

use crate::shared::{product, prompt};

const START: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);

/// How a ledger answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    Reads(Reads),
    Appends(Appends),
    Snapshots(Snapshots),
}

/// What is wrong with a page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reads {
    Backwards,
    Gap,
    Twice,
    AlwaysTheFirst,
    AnotherAgents,
    AnotherHistory,
    AlteredByte,
    CutLine,
    NoJson,
    EmptyLine,
    Nul,
    Huge,
    Nothing,
    BeyondTheLimit,
}

/// What is wrong with an append.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Appends {
    SaysStored,
    StoresHalf,
    StoresAndFails,
    ConflictsAtNowhere,
}

/// What is wrong with a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Snapshots {
    Garbage,
    AnotherAgents,
    AnotherHistory,
    Altered,
    Fails,
}

/// A lying ledger over an honest one.
#[derive(Clone)]
struct Lying {
    truth: MemoryLedger,
    /// Another agent's ledger, another history of this agent, and the snapshots of all three.
    others: Rc<Others>,
    lie: Rc<Cell<Lie>>,
}

struct Others {
    agents: MemoryLedger,
    history: MemoryLedger,
    snapshots: [String; 3],
}

impl Ledger for Lying {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let failed = || LedgerError::Failed { message: "no answer".into() };
        match self.lie.get() {
            Lie::Appends(Appends::SaysStored) => Ok(()),
            Lie::Appends(Appends::StoresHalf) => {
                self.truth.append(expected, &batch[..batch.len() / 2])
            }
            Lie::Appends(Appends::StoresAndFails) => {
                self.truth.append(expected, batch).and(Err(failed()))
            }
            Lie::Appends(Appends::ConflictsAtNowhere) => {
                Err(LedgerError::Conflict { found: Seq(u64::MAX) })
            }
            _ => self.truth.append(expected, batch),
        }
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let Lie::Reads(lie) = self.lie.get() else { return self.truth.read(after, limit) };
        let mut page = self.truth.read(after, limit)?;
        if page.is_empty() {
            return Ok(page);
        }
        let hello =
            page.iter().position(|line| line.as_str().contains("hello")).unwrap_or_default();
        let mut change = |change: fn(String) -> String| {
            page[hello] = EntryBytes::from_stored(change(page[hello].as_str().to_owned()))
        };
        match lie {
            Reads::Backwards => page.reverse(),
            Reads::Gap => drop(page.remove(2)),
            Reads::Twice => page.insert(2, page[1].clone()),
            Reads::AlwaysTheFirst => return self.truth.read(Seq(0), 3),
            Reads::AnotherAgents => return self.others.agents.clone().read(after, limit),
            Reads::AnotherHistory => {
                page.truncate(3);
                page.extend(self.others.history.clone().read(Seq(3), limit)?);
            }
            Reads::AlteredByte => change(|line| line.replacen("hello", "jello", 1)),
            Reads::CutLine => change(|line| line[..line.len() / 2].to_owned()),
            Reads::NoJson => change(|_| "no JSON".to_owned()),
            Reads::EmptyLine => change(|_| String::new()),
            Reads::Nul => change(|line| line.replacen("hello", "\0", 1)),
            Reads::Huge => change(|_| format!("{{\"seq\":4,\"x\":\"{}\"}}", "x".repeat(100 << 20))),
            Reads::Nothing => page.clear(),
            Reads::BeyondTheLimit => return self.truth.read(after, u32::MAX),
        }
        Ok(page)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        let Lie::Snapshots(lie) = self.lie.get() else { return Ok(None) };
        let [truth, agents, history] = &self.others.snapshots;
        Ok(Some(match lie {
            Snapshots::Garbage => "\u{feff}[[[".to_owned(),
            Snapshots::AnotherAgents => agents.clone(),
            Snapshots::AnotherHistory => history.clone(),
            Snapshots::Altered => truth.replacen("hello", "jello", 1),
            Snapshots::Fails => return Err(LedgerError::Failed { message: "no answer".into() }),
        }))
    }
}

/// A clock whose readings are scripted.
#[derive(Clone)]
struct Leaping {
    /// The number of readings so far.
    readings: Rc<Cell<u64>>,
    reading: fn(u64) -> i64,
}

impl Leaping {
    fn new(reading: fn(u64) -> i64) -> Self {
        Self { readings: Rc::default(), reading }
    }

    fn steady() -> Self {
        Self::new(|_| START.as_nanos())
    }
}

impl Clock for Leaping {
    fn now(&mut self) -> Timestamp {
        let readings = self.readings.get();
        self.readings.set(readings + 1);
        Timestamp::from_nanos((self.reading)(readings))
    }
}

/// An agent's ledger, and its snapshot.
fn told(agent: &str, first: &str) -> (MemoryLedger, String) {
    let ledger = MemoryLedger::default();
    let mut engine = Native::new(ledger.clone(), Leaping::steady(), Elsewhere);
    engine.open(&Options::new(agent.into()), Mode::Drive).expect("a fresh ledger");
    for id in [first, "m2", "m3", "m4"] {
        engine.propose(&prompt(id)).expect("it is recorded");
    }
    let snapshot = engine.snapshot().expect("a snapshot");
    (ledger, snapshot)
}

fn lying() -> Lying {
    let (truth, snapshot) = told("a", "m1");
    let (agents, of_agents) = told("b", "m1");
    let (history, of_history) = told("a", "another");
    let others = Others { agents, history, snapshots: [snapshot, of_agents, of_history] };
    Lying { truth, others: Rc::new(others), lie: Rc::new(Cell::new(Lie::None)) }
}

/// The real ledger is sound and its agent can be driven, no matter what happened.
fn is_whole(truth: &MemoryLedger) {
    let mut engine = Native::new(truth.clone(), Leaping::steady(), Elsewhere);
    engine.open(&Options::new("a".into()), Mode::Drive).expect("it opens");
    engine.run_until_rest().expect("the agent continues");
}

/// Both engines over hosts of one kind.
fn both<C: Clock + Clone + 'static, P: Provider + Clone + 'static>(
    guest: &Guest,
    ledgers: [Lying; 2],
    clock: impl Fn() -> C,
    provider: &P,
) -> [Box<dyn Engine>; 2] {
    let [one, other] = ledgers;
    let plugin = Plugin::new(guest).expect("it is linked");
    let sandbox =
        plugin.instance(other, clock(), provider.clone(), Limits::default()).expect("an instance");
    [Box::new(Native::new(one, clock(), provider.clone())), Box::new(sandbox)]
}

fn code(why: &EngineError) -> ErrorCode {
    match why {
        EngineError::Refused(report) => report.code,
        other => panic!("not the scheduler's own error: {other}"),
    }
}

#[test]
fn a_ledger_that_gives_what_it_was_not_given_is_not_opened() {
    let guest = product();
    let lies = [
        Reads::Backwards,
        Reads::Gap,
        Reads::Twice,
        Reads::AlwaysTheFirst,
        Reads::AnotherAgents,
        Reads::AnotherHistory,
        Reads::AlteredByte,
        Reads::CutLine,
        Reads::NoJson,
        Reads::EmptyLine,
        Reads::Nul,
    ];
    for lie in lies {
        let ledgers = [lying(), lying()];
        let before = ledgers[0].truth.lines_from(0);
        let engines = both(&guest, ledgers.clone(), Leaping::steady, &Elsewhere);
        let said = engines.map(|mut engine| {
            ledgers.iter().for_each(|ledger| ledger.lie.set(Lie::Reads(lie)));
            let why = engine
                .open(&Options::new("a".into()), Mode::Drive)
                .expect_err("it cannot be opened");
            assert_eq!(code(&why), ErrorCode::CannotOpen, "{lie:?}: {why}");
            why.to_string()
        });
        assert_eq!(said[0], said[1], "{lie:?}");
        for ledger in ledgers {
            assert_eq!(ledger.truth.lines_from(0), before, "{lie:?}: nothing was appended");
            is_whole(&ledger.truth);
        }
    }
}

#[test]
fn an_entry_of_a_hundred_megabytes_reaches_a_limit_in_the_sandbox_and_is_no_entry_natively() {
    let guest = product();
    let ledgers = [lying(), lying()];
    ledgers.iter().for_each(|ledger| ledger.lie.set(Lie::Reads(Reads::Huge)));
    let [mut native, mut sandbox] = both(&guest, ledgers.clone(), Leaping::steady, &Elsewhere);
    let options = Options::new("a".into());
    assert_eq!(
        code(&native.open(&options, Mode::Drive).expect_err("no entry")),
        ErrorCode::CannotOpen
    );
    let why = sandbox.open(&options, Mode::Drive).expect_err("too long");
    assert!(
        matches!(
            &why,
            EngineError::Guest(GuestError::Breach(breach)) if breach.limit == Limit::Payload
        ),
        "{why}"
    );
    ledgers.iter().for_each(|ledger| is_whole(&ledger.truth));
}

#[test]
fn a_ledger_that_hides_its_entries_is_not_begun_again_and_a_page_beyond_its_limit_does_no_harm() {
    let guest = product();
    for (lie, opens) in [(Reads::Nothing, false), (Reads::BeyondTheLimit, true)] {
        let ledgers = [lying(), lying()];
        for mut engine in both(&guest, ledgers.clone(), Leaping::steady, &Elsewhere) {
            ledgers.iter().for_each(|ledger| ledger.lie.set(Lie::Reads(lie)));
            let opened = engine.open(&Options::new("a".into()), Mode::Drive);
            assert_eq!(
                opened.as_ref().err().map(code),
                (!opens).then_some(ErrorCode::Conflict),
                "{lie:?}"
            );
        }
        ledgers.iter().for_each(|ledger| is_whole(&ledger.truth));
    }
}

#[test]
fn an_append_that_is_not_what_it_says_is_found_by_the_next_one() {
    let guest = product();
    for lie in [
        Appends::SaysStored,
        Appends::StoresHalf,
        Appends::StoresAndFails,
        Appends::ConflictsAtNowhere,
    ] {
        let ledgers = [lying(), lying()];
        let engines = both(&guest, ledgers.clone(), Leaping::steady, &Elsewhere);
        let said = engines.map(|mut engine| {
            engine.open(&Options::new("a".into()), Mode::Drive).expect("it opens");
            ledgers.iter().for_each(|ledger| ledger.lie.set(Lie::Appends(lie)));
            let first = engine.propose(&prompt("m5")).map_err(|why| code(&why)).err();
            ledgers.iter().for_each(|ledger| ledger.lie.set(Lie::None));
            let second = engine.propose(&prompt("m6")).map_err(|why| code(&why)).err();
            let caught_up = engine.catch_up().map_err(|why| code(&why));
            (first, second, caught_up)
        });
        assert_eq!(said[0], said[1], "{lie:?}");
        let expected = match lie {
            // What it said is stored is gone.
            Appends::SaysStored | Appends::StoresHalf => {
                (None, Some(ErrorCode::Conflict), Err(ErrorCode::CannotOpen))
            }
            Appends::StoresAndFails => {
                (Some(ErrorCode::LedgerFailed), Some(ErrorCode::Conflict), Ok(2))
            }
            Appends::ConflictsAtNowhere => (Some(ErrorCode::Conflict), None, Ok(0)),
        };
        assert_eq!(said[0], expected, "{lie:?}");
        for ledger in ledgers {
            // Half a batch is a broken store. Such a ledger opens, and the doctor reports the
            // incomplete batch.
            if lie != Appends::StoresHalf {
                is_whole(&ledger.truth);
            }
        }
    }
}

#[test]
fn a_snapshot_that_lies_is_ignored_and_the_log_is_read() {
    let guest = product();
    let lies = [
        Snapshots::Garbage,
        Snapshots::AnotherAgents,
        Snapshots::AnotherHistory,
        Snapshots::Altered,
        Snapshots::Fails,
    ];
    for lie in lies {
        let ledgers = [lying(), lying()];
        let state = {
            let mut engine = Native::new(ledgers[0].truth.clone(), Leaping::steady(), Elsewhere);
            engine.open(&Options::new("a".into()), Mode::Observe).expect("it opens");
            engine.state().expect("a state")
        };
        for mut engine in both(&guest, ledgers.clone(), Leaping::steady, &Elsewhere) {
            ledgers.iter().for_each(|ledger| ledger.lie.set(Lie::Snapshots(lie)));
            engine.open(&Options::new("a".into()), Mode::Observe).expect("it opens");
            assert_eq!(engine.state().expect("a state"), state, "{lie:?}");
        }
        ledgers.iter().for_each(|ledger| is_whole(&ledger.truth));
    }
}

#[test]
fn whatever_the_clock_says_entries_do_not_go_back_in_time() {
    let guest = product();
    let clocks: [fn(u64) -> i64; 5] = [
        |readings| START.as_nanos() - readings as i64 * 3_600_000_000_000,
        |readings| if readings % 2 == 0 { START.as_nanos() } else { 0 },
        |_| i64::MIN,
        |_| i64::MAX,
        |readings| if readings % 2 == 0 { i64::MAX } else { i64::MIN },
    ];
    for clock in clocks {
        let ledgers = [lying(), lying()];
        let engines = both(&guest, ledgers.clone(), || Leaping::new(clock), &Elsewhere);
        let heads = engines.map(|mut engine| {
            engine.open(&Options::new("a".into()), Mode::Drive).expect("it opens");
            let facts = [
                prompt("m5"),
                r#"{"fact":"timer_created","timer_id":"t","duration_ms":60000}"#.to_owned(),
                r#"{"fact":"timer_created","timer_id":"u","duration_ms":18446744073709551615,"interval_ms":18446744073709551615}"#
                    .to_owned(),
                r#"{"fact":"work_item_created","work_item_id":"w","objective":"see"}"#.to_owned(),
            ];
            for fact in facts {
                engine.propose(&fact).expect("the fact is recorded");
                engine.run_until_rest().expect("it rests");
                engine.next_wake().expect("an answer");
            }
            engine.snapshot().expect("a snapshot")
        });
        assert_eq!(heads[0], heads[1]);
        for ledger in ledgers {
            let instants = ledger.truth.lines_from(0).into_iter().map(|line| {
                let entry: serde_json::Value = serde_json::from_str(&line).expect("an entry");
                Timestamp::parse(entry["at"].as_str().expect("an instant")).expect("an instant")
            });
            assert!(instants.is_sorted(), "{:?}", ledger.truth.lines_from(9));
        }
    }
}

/// A provider that fails every call with a long message, and reports all tasks alive, even unknown
/// ones.
#[derive(Clone)]
struct Boasting;

fn fails<T>() -> Result<T, ProviderError> {
    Err(ProviderError { message: "no\0\u{202e}".repeat(50_000) })
}

impl Provider for Boasting {
    fn carry_out(&mut self, _: &Effect) -> Result<(), ProviderError> {
        fails()
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        let unknown = (0..1000).map(|number| format!("unknown-{number}").as_str().into());
        Ok(active.iter().cloned().chain(active.clone()).chain(unknown).collect())
    }
}

#[test]
fn a_provider_that_boasts_and_fails_leaves_a_ledger_that_is_whole() {
    let guest = product();
    let ledgers = [lying(), lying()];
    let options = Options::new("a".into());
    for _ in 0..2 {
        let states = both(&guest, ledgers.clone(), Leaping::steady, &Boasting).map(|mut engine| {
            engine.open(&options, Mode::Drive).expect("it opens");
            engine
                .propose(r#"{"fact":"task_created","task_id":"known","task_kind":"command_task"}"#)
                .expect("it is recorded");
            engine.run_until_rest().expect("it rests");
            engine.propose(r#"{"fact":"stop_requested"}"#).expect("it is recorded");
            engine.propose(r#"{"fact":"start_requested"}"#).expect("it is recorded");
            engine.run_until_rest().expect("it rests");
            engine.state().expect("a state")
        });
        assert_eq!(states[0], states[1]);
        assert!(!states[0].contains("unknown-"), "unknown tasks are not recorded");
    }
    ledgers.iter().for_each(|ledger| is_whole(&ledger.truth));
}
