//! The n-th call of the scheduler to its host fails, for n = 1, 2, 3, ... until none fails. Also a
//! ledger on which most appends fail. There must be typed errors, a state as before, a next call
//! that works, and no more turns than without failures (contract 3.2, I21).

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use wakeful_core::{
    host::{ErrorCode, Ledger, LedgerError, Provider, ProviderError, Scheduler, SchedulerError},
    id::Seq,
    ladder::owed,
    machine::Options,
    record::{
        Record, chain::Head, decision::Boundary, effect::Effect, entry::EntryBytes,
        queue::envelope::QueueStatus, turn::RunStatus,
    },
    time::Timestamp,
};
use wakeful_host::clock::VirtualClock;
use wakeful_tests::watched::WatchedLedger;

const NOW: Timestamp = Timestamp::from_nanos(1_780_000_000_000_000_000);
const MINUTE: u64 = 60_000;

/// Decides which calls of the host fail.
trait Fault {
    fn fails(&self, call: &'static str) -> bool;
}

/// The n-th call among some kinds fails, and no other.
struct Nth {
    left: Cell<u32>,
    of: &'static [&'static str],
    failed: Cell<Option<&'static str>>,
}

impl Nth {
    fn new(n: u32, of: &'static [&'static str]) -> Self {
        Self { left: Cell::new(n), of, failed: Cell::new(None) }
    }
}

impl Fault for Nth {
    fn fails(&self, call: &'static str) -> bool {
        if !self.of.contains(&call) {
            return false;
        }
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == 1 {
            self.failed.set(Some(call));
        }
        left == 1
    }
}

/// A percentage of all appends fails, chosen by a seeded generator.
struct Chaos {
    percent: u64,
    dice: Cell<u64>,
    failed: Cell<usize>,
}

impl Fault for Chaos {
    fn fails(&self, call: &'static str) -> bool {
        let dice = self
            .dice
            .get()
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.dice.set(dice);
        // The high bits of a linear congruential generator are the more random ones.
        let fails = call == "append" && (dice >> 33) % 100 < self.percent;
        self.failed.set(self.failed.get() + usize::from(fails));
        fails
    }
}

const LEDGER: &[&str] = &["append", "read", "load_snapshot", "store_snapshot"];
const PROVIDER: &[&str] = &["start_turn", "interject", "yield_turn", "abort_turn", "release"];

/// A host: its ledger, its faults, and the calls of its provider, failed ones included.
struct Host<F> {
    kept: WatchedLedger,
    fault: Rc<F>,
    error: LedgerError,
    asked: Rc<RefCell<Vec<String>>>,
}

impl<F> Clone for Host<F> {
    fn clone(&self) -> Self {
        Self {
            kept: self.kept.clone(),
            fault: Rc::clone(&self.fault),
            error: self.error.clone(),
            asked: Rc::clone(&self.asked),
        }
    }
}

impl<F: Fault> Host<F> {
    fn stores(&self, call: &'static str) -> Result<(), LedgerError> {
        if self.fault.fails(call) { Err(self.error.clone()) } else { Ok(()) }
    }

    fn asks(&self, call: &'static str, what: &str) -> Result<(), ProviderError> {
        self.asked.borrow_mut().push(format!("{call} {what}"));
        if self.fault.fails(call) {
            Err(ProviderError { message: format!("no {call}") })
        } else {
            Ok(())
        }
    }
}

impl<F: Fault> Ledger for Host<F> {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.stores("append")?;
        self.kept.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.stores("read")?;
        self.kept.read(after, limit)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        self.stores("load_snapshot").map(|()| None)
    }

    fn store_snapshot(&mut self, _: &Head, _: &dyn Fn() -> String) -> Result<(), LedgerError> {
        self.stores("store_snapshot")
    }
}

