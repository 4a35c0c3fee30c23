//! The guest of the world that this host runs does what the native core does. Guests of any other
//! version are refused before any of them runs.

use std::{cell::Cell, rc::Rc};

use wakeful_core::{
    Boundary, Clock, DecisionKind, Effect, EntryBytes, ErrorCode, ErrorReport, Head, Ledger,
    LedgerError, Options, Provider, ProviderError, Seq, Timestamp,
};
use wakeful_host::{
    engine::{Engine, EngineError, Mode, Native},
    ledger::MemoryLedger,
    sandbox::{Guest, GuestError, Limit, Limits, Pool, Runtime, Sandbox, WORLD_VERSION},
};

use crate::shared::{product, prompt};

/// 2026-05-27T09:00:00Z in seconds.
const START: i64 = 1_779_872_400;

/// A clock that shows what its test sets.
#[derive(Clone)]
struct Shown(Rc<Cell<i64>>);

impl Shown {
    fn nanos(nanos: i64) -> Self {
        Self(Rc::new(Cell::new(nanos)))
    }
}

impl Clock for Shown {
    fn now(&mut self) -> Timestamp {
        Timestamp::from_nanos(self.0.get())
    }
}

/// A ledger that fails on demand.
#[derive(Clone, Default)]
struct Store {
    log: MemoryLedger,
    fails: Rc<Cell<bool>>,
}

impl Ledger for Store {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        if self.fails.get() {
            return Err(LedgerError::Failed { message: "the disk is full".into() });
        }
        self.log.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.log.read(after, limit)
    }
}

/// A provider that cannot start a turn.
#[derive(Clone)]
struct Unable;

impl Provider for Unable {
    fn carry_out(&mut self, _: &Effect) -> Result<(), ProviderError> {
        Err(ProviderError { message: "there is no model".into() })
    }
}

fn sandbox(guest: &Guest, store: &Store, clock: &Shown) -> Sandbox<Store, Shown, Unable> {
    Sandbox::new(guest, store.clone(), clock.clone(), Unable, Limits::default())
        .expect("an instance")
}

fn options() -> Options {
    Options::new("a".into())
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, EngineError>) -> ErrorReport {
    match answer {
        Err(EngineError::Refused(report)) => report,
        other => panic!("not refused by the scheduler: {other:?}"),
    }
}

