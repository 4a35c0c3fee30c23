//! A driver whose instance breaks down: the agent continues in another instance from what was
//! stored, and nothing is recorded twice.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, thread, time::Duration};

use wakeful_core::{
    Answer, Boundary, ControlRecord, Entry, EntryBytes, ErrorCode, Head, Ledger, LedgerError,
    Options, Record, Refusal, Scheduler, Seq, State, Timestamp,
};
use wakeful_host::{
    clock::VirtualClock,
    driver::{DriveError, Driver, Takeover, Watcher},
    engine::{EngineError, Engines},
    ledger::MemoryLedger,
    provider::Elsewhere,
    sandbox::{GuestError, Limits},
};

use crate::shared::{product, prompt};

/// The time limit is far below [`SLOW`] and far above the time of a normal call.
const LIMITS: Limits = Limits {
    memory_bytes: 64 << 20,
    fuel_per_call: 1 << 40,
    fuel_per_page: 0,
    call_ms: 5_000,
    payload_bytes: 100_000,
    append_bytes: 1_000_000,
    host_calls: 1_000,
};
const SLOW: Duration = Duration::from_millis(5_300);

/// A ledger that stores at once, but may return late. Clones share it.
#[derive(Clone, Default)]
struct Slow {
    inner: MemoryLedger,
    /// For each coming append, whether it is slow.
    slow: Rc<RefCell<VecDeque<bool>>>,
}

impl Ledger for Slow {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.inner.append(expected, batch)?;
        if self.slow.borrow_mut().pop_front().unwrap_or(false) {
            thread::sleep(SLOW);
        }
        Ok(())
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.inner.read(after, limit)
    }
}

/// What the watcher saw while the ledger was driven.
struct Told {
    entries: Vec<Entry>,
    goes_on: bool,
    breakdowns: Vec<String>,
}

impl Watcher for Told {
    fn entry(&mut self, entry: &Entry, _: &EntryBytes) {
        self.entries.push(entry.clone());
    }

    fn goes_on(&mut self, why: &EngineError) -> bool {
        self.breakdowns.push(why.to_string());
        self.goes_on
    }
}

impl Told {
    fn restarts(&self) -> usize {
        let is_restart = |entry: &&Entry| {
            matches!(entry.record, Record::Control(ControlRecord::RuntimeRestarted(_)))
        };
        self.entries.iter().filter(is_restart).count()
    }

    fn messages(&self) -> Vec<&str> {
        let messages = self.entries.iter().filter_map(|entry| {
            if let Record::Message(message) = &entry.record { Some(message) } else { None }
        });
        messages.map(|message| message.id.as_str()).collect()
    }
}

fn driver(goes_on: bool) -> (Driver<Slow, Told>, Rc<RefCell<VecDeque<bool>>>) {
    let ledger = Slow::default();
    let slow = Rc::clone(&ledger.slow);
    let lent =
        (ledger, VirtualClock::at(Timestamp::from_nanos(1_780_000_000_000_000_000)), Elsewhere);
    let told = Told { entries: Vec::new(), goes_on, breakdowns: Vec::new() };
    let driver = Driver::open(
        &Options::new("agent".into()),
        &Engines::Sandboxed(product(), LIMITS),
        lent,
        State::default(),
        Takeover::Restart,
        told,
    );
    (driver.expect("it opens"), slow)
}

#[test]
fn an_agent_whose_instance_breaks_down_goes_on_in_another_one_and_nothing_is_said_twice() {
    let (mut driver, slow) = driver(true);
    assert_eq!(driver.propose(&prompt("a")).expect("the driver continues"), Ok(Answer::Accepted));

    // The batch is stored, but the instance ends before it answers: the new instance finds the
    // message.
    slow.borrow_mut().push_back(true);
    let answer = driver.propose(&prompt("b")).expect("the driver continues");
    assert!(matches!(answer, Ok(Answer::Ignored { reason: Refusal::Duplicate, .. })), "{answer:?}");
    assert!(
        driver.watcher().breakdowns[0].contains("call_ms"),
        "{:?}",
        driver.watcher().breakdowns
    );

    let refused =
        driver.propose(&"x".repeat(100_001)).expect("the driver continues").expect_err("too long");
    assert_eq!(refused.code, ErrorCode::TooLarge, "a refusal ends no instance");

    assert!(driver.decide().expect("the driver continues"));
    assert_eq!(driver.propose(&prompt("c")).expect("the driver continues"), Ok(Answer::Accepted));
    let told = driver.watcher();
    assert_eq!(
        (told.messages(), told.restarts(), told.breakdowns.len()),
        (vec!["a", "b", "c"], 2, 1)
    );
    assert_eq!(told.entries.last().map(|entry| entry.seq), Some(driver.state().head().seq));
}