impl<F: Fault> Provider for Host<F> {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        match effect {
            Effect::StartTurn(request) => self.asks("start_turn", request.run_id.as_str()),
            Effect::Interject { run_id, message_id } => {
                self.asks("interject", &format!("{run_id} {message_id}"))
            }
            Effect::YieldTurn { run_id } => self.asks("yield_turn", run_id.as_str()),
            Effect::AbortTurn { run_id, reason } => {
                self.asks("abort_turn", &format!("{run_id} {reason}"))
            }
            Effect::Release => self.asks("release", ""),
        }
    }
}

type Agent<F> = Scheduler<Host<F>, VirtualClock, Host<F>>;

/// The outcome of a script.
struct Came {
    head: Head,
    /// The calls of the provider, in order.
    asked: Vec<String>,
    /// The errors that the scheduler returned, in order.
    errors: Vec<String>,
    ledger: WatchedLedger,
}

/// An agent that is driven through a script. A call that fails must change nothing, and is repeated
/// until it works.
struct Script<F: Fault> {
    host: Host<F>,
    clock: VirtualClock,
    now: Timestamp,
    agent: Agent<F>,
    errors: Vec<String>,
}

impl<F: Fault> Script<F> {
    fn open(host: &Host<F>, clock: &VirtualClock, errors: &mut Vec<String>) -> Agent<F> {
        let options = Options::new("default".into());
        loop {
            let before = host.kept.state();
            match Scheduler::drive(options.clone(), host.clone(), clock.clone(), host.clone()) {
                Ok(agent) => return agent,
                Err(why) => {
                    errors.push(said(&why, &host.error));
                    // An opening appends two batches: the first entry and the restart. So one of
                    // them may be stored.
                    assert!(host.kept.state().head().seq <= before.head().seq.next(), "{why}");
                }
            }
        }
    }

    fn told(fault: F, error: LedgerError) -> Came {
        let host = Host {
            kept: WatchedLedger::default(),
            fault: Rc::new(fault),
            error,
            asked: Rc::default(),
        };
        let (clock, mut errors) = (VirtualClock::at(NOW), Vec::new());
        let agent = Self::open(&host, &clock, &mut errors);
        let mut script = Self { host, clock, now: NOW, agent, errors };
        script.live();
        let Self { host, agent, errors, .. } = script;
        assert_eq!(host.kept.breaches(), []);
        assert_eq!(agent.state(), &host.kept.state(), "the state is the fold of what is stored");
        Came { head: agent.state().head(), asked: host.asked.take(), errors, ledger: host.kept }
    }

