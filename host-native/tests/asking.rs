//! Every question that an engine answers, natively and in the sandbox: both give the same text.
//! Also what crosses only when a ledger is opened: snapshots, and which tasks are alive.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use wakeful_core::{
    Boundary, DecisionKind, Effect, EntryBytes, ErrorCode, FIRST_SNAPSHOT, Head, Ledger,
    LedgerError, Options, Provider, ProviderError, SCHEMA_VERSION, Seq, TaskId, Timestamp,
};
use wakeful_host::{
    clock::VirtualClock,
    engine::{Engine, EngineError, Mode, Native},
    ledger::MemoryLedger,
    provider::Elsewhere,
    sandbox::{Limits, Sandbox},
};

use crate::shared::{product, prompt};

fn start() -> VirtualClock {
    VirtualClock::at(Timestamp::parse("2026-05-27T09:00:00Z").expect("an instant"))
}

/// A ledger that stores its newest snapshot.
#[derive(Clone, Default)]
struct Keeping {
    log: MemoryLedger,
    snapshot: Rc<RefCell<Option<String>>>,
    /// Entries up to this position cannot be read.
    lost: Rc<Cell<u64>>,
}

impl Ledger for Keeping {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.log.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        if after.0 < self.lost.get() {
            return Err(LedgerError::Failed { message: "the first entries are lost".into() });
        }
        self.log.read(after, limit)
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(self.snapshot.borrow().clone())
    }

    fn store_snapshot(&mut self, _: &Head, write: &dyn Fn() -> String) -> Result<(), LedgerError> {
        *self.snapshot.borrow_mut() = Some(write());
        Ok(())
    }
}