/// Every call of an engine, with its answer.
fn lived(engine: &mut dyn Engine, store: &Store) -> Vec<Result<String, ErrorReport>> {
    let mut answers = Vec::new();
    let mut say = |answer: Result<String, EngineError>| match answer {
        Err(why) => answers.push(Err(refusal::<String>(Err(why)))),
        Ok(text) => answers.push(Ok(text)),
    };
    say(engine.propose(&prompt("m0")));
    say(engine.open(&options(), Mode::Drive));
    say(engine.propose(&prompt("m1")));
    // The provider fails, and the scheduler records it.
    say(engine.run_until_rest());
    say(engine.propose(r#"{"fact":"timer_created","timer_id":"t","duration_ms":60000}"#));
    say(engine.propose("no fact"));
    say(engine.step(Boundary::RunLoop));
    store.fails.set(true);
    say(engine.propose(&prompt("m2")));
    store.fails.set(false);
    say(engine.propose(&prompt("m2")));
    say(engine.explain(Boundary::RunLoopIdle));
    say(engine.explain_at(Boundary::RunLoopIdle, Seq(4)));
    say(engine.why_not(Boundary::RunLoopIdle, DecisionKind::Sleep));
    say(engine.why_not_at(Boundary::RunLoopIdle, DecisionKind::Sleep, Seq(4)));
    say(engine.summary());
    say(engine.state());
    say(engine.state_at(Seq(3)));
    say(engine.state_at(Seq(3_000)));
    say(engine.snapshot());
    say(engine.catch_up().map(|count| count.to_string()));
    say(engine.next_wake().map(|at| format!("{at:?}")));
    say(engine.schema_version());
    say(engine.replay("{}"));
    answers
}

#[test]
fn the_guest_does_what_the_native_core_does() {
    let clock = Shown::nanos(START * 1_000_000_000);
    let own = Store::default();
    let mut native = Native::new(own.clone(), clock.clone(), Unable);
    let expected = lived(&mut native, &own);
    let codes: Vec<ErrorCode> =
        expected.iter().filter_map(|answer| answer.as_ref().err()).map(|why| why.code).collect();
    assert_eq!(
        codes,
        [
            ErrorCode::WrongState,
            ErrorCode::Malformed,
            ErrorCode::LedgerFailed,
            ErrorCode::NoSuchEntry,
            ErrorCode::Malformed
        ]
    );
    assert!(own.log.lines_from(0).iter().any(|line| line.contains("there is no model")));
    let store = Store::default();
    let mut engine = sandbox(&product(), &store, &clock);
    let answers = lived(&mut engine, &store);
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(answer, expected);
    }
    assert_eq!(store.log.lines_from(0), own.log.lines_from(0), "the same head");
    assert!(engine.calls().provider > 0 && engine.fuel() > 0);
}

#[test]
fn a_guest_is_stopped_at_its_limits_and_its_ledger_goes_on() {
    let clock = Shown::nanos(START * 1_000_000_000);
    let guest = product();
    let store = Store::default();
    sandbox(&guest, &store, &clock).open(&options(), Mode::Drive).expect("it opens");
    let small = |limits: Limits| {
        Sandbox::new(&guest, store.clone(), clock.clone(), Unable, limits).expect("an instance")
    };
    for (limits, limit) in [
        (Limits { fuel_per_call: 100_000, fuel_per_page: 0, ..Limits::default() }, Limit::Fuel),
        (Limits { host_calls: 1, ..Limits::default() }, Limit::HostCalls),
        (Limits { append_bytes: 10, ..Limits::default() }, Limit::Appended),
    ] {
        let mut engine = small(limits);
        let why = engine.open(&options(), Mode::Drive).expect_err("a limit");
        let EngineError::Guest(GuestError::Breach(breach)) = &why else { panic!("{why}") };
        assert_eq!(breach.limit, limit);
        let why = engine.propose(&prompt("m")).expect_err("the instance is gone");
        assert!(matches!(why, EngineError::Guest(GuestError::Gone)), "{why}");
    }
    let mut engine = sandbox(&guest, &store, &clock);
    engine.open(&options(), Mode::Drive).expect("another instance goes on");
    engine.propose(&prompt("m1")).expect("a fact");
    // The pages of a long ledger bring fuel.
    for number in 0..60 {
        engine.propose(&prompt(&format!("long{number}"))).expect("a fact");
    }
    let little = Limits { fuel_per_call: 1_000_000, ..Limits::default() };
    small(little).open(&options(), Mode::Observe).expect("a page brings fuel");
    small(Limits { fuel_per_page: 0, ..little })
        .open(&options(), Mode::Observe)
        .expect_err("without it the fuel is too little");
}

#[test]
fn a_clock_in_another_unit_is_a_misuse_that_changes_nothing() {
    let message = |answer: i64, instant: &str, unit: &str| {
        format!(
            "the clock answered {answer}, which is {instant}: answer nanoseconds since \
             1970-01-01T00:00:00Z{unit}"
        )
    };
    let wrong = [
        (0, message(0, "1970-01-01T00:00:00Z", "")),
        (START, message(START, "1970-01-01T00:00:01.779872400Z", "; this looks like seconds")),
        (
            START * 1_000,
            message(START * 1_000, "1970-01-01T00:29:39.872400Z", "; this looks like milliseconds"),
        ),
        (
            START * 1_000_000,
            message(
                START * 1_000_000,
                "1970-01-21T14:24:32.400Z",
                "; this looks like microseconds",
            ),
        ),
        (i64::MAX, message(i64::MAX, "2262-04-11T23:47:16.854775807Z", "")),
    ];
    let guest = product();
    for mode in [Mode::Drive, Mode::Observe] {
        for (answer, message) in &wrong {
            let clock = Shown::nanos(*answer);
            let stores = [Store::default(), Store::default()];
            let engines: [Box<dyn Engine>; 2] = [
                Box::new(Native::new(stores[0].clone(), clock.clone(), Unable)),
                Box::new(sandbox(&guest, &stores[1], &clock)),
            ];
            for mut engine in engines {
                let why = refusal(engine.open(&options(), mode));
                assert_eq!((why.code, &why.message), (ErrorCode::Misuse, message));
            }
            assert!(stores.iter().all(|store| store.log.is_empty()));
        }
    }
}

#[test]
fn a_clock_that_changes_its_unit_is_refused_until_it_is_right_again() {
    let guest = product();
    let clock = Shown::nanos(START * 1_000_000_000);
    let store = Store::default();
    let mut engine = sandbox(&guest, &store, &clock);
    engine.open(&options(), Mode::Drive).expect("it opens");
    let before = store.log.lines_from(0);
    clock.0.set(START * 1_000 + 5_000);
    refusal(engine.propose(&prompt("m1")));
    refusal(engine.propose(r#"{"fact":"clock_corrected"}"#));
    refusal(engine.step(Boundary::RunLoop));
    refusal(engine.run_until_rest());
    refusal(sandbox(&guest, &store, &clock).open(&options(), Mode::Drive));
    assert_eq!(store.log.lines_from(0), before);
    // What only reads is answered.
    sandbox(&guest, &store, &clock).open(&options(), Mode::Observe).expect("it opens");
    engine.explain(Boundary::RunLoop).expect("an explanation");
    clock.0.set(START * 1_000_000_000 + 1);
    engine.propose(&prompt("m1")).expect("the fact is recorded");
}

fn component(text: &str) -> Result<Guest, GuestError> {
    let runtime = Runtime::new(Pool { instances: 1, ..Pool::default() }).expect("a runtime");
    runtime.compile(&wat::parse_str(text).expect("a component"), "a guest")
}

#[test]
fn a_guest_of_any_other_version_is_refused_with_both_versions() {
    for version in ["0.0.1", "0.1.0", "0.2.1", "0.3.0", "1.0.0"] {
        let why = component(&format!(
            r#"(component (import "wakeful:scheduler/clock@{version}" (instance)))"#
        ));
        let Err(why @ GuestError::OtherVersion { .. }) = why else { panic!("{version} is run") };
        assert_eq!(
            why.to_string(),
            format!(
                "guest speaks version {version} of `wakeful:scheduler`, this program speaks \
                 version {WORLD_VERSION}: take both from one release"
            )
        );
    }
}

#[test]
fn a_guest_that_mixes_versions_is_refused() {
    let mixed = |one: &str, other: &str| {
        component(&format!(
            r#"(component (import "wakeful:scheduler/clock@{one}" (instance))
                          (import "wakeful:scheduler/ledger@{other}" (instance)))"#
        ))
        .err()
        .expect("refused")
        .to_string()
    };
    assert!(mixed(WORLD_VERSION, "0.3.0").starts_with("guest speaks version 0.3.0"));
    assert!(mixed("0.3.0", WORLD_VERSION).starts_with("guest speaks version 0.3.0"));
}