    /// The script makes every kind of provider call: a turn is started, asked to end, gets a
    /// message, and is aborted.
    fn live(&mut self) {
        self.say(&prompt("m1", "normal"));
        self.run();
        self.say(r#"{"fact":"work_item_created","work_item_id":"w","objective":"it"}"#);
        self.say(r#"{"fact":"work_item_completed","work_item_id":"w"}"#);
        self.say(&prompt("m2", "interject"));
        self.call(|agent| agent.step(Boundary::AfterProviderRound).map(drop));
        self.end("completed");
        self.say(&prompt("m3", "normal"));
        self.run();
        self.say(r#"{"fact":"stop_requested"}"#);
        self.end("aborted");
        self.say(r#"{"fact":"start_requested"}"#);
        self.say(r#"{"fact":"timer_created","timer_id":"t","duration_ms":60000}"#);
        self.say(&prompt("m4", "normal"));
        self.run();
        self.agent = Self::open(&self.host, &self.clock, &mut self.errors);
        self.call(|agent| agent.catch_up().map(drop));
        // Until nothing is owed any more; failed turns owe retries.
        for _ in 0..40 {
            self.run();
            self.end("completed");
            self.now = self.now.plus_ms(MINUTE);
            self.clock.set(self.now);
        }
    }

    fn say(&mut self, fact: &str) {
        self.call(|agent| agent.propose(fact).map(drop));
    }

    fn run(&mut self) {
        self.call(|agent| agent.run_until_rest().map(drop));
    }

    /// Ends the open run, if there is one.
    fn end(&mut self, kind: &str) {
        if let Some(run) = self.agent.state().turns().run.as_ref().map(|run| run.run_id.clone()) {
            self.say(&format!(r#"{{"fact":"turn_terminal","run_id":"{run}","kind":"{kind}"}}"#));
        }
    }

    fn call(&mut self, mut attempt: impl FnMut(&mut Agent<F>) -> Result<(), SchedulerError>) {
        loop {
            let stored = self.host.kept.appends().len();
            let before = self.agent.state().clone();
            let Err(why) = attempt(&mut self.agent) else { return };
            self.errors.push(said(&why, &self.host.error));
            assert_eq!(
                self.agent.state(),
                &self.host.kept.state(),
                "only stored entries change the state"
            );
            if self.host.kept.appends().len() == stored {
                assert_eq!(self.agent.state(), &before);
            }
        }
    }
}

/// The message of an error, which must be that of the ledger, with the right code.
fn said(why: &SchedulerError, error: &LedgerError) -> String {
    assert!(matches!(why, SchedulerError::Ledger(found) if found == error), "{why}");
    let code = match error {
        LedgerError::Conflict { .. } => ErrorCode::Conflict,
        LedgerError::Failed { .. } => ErrorCode::LedgerFailed,
    };
    let report = why.report();
    assert_eq!((report.code, &report.message), (code, &error.to_string()));
    report.message
}

fn prompt(id: &str, priority: &str) -> String {
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","priority":"{priority}","body":{{"type":"text","text":"go"}}}}}}"#
    )
}

fn errors() -> [LedgerError; 2] {
    [
        LedgerError::Failed { message: "the disk is full".into() },
        LedgerError::Conflict { found: Seq(7) },
    ]
}

fn unhurt() -> Came {
    let came = Script::told(Nth::new(0, &[]), errors()[0].clone());
    assert!(came.errors.is_empty(), "{:?}", came.errors);
    came
}

#[test]
fn whichever_call_of_the_ledger_fails_the_provider_is_asked_the_same() {
    let unhurt = unhurt();
    for error in errors() {
        let mut failed = BTreeMap::new();
        for n in 1.. {
            let fault = Rc::new(Nth::new(n, LEDGER));
            let came = Script::told(Shared(Rc::clone(&fault)), error.clone());
            assert_eq!(
                (came.head, &came.asked),
                (unhurt.head, &unhurt.asked),
                "call {n}: {:?}",
                fault.failed.get()
            );
            let Some(call) = fault.failed.get() else { break };
            *failed.entry(call).or_insert(0) += 1;
            assert!(came.errors.len() <= 1, "call {n}: {:?}", came.errors);
            // A snapshot only saves time, so a call succeeds without it.
            assert_eq!(
                came.errors.is_empty(),
                call.ends_with("snapshot"),
                "call {n}, {call}: {:?}",
                came.errors
            );
        }
        println!("{error}: the calls that failed, by kind: {failed:?}");
        assert!(
            ["append", "read", "load_snapshot"].iter().all(|call| failed.contains_key(call)),
            "{failed:?}"
        );
    }
}

#[test]
fn whichever_call_of_the_provider_fails_is_told_and_nothing_is_lost() {
    let unhurt = unhurt();
    let mut failed = BTreeMap::new();
    for n in 1.. {
        let fault = Rc::new(Nth::new(n, PROVIDER));
        let came = Script::told(Shared(Rc::clone(&fault)), errors()[0].clone());
        assert!(
            came.errors.is_empty(),
            "call {n}: no call of the scheduler may fail: {:?}",
            came.errors
        );
        let Some(call) = fault.failed.get() else {
            assert_eq!(came.head, unhurt.head);
            break;
        };
        *failed.entry(call).or_insert(0) += 1;
        comes_to_an_end(&came, &format!("call {n}, {call}"));
        let said = format!("no {call}");
        let tells = |record: &Record| {
            matches!(record, Record::Event(event)
                if event.data().is_some_and(|data| data.as_str().contains(&said)))
        };
        assert!(
            came.ledger.opened().iter().any(|entry| tells(&entry.record)),
            "call {n}, {call} is not in the ledger"
        );
    }
    println!("the calls that failed, by kind: {failed:?}");
    assert_eq!(
        failed.keys().copied().collect::<Vec<_>>(),
        ["abort_turn", "interject", "release", "start_turn", "yield_turn"]
    );
}

/// The provider fails while appends fail too: its failure is recorded as soon as an append works.
#[test]
fn a_provider_failure_that_cannot_be_appended_is_recorded_with_the_next_call() {
    struct Both {
        provider: Nth,
        /// The number of appends that fail after it.
        appends: Cell<u32>,
    }
    impl Fault for Both {
        fn fails(&self, call: &'static str) -> bool {
            let broken =
                self.provider.failed.get().is_some() && call == "append" && self.appends.get() > 0;
            self.appends.set(self.appends.get() - u32::from(broken));
            broken || self.provider.fails(call)
        }
    }
    for appends in [1, 2, 5] {
        for n in 1.. {
            let provider = Nth::new(n, PROVIDER);
            let fault = Rc::new(Both { provider, appends: Cell::new(appends) });
            let came = Script::told(Shared(Rc::clone(&fault)), errors()[0].clone());
            let Some(call) = fault.provider.failed.get() else { break };
            assert_eq!(fault.appends.get(), 0);
            assert_eq!(
                came.errors.len(),
                appends as usize - 1,
                "the first failed append fails no call: {:?}",
                came.errors
            );
            comes_to_an_end(&came, &format!("call {n}, {call}, {appends} appends"));
        }
    }
}

/// contract 3.2: the number of turns does not depend on how often the ledger fails.
#[test]
fn appends_that_fail_start_no_further_turns() {
    let unhurt = unhurt();
    let (mut runs, mut failed) = (0, 0);
    for error in errors() {
        for percent in [5, 20, 50, 80, 95] {
            for seed in 0..10 {
                let fault = Rc::new(Chaos { percent, dice: Cell::new(seed), failed: Cell::new(0) });
                let came = Script::told(Shared(Rc::clone(&fault)), error.clone());
                assert_eq!(
                    (came.head, &came.asked),
                    (unhurt.head, &unhurt.asked),
                    "{percent} %, seed {seed}"
                );
                assert_eq!(
                    came.errors.len(),
                    fault.failed.get(),
                    "{percent} %, seed {seed}: each failed append is an error"
                );
                (runs, failed) = (runs + 1, failed + fault.failed.get());
            }
        }
    }
    println!(
        "{runs} scripts, {failed} failed appends, {} provider calls in each script",
        unhurt.asked.len()
    );
}

/// A fault that the test can inspect afterwards.
struct Shared<F>(Rc<F>);

impl<F: Fault> Fault for Shared<F> {
    fn fails(&self, call: &'static str) -> bool {
        self.0.fails(call)
    }
}

/// Checks that every message has a terminal status, every run has one end, no run was started
/// twice, and nothing is owed.
fn comes_to_an_end(came: &Came, what: &str) {
    let state = came.ledger.state();
    assert_eq!(owed::all(&state), [], "{what}");
    assert!(state.turns().run.is_none(), "{what}");
    let mut started =
        came.asked.iter().filter(|asked| asked.starts_with("start_turn")).collect::<Vec<_>>();
    started.sort();
    assert!(started.windows(2).all(|pair| pair[0] != pair[1]), "{what}: {started:?}");
    let (mut settled, mut completed, mut queued) = (0, 0, 0);
    for entry in came.ledger.opened() {
        match &entry.record {
            Record::QueueEntry(entry) if entry.status == QueueStatus::Queued => queued += 1,
            Record::QueueEntry(entry) if entry.status.is_terminal() => settled += 1,
            Record::Turn(turn) if turn.status == RunStatus::Terminal => completed += 1,
            _ => {}
        }
    }
    assert_eq!(settled, queued, "{what}");
    assert!(completed >= 4, "{what}: {completed} turns ended");
}