#[test]
fn a_second_breakdown_in_one_call_or_a_host_that_does_not_expect_one_ends_the_driver() {
    let is_breach = |why: &DriveError| {
        matches!(why, DriveError::Engine(EngineError::Guest(GuestError::Breach(_))))
    };
    let (mut expecting, slow) = driver(true);
    // The appends: the message, the restart of the new instance, and the same message again.
    slow.borrow_mut().extend([true, false, true]);
    assert!(is_breach(&expecting.propose(&prompt("a")).expect_err("a second breakdown")));
    let (mut other, slow) = driver(false);
    slow.borrow_mut().push_back(true);
    assert!(is_breach(&other.propose(&prompt("a")).expect_err("a breakdown")));
    assert_eq!(
        (other.watcher().restarts(), other.watcher().messages()),
        (1, vec!["a"]),
        "the watcher sees what was stored"
    );
}

/// A driver of this ledger.
fn taken_up(
    engines: &Engines,
    ledger: &MemoryLedger,
    state: State,
    takeover: Takeover,
) -> Result<Driver<MemoryLedger, Told>, DriveError> {
    let clock = VirtualClock::at(Timestamp::from_nanos(1_780_000_000_000_000_000));
    let told = Told { entries: Vec::new(), goes_on: false, breakdowns: Vec::new() };
    let lent = (ledger.clone(), clock, Elsewhere);
    Driver::open(&Options::new("agent".into()), engines, lent, state, takeover, told)
}

#[test]
fn a_ledger_that_is_resumed_gets_no_entry_and_goes_on_and_one_that_was_never_driven_is_restarted() {
    for engines in [Engines::Native, Engines::Sandboxed(product(), LIMITS)] {
        let ledger = MemoryLedger::default();
        let mut first =
            taken_up(&engines, &ledger, State::default(), Takeover::Resume).expect("it opens");
        assert_eq!(first.watcher().restarts(), 1, "nobody drove it before");
        first.decide().expect("the driver continues");
        let state = first.state().clone();
        drop(first);

        let mut next =
            taken_up(&engines, &ledger, state.clone(), Takeover::Resume).expect("it opens");
        assert_eq!((next.state().head(), next.watcher().entries.len()), (state.head(), 0));
        assert_eq!(next.propose(&prompt("a")).expect("the driver continues"), Ok(Answer::Accepted));
        assert!(next.decide().expect("the driver continues"));
        let run = next.state().open_run().expect("a turn runs").run_id.clone();

        let state = next.state().clone();
        let again = taken_up(&engines, &ledger, state.clone(), Takeover::Resume).expect("it opens");
        assert_eq!(again.state().open_run().map(|open| &open.run_id), Some(&run));
        let restarted = taken_up(&engines, &ledger, state, Takeover::Restart).expect("it opens");
        assert_eq!(restarted.watcher().restarts(), 1);
        assert!(restarted.state().open_run().is_none_or(|open| open.run_id != run));
    }
}

#[test]
fn a_takeover_by_another_driver_since_the_ledger_was_read_is_not_resumed() {
    let ledger = MemoryLedger::default();
    let first =
        taken_up(&Engines::Native, &ledger, State::default(), Takeover::Restart).expect("it opens");
    let state = first.state().clone();
    taken_up(&Engines::Native, &ledger, state.clone(), Takeover::Restart).expect("another driver");
    let why = taken_up(&Engines::Native, &ledger, state, Takeover::Resume)
        .map(|_| ())
        .expect_err("it has another");
    assert!(matches!(why, DriveError::TakenOver(_)), "{why}");
}

#[test]
fn an_interjection_that_a_stop_overtook_did_not_go_in() {
    let (ledger, clock) = (
        MemoryLedger::default(),
        VirtualClock::at(Timestamp::from_nanos(1_780_000_000_000_000_000)),
    );
    let options = Options::new("agent".into());
    let told = Told { entries: Vec::new(), goes_on: false, breakdowns: Vec::new() };
    let lent = (ledger.clone(), clock.clone(), Elsewhere);
    let mut driver =
        Driver::open(&options, &Engines::Native, lent, State::default(), Takeover::Restart, told)
            .expect("it opens");
    assert_eq!(driver.propose(&prompt("a")).expect("the driver continues"), Ok(Answer::Accepted));
    driver.decide().expect("the driver continues");
    let run = driver.state().open_run().expect("a turn runs").run_id.clone();
    let urgent = prompt("b").replacen(r#""kind""#, r#""priority":"interject","kind""#, 1);
    assert_eq!(driver.propose(&urgent).expect("the driver continues"), Ok(Answer::Accepted));

    // Another process stops the agent and settles its run; the driver has not read that yet.
    let mut other = Scheduler::observe(options, ledger, clock, Elsewhere).expect("it opens");
    other.propose(r#"{"fact": "stop_requested"}"#).expect("a stop");
    other
        .propose(&format!(
            r#"{{"fact": "turn_aborted", "run_id": "{run}", "reason": "agent_stopped"}}"#
        ))
        .expect("an end");

    assert_eq!(
        driver.interject_one(Boundary::AfterToolResults).expect("the driver continues"),
        None
    );
    assert_eq!(
        driver.state().interjection().map(|message| message.id.as_str()),
        Some("b"),
        "the message still waits"
    );
    assert!(driver.state().open_run().is_none(), "no run is left to interject into");
}