/// Proposes some facts to an engine that drives.
fn talk(engine: &mut dyn Engine, messages: usize) -> Result<(), EngineError> {
    engine.open(&Options::new("a".into()), Mode::Drive)?;
    engine.propose(r#"{"fact":"work_item_created","work_item_id":"w","objective":"see"}"#)?;
    engine.propose(r#"{"fact":"timer_created","timer_id":"t","duration_ms":3600000}"#)?;
    for number in 0..messages {
        engine.propose(&prompt(&format!("m{number}")))?;
    }
    engine.run_until_rest().map(drop)
}

/// The answer to every question, by name.
fn asked(engine: &mut dyn Engine, ends: u64) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let mut note = |what: String, answer: Result<String, EngineError>| match answer {
        Ok(text) => answers.push((what, text)),
        Err(EngineError::Refused(report)) => answers.push((what, format!("{report:?}"))),
        Err(why) => panic!("{what}: {why}"),
    };
    note("summary".into(), engine.summary());
    note("state".into(), engine.state());
    note("snapshot".into(), engine.snapshot());
    note("schema version".into(), engine.schema_version());
    note("next wake".into(), engine.next_wake().map(|at| format!("{at:?}")));
    note("caught up".into(), engine.catch_up().map(|count| count.to_string()));
    for boundary in [Boundary::RunLoop, Boundary::RunLoopIdle] {
        note(format!("explain {boundary}"), engine.explain(boundary));
        for &kind in DecisionKind::ALL {
            note(format!("why not {kind} {boundary}"), engine.why_not(boundary, kind));
        }
    }
    for seq in [1, 2, ends / 2, ends, 0, ends + 1].map(Seq) {
        note(format!("state at {seq}"), engine.state_at(seq));
        note(format!("explain at {seq}"), engine.explain_at(Boundary::RunLoop, seq));
        note(
            format!("why not at {seq}"),
            engine.why_not_at(Boundary::RunLoop, DecisionKind::Sleep, seq),
        );
    }
    answers
}

#[test]
fn whatever_is_asked_both_engines_answer_with_the_same_text() {
    let guest = product();
    for messages in [0, 1, 5] {
        let (native_ledger, ledger) = (MemoryLedger::default(), MemoryLedger::default());
        let mut native = Native::new(native_ledger.clone(), start(), Elsewhere);
        let mut sandbox =
            Sandbox::new(&guest, ledger.clone(), start(), Elsewhere, Limits::default())
                .expect("an instance");
        talk(&mut native, messages).expect("the facts are recorded");
        talk(&mut sandbox, messages).expect("the facts are recorded");
        assert_eq!(native_ledger.lines_from(0), ledger.lines_from(0));
        let ends = ledger.len() as u64;
        let (left, right) = (asked(&mut native, ends), asked(&mut sandbox, ends));
        assert_eq!(left.len(), 6 + 2 * 12 + 6 * 3);
        for ((what, left), (_, right)) in left.iter().zip(&right) {
            assert_eq!(left, right, "{what}");
        }
        let of = |name: &str| {
            left.iter()
                .find(|(what, _)| what == name)
                .map(|(_, answer)| answer.as_str())
                .expect("the question was asked")
        };
        assert_eq!(of("schema version"), SCHEMA_VERSION);
        assert_eq!(
            of(&format!("state at {ends}")),
            of("state"),
            "the state at the newest entry is the current state"
        );
        assert!(of("state at 0").contains("NoSuchEntry"), "{}", of("state at 0"));
    }
}

#[test]
fn a_sandboxed_agent_opens_from_the_snapshot_that_it_stored() {
    let guest = product();
    let ledger = Keeping::default();
    let open = || {
        Sandbox::new(&guest, ledger.clone(), start(), Elsewhere, Limits::default())
            .expect("an instance")
    };
    let mut first = open();
    talk(&mut first, FIRST_SNAPSHOT.0 as usize * 5 / 8).expect("the facts are recorded");
    let state = first.state().expect("a state");
    assert_eq!(first.calls().snapshot, 2, "one load and one store");
    assert!(ledger.snapshot.borrow().is_some());
    drop(first);
    ledger.lost.set(FIRST_SNAPSHOT.0 - 1);
    let mut second = open();
    second.open(&Options::new("a".into()), Mode::Observe).expect("it opens from its snapshot");
    assert_eq!(second.state().expect("a state"), state);
    ledger.snapshot.borrow_mut().take();
    let why = open()
        .open(&Options::new("a".into()), Mode::Observe)
        .expect_err("the log alone is incomplete");
    assert!(why.to_string().contains("the first entries are lost"), "{why}");
}

/// A snapshot that is too long to cross is not stored, and nothing else happens. Otherwise each
/// batch of an agent with a large state would end its instance.
#[test]
fn a_state_that_is_too_long_to_cross_costs_no_instance() {
    let ledger = Keeping::default();
    let limits = Limits { payload_bytes: 12_000, ..Limits::default() };
    let mut agent =
        Sandbox::new(&product(), ledger.clone(), start(), Elsewhere, limits).expect("an instance");
    talk(&mut agent, FIRST_SNAPSHOT.0 as usize).expect("the facts are recorded");
    assert!(ledger.log.len() > 2 * FIRST_SNAPSHOT.0 as usize, "two snapshots were due");
    assert_eq!(
        (ledger.snapshot.borrow().as_ref(), agent.calls().snapshot),
        (None, 1),
        "one load, and no store"
    );
}

/// A provider that answers which tasks are alive, or that it does not know.
#[derive(Clone)]
struct Knows(Result<Vec<TaskId>, ProviderError>);

impl Provider for Knows {
    fn carry_out(&mut self, effect: &Effect) -> Result<(), ProviderError> {
        Elsewhere.carry_out(effect)
    }

    fn alive(&mut self, active: Vec<TaskId>) -> Result<Vec<TaskId>, ProviderError> {
        assert_eq!(active, ["one".into(), "two".into()]);
        self.0.clone()
    }
}

#[test]
fn a_restart_interrupts_the_tasks_that_the_host_does_not_prove_alive() {
    let guest = product();
    let ledger = MemoryLedger::default();
    let options = Options::new("a".into());
    let open = |provider: Knows| {
        Sandbox::new(&guest, ledger.clone(), start(), provider, Limits::default())
            .expect("an instance")
    };
    let nobody = ProviderError { message: "unknown".into() };
    let mut first = open(Knows(Err(nobody.clone())));
    first.open(&options, Mode::Drive).expect("without active tasks the provider is not asked");
    for task in ["one", "two"] {
        let fact =
            format!(r#"{{"fact":"task_created","task_id":"{task}","task_kind":"command_task"}}"#);
        first.propose(&fact).expect("the fact is recorded");
    }
    drop(first);
    let before = ledger.len();
    let why = open(Knows(Err(nobody))).open(&options, Mode::Drive).expect_err("it does not know");
    assert!(
        matches!(&why, EngineError::Refused(report) if report.code == ErrorCode::ProviderFailed),
        "{why}"
    );
    assert_eq!(ledger.len(), before, "the agent was not taken over");
    let mut second = open(Knows(Ok(vec!["two".into()])));
    second.open(&options, Mode::Drive).expect("it opens");
    let state: serde_json::Value =
        serde_json::from_str(&second.state().expect("a state")).expect("JSON");
    let active: Vec<&String> =
        state["tasks"]["active"].as_object().expect("tasks").keys().collect();
    assert_eq!(active, ["two"]);
}
