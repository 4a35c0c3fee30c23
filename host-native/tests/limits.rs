//! The limits of the sandbox: an instance that reaches one is gone, the error names the limit, and
//! all other instances continue.

use std::{thread, time::Duration};

use wakeful_core::{Clock, EntryBytes, Head, Ledger, LedgerError, Options, Seq, Timestamp};
use wakeful_host::{
    clock::VirtualClock,
    engine::{Engine, EngineError, Mode},
    ledger::{MemoryLedger, SqliteFile},
    provider::Elsewhere,
    sandbox::{Breach, Guest, GuestError, Limit, Limits, Plugin, Pool, Runtime, Sandbox},
    waiting,
};

use crate::shared::{guest, product};

const START: &str = "2026-05-27T09:00:00Z";

fn start() -> Timestamp {
    Timestamp::parse(START).expect("an instant")
}

fn hostile() -> Guest {
    Guest::load(&guest("hostile.component.wasm")).expect("the hostile guest loads")
}

type Agent<C> = Sandbox<MemoryLedger, C, Elsewhere>;

fn instance(guest: &Guest, limits: Limits) -> Agent<VirtualClock> {
    Sandbox::new(guest, MemoryLedger::default(), VirtualClock::at(start()), Elsewhere, limits)
        .expect("an instance")
}

fn breach(why: &EngineError) -> Breach {
    match why {
        EngineError::Guest(GuestError::Breach(breach)) => *breach,
        other => panic!("no limit was reached: {other}"),
    }
}

const SMALL: Limits = Limits {
    memory_bytes: 8 << 20,
    fuel_per_call: 50_000_000,
    fuel_per_page: 1_000,
    call_ms: 600_000,
    payload_bytes: 100_000,
    append_bytes: 150_000,
    host_calls: 100,
};

#[test]
fn each_limit_ends_the_instance_that_reaches_it_and_says_which() {
    let guest = hostile();
    let table = [
        ("loop", SMALL, Limit::Fuel, 50_000_000),
        ("loop", Limits { fuel_per_call: u64::MAX, call_ms: 50, ..SMALL }, Limit::Time, 50),
        ("grow", SMALL, Limit::Memory, 8 << 20),
        ("overflow", SMALL, Limit::Stack, 1 << 20),
        ("answer 100001", SMALL, Limit::Payload, 100_000),
        ("append 100001", SMALL, Limit::Payload, 100_000),
        ("append 90001", Limits { append_bytes: 90_000, ..SMALL }, Limit::Appended, 90_000),
        ("now 101", SMALL, Limit::HostCalls, 100),
        ("start 101", SMALL, Limit::HostCalls, 100),
        ("read_on", SMALL, Limit::HostCalls, 100),
        ("read_beyond 101", SMALL, Limit::HostCalls, 100),
    ];
    for (misdeed, limits, limit, most) in table {
        let mut agent = instance(&guest, limits);
        let why = agent.propose(misdeed).expect_err(misdeed);
        assert_eq!(breach(&why), Breach { limit, most }, "{misdeed}");
        assert!(why.to_string().contains(limit.name()), "{misdeed}: {why}");
        let again = agent.propose("nothing").expect_err("the instance is gone");
        assert!(matches!(again, EngineError::Guest(GuestError::Gone)), "{misdeed}: {again}");
    }
}

#[test]
fn what_stays_below_its_limit_is_done() {
    let guest = hostile();
    let mut agent = instance(&guest, SMALL);
    for deed in ["nothing", "answer 100000", "now 100", "read_beyond 100", "nothing"] {
        assert!(agent.propose(deed).is_ok(), "{deed}");
    }
}

#[test]
fn a_trap_is_told_with_its_place() {
    let guest = hostile();
    for misdeed in ["trap", "panic"] {
        let why = instance(&guest, SMALL).propose(misdeed).expect_err(misdeed);
        assert!(
            matches!(
                &why,
                EngineError::Guest(GuestError::Trapped { why }) if why.contains("unreachable")
            ),
            "{why}"
        );
    }
}

#[test]
fn what_is_too_long_to_be_said_is_refused_and_the_instance_is_as_it_was() {
    let mut agent = instance(&hostile(), SMALL);
    let why = agent.propose(&"x".repeat(100_001)).expect_err("too long");
    assert!(
        matches!(
            why,
            EngineError::Guest(GuestError::TooLong(Breach {
                limit: Limit::Payload,
                most: 100_000
            }))
        ),
        "{why}"
    );
    assert!(agent.propose("nothing").is_ok());
}

/// A clock that is slow.
struct Slow;

impl Clock for Slow {
    fn now(&mut self) -> Timestamp {
        thread::sleep(Duration::from_millis(80));
        start()
    }
}

#[test]
fn time_in_calls_of_the_host_counts() {
    let limits = Limits { call_ms: 40, ..SMALL };
    let mut agent = Sandbox::new(&hostile(), MemoryLedger::default(), Slow, Elsewhere, limits)
        .expect("an instance");
    let why = agent.propose("now 1").expect_err("the call takes too long");
    assert_eq!(breach(&why), Breach { limit: Limit::Time, most: 40 });
}

/// A clock that waits for something else.
#[derive(Clone)]
struct Waiting;

impl Clock for Waiting {
    fn now(&mut self) -> Timestamp {
        waiting::during(|| thread::sleep(Duration::from_secs(1)));
        start()
    }
}

#[test]
fn time_in_which_the_host_waits_for_something_else_does_not_count() {
    let limits = Limits { call_ms: 2_500, fuel_per_call: u64::MAX, ..SMALL };
    let agent = || {
        Sandbox::new(&hostile(), MemoryLedger::default(), Waiting, Elsewhere, limits)
            .expect("an instance")
    };
    agent().propose("now 3").expect("only waiting takes long");
    // The guest's own time is limited as before, also after the host has waited.
    let mut waited = agent();
    waited.propose("now 1").expect("only waiting takes long");
    let why = waited.propose("loop").expect_err("an endless loop");
    assert_eq!(breach(&why), Breach { limit: Limit::Time, most: 2_500 });
}

#[test]
fn where_no_fuel_is_counted_a_guest_does_the_same_and_its_time_ends_it() {
    let runtime = Runtime::new(Pool { instances: 2, counts_fuel: false, ..Pool::default() })
        .expect("a runtime");
    let load = |name: &str| runtime.load(&guest(name)).expect("the guest");
    let mut agent = instance(&load("wakeful.component.wasm"), Limits::default());
    let mut counting = instance(&product(), Limits::default());
    assert_eq!(lives(&mut agent, 1).expect("it lives"), lives(&mut counting, 1).expect("it lives"));
    assert_eq!((agent.fuel(), counting.fuel() > 0), (0, true));
    let why = instance(&load("hostile.component.wasm"), Limits { call_ms: 50, ..SMALL })
        .propose("loop")
        .expect_err("an endless loop");
    assert_eq!(breach(&why), Breach { limit: Limit::Time, most: 50 });
}

#[test]
fn where_there_are_no_addresses_for_whole_memories_accesses_are_checked_and_a_guest_does_the_same()
{
    // A processor cannot address whole memories for this many instances.
    let runtime =
        Runtime::new(Pool { instances: 100_000, memory_bytes: 16 << 20, ..Pool::default() })
            .expect("a runtime");
    let mut agent = instance(
        &runtime.load(&guest("wakeful.component.wasm")).expect("the guest"),
        Limits::default(),
    );
    let mut roomy = instance(&product(), Limits::default());
    assert_eq!(lives(&mut agent, 1).expect("it lives"), lives(&mut roomy, 1).expect("it lives"));
    assert_eq!(agent.fuel(), roomy.fuel());
}

#[test]
fn an_instance_too_many_is_refused_until_one_is_dropped() {
    let runtime = Runtime::new(Pool { instances: 2, ..Pool::default() }).expect("a runtime");
    let plugin = Plugin::new(&runtime.load(&guest("hostile.component.wasm")).expect("the guest"))
        .expect("it fits");
    let another =
        || plugin.instance(MemoryLedger::default(), VirtualClock::at(start()), Elsewhere, SMALL);
    let (first, _second) = (another().expect("one"), another().expect("two"));
    assert!(matches!(another().map(drop), Err(GuestError::Full { instances: 2, .. })));
    drop(first);
    assert!(another().is_ok());
}

#[test]
fn a_broken_instance_gives_its_place_and_its_host_back_at_once() {
    let runtime = Runtime::new(Pool { instances: 1, ..Pool::default() }).expect("a runtime");
    let plugin = Plugin::new(&runtime.load(&guest("hostile.component.wasm")).expect("the guest"))
        .expect("it fits");
    let mut broken = Vec::new();
    for misdeed in ["grow", "trap", "loop", "append 100001", "answer 100001"] {
        let ledger = Asked::default();
        let held = std::rc::Rc::downgrade(&ledger.most);
        let mut agent = plugin
            .instance(ledger, VirtualClock::at(start()), Elsewhere, SMALL)
            .expect("the broken ones before it are out of the pool");
        assert!(held.upgrade().is_some());
        agent.propose(misdeed).expect_err(misdeed);
        assert!(held.upgrade().is_none(), "{misdeed}: the host's ledger is still held");
        // The host keeps what is left of it, and can still ask what it did.
        assert_eq!(agent.calls().append, 0);
        broken.push(agent);
    }
    for agent in &mut broken {
        let why = agent.propose("nothing").expect_err("it is gone");
        assert!(matches!(why, EngineError::Guest(GuestError::Gone)), "{why}");
    }
}

/// Runs an agent of the real guest through a short conversation and returns its explanation.
fn lives(agent: &mut Agent<VirtualClock>, number: usize) -> Result<String, EngineError> {
    agent.open(&Options::new(format!("agent-{number}").into()), Mode::Drive)?;
    agent.propose(&prompt(number))?;
    agent.run_until_rest()?;
    agent.explain(wakeful_core::Boundary::RunLoopIdle)
}

fn prompt(number: usize) -> String {
    format!(
        r#"{{"fact":"message_queued","message":{{"id":"m-{number}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"go"}}}}}}"#
    )
}

#[test]
fn of_a_thousand_agents_ten_misbehave_and_the_others_end_as_they_would_alone() {
    const AGENTS: usize = 1000;
    let runtime =
        Runtime::new(Pool { memory_bytes: 32 << 20, ..Pool::default() }).expect("a runtime");
    let real = Plugin::new(&runtime.load(&guest("wakeful.component.wasm")).expect("the guest"))
        .expect("it fits");
    let bad =
        Plugin::new(&runtime.load(&guest("hostile.component.wasm")).expect("the hostile guest"))
            .expect("it fits");
    let limits = Limits { memory_bytes: 32 << 20, ..Limits::default() };
    let misdeeds = ["loop", "grow", "trap", "overflow", "answer 100000001"];
    let is_bad = |number: usize| number % 100 == 37;
    let mut agents = Vec::new();
    for number in 0..AGENTS {
        let (plugin, limits) = if is_bad(number) { (&bad, SMALL) } else { (&real, limits) };
        let ledger = MemoryLedger::default();
        let agent = plugin
            .instance(ledger.clone(), VirtualClock::at(start()), Elsewhere, limits)
            .expect("an instance");
        agents.push((number, agent, ledger));
    }
    let (mut good, mut broken) = (0, 0);
    for (number, agent, ledger) in &mut agents {
        if is_bad(*number) {
            let misdeed = misdeeds[*number / 100 % misdeeds.len()];
            assert!(matches!(agent.propose(misdeed), Err(EngineError::Guest(_))), "{misdeed}");
            assert_eq!(ledger.len(), 0, "{misdeed} stores nothing");
            broken += 1;
        } else {
            lives(agent, *number).expect("a well-behaved agent");
            good += 1;
        }
    }
    assert_eq!((good, broken), (990, 10));
    let guest = product();
    let plugin = Plugin::new(&guest).expect("it fits");
    for (number, _, ledger) in agents.iter().filter(|(number, ..)| !is_bad(*number)) {
        let alone = MemoryLedger::default();
        let mut agent = plugin
            .instance(alone.clone(), VirtualClock::at(start()), Elsewhere, limits)
            .expect("an instance");
        lives(&mut agent, *number).expect("alone");
        assert_eq!(ledger.lines_from(0), alone.lines_from(0), "agent {number}");
    }
}

#[test]
fn a_call_uses_the_same_fuel_on_every_run() {
    let plugin = Plugin::new(&product()).expect("it fits");
    let fuels: Vec<Vec<u64>> = (0..2)
        .map(|_| {
            let (ledger, clock) = (MemoryLedger::default(), VirtualClock::at(start()));
            let mut agent =
                plugin.instance(ledger, clock, Elsewhere, Limits::default()).expect("an instance");
            agent.open(&Options::new("default".into()), Mode::Drive).expect("it opens");
            let opening = agent.fuel();
            agent.propose(&prompt(0)).expect("a fact");
            let proposing = agent.fuel();
            agent.run_until_rest().expect("steps");
            vec![opening, proposing, agent.fuel()]
        })
        .collect();
    assert_eq!(fuels[0], fuels[1]);
    assert!(fuels[0].iter().all(|fuel| *fuel > 1_000), "{fuels:?}");
}

#[test]
fn an_agent_whose_instance_is_gone_is_opened_in_another_one_and_goes_on() {
    let plugin = Plugin::new(&product()).expect("it fits");
    let (ledger, clock) = (MemoryLedger::default(), VirtualClock::at(start()));
    let another = |limits| {
        plugin.instance(ledger.clone(), clock.clone(), Elsewhere, limits).expect("an instance")
    };
    let mut agent = another(Limits::default());
    agent.open(&Options::new("default".into()), Mode::Drive).expect("it opens");
    agent.propose(&prompt(1)).expect("a fact");
    let enough = agent.fuel();
    let mut agent = another(Limits {
        fuel_per_call: enough,
        fuel_per_page: 1_000_000_000,
        ..Limits::default()
    });
    agent
        .open(&Options::new("default".into()), Mode::Drive)
        .expect("it opens, with the fuel of its pages");
    let before = ledger.len();
    let long = prompt(2).replace('}', &format!("{}}}", " ".repeat(20_000)));
    let why = agent.propose(&long).expect_err("a long fact needs more fuel than a short one");
    assert_eq!(breach(&why).limit, Limit::Fuel);
    assert_eq!(ledger.len(), before, "no part of the batch is stored");
    let mut agent = another(Limits::default());
    agent.open(&Options::new("default".into()), Mode::Drive).expect("it opens");
    agent.propose(&prompt(2)).expect("the same fact again");
    agent.run_until_rest().expect("the agent continues");
}

/// A prompt with a body of this many bytes.
fn long(number: usize, bytes: usize) -> String {
    prompt(number).replace(r#""go""#, &format!("\"{}\"", "x".repeat(bytes)))
}

#[test]
fn a_ledger_whose_pages_are_longer_than_a_text_may_be_is_opened_all_the_same() {
    let ledger = MemoryLedger::default();
    let open = |limits| {
        let clock = VirtualClock::at(start());
        let mut agent = Sandbox::new(&product(), ledger.clone(), clock, Elsewhere, limits)
            .expect("an instance");
        agent.open(&Options::new("a".into()), Mode::Observe).map(|head| (agent, head))
    };
    let (mut agent, _) = open(Limits::default()).expect("it opens");
    for number in 0..40 {
        agent.propose(&long(number, 20_000)).expect("it is recorded");
    }
    let head = agent.catch_up().and_then(|_| agent.state()).expect("a state");
    let limits = Limits { payload_bytes: 50_000, ..Limits::default() };
    let (mut again, _) = open(limits).expect("it opens in pages");
    assert_eq!(again.catch_up().expect("it is whole"), 0);
    drop((agent, again));
    // An entry that is too long on its own still reaches the limit.
    let why = open(Limits { payload_bytes: 10_000, ..limits }).map(|_| ()).expect_err("too long");
    assert_eq!(breach(&why), Breach { limit: Limit::Payload, most: 10_000 });
    assert!(head.len() > 800_000, "all of it is in the state");
}

/// A ledger that counts how many entries it was asked for at most.
#[derive(Clone, Default)]
struct Asked {
    inner: MemoryLedger,
    most: std::rc::Rc<std::cell::Cell<u32>>,
}

impl Ledger for Asked {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.inner.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        self.most.set(self.most.get().max(limit));
        self.inner.read(after, limit)
    }
}

#[test]
fn a_guest_that_asks_for_a_whole_ledger_gets_a_page() {
    let ledger = Asked::default();
    let clock = VirtualClock::at(start());
    let mut agent = Sandbox::new(&hostile(), ledger.clone(), clock, Elsewhere, Limits::default())
        .expect("an instance");
    agent.propose("read_on").expect_err("it reads without end");
    assert!((1..=1024).contains(&ledger.most.get()), "{}", ledger.most.get());
}

/// A ledger that keeps the most bytes that it has lent at once.
struct Lent<L> {
    inner: L,
    most: std::rc::Rc<std::cell::Cell<usize>>,
}

impl<L: Ledger> Ledger for Lent<L> {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.inner.append(expected, batch)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        let page = self.inner.read(after, limit)?;
        let bytes = page.iter().map(|entry| entry.as_str().len()).sum();
        self.most.set(self.most.get().max(bytes));
        Ok(page)
    }
}

/// The most bytes that the host loads at once for a guest that asks for a whole ledger of 40 MiB.
fn lent_at_once(mut ledger: impl Ledger + 'static) -> usize {
    let mut head = Head::START;
    for _ in 0..40 {
        let long = wakeful_core::EventRecord::new(
            wakeful_core::EventKind::RuntimeError,
            start(),
            &"x".repeat(1 << 20),
        );
        let records = vec![wakeful_core::Record::Event(long)];
        let (entries, batch) = wakeful_core::seal_all(head, start(), records);
        ledger.append(&head, &batch).expect("it is stored");
        head = entries[0].head();
    }
    let most = std::rc::Rc::default();
    let ledger = Lent { inner: ledger, most: std::rc::Rc::clone(&most) };
    let clock = VirtualClock::at(start());
    let mut agent =
        Sandbox::new(&hostile(), ledger, clock, Elsewhere, Limits::default()).expect("an instance");
    agent.propose("read_all").expect("a page");
    most.get()
}

#[test]
fn a_guest_that_asks_for_long_entries_makes_the_host_load_a_page_of_few() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("a file");
    for lent in [lent_at_once(MemoryLedger::default()), lent_at_once(file.ledger(&"a".into()))] {
        assert!((1 << 20..=4 << 20).contains(&lent), "{lent} bytes");
    }
}

#[test]
fn what_a_call_appends_in_many_batches_is_bounded_together() {
    let limits = Limits { append_bytes: 1_000_000, host_calls: u64::MAX, ..SMALL };
    let stored = Appended::default();
    let clock = VirtualClock::at(start());
    let mut agent =
        Sandbox::new(&hostile(), stored.clone(), clock, Elsewhere, limits).expect("an instance");
    let why = agent.propose("append_on").expect_err("it appends without end");
    assert_eq!(breach(&why), Breach { limit: Limit::Appended, most: 1_000_000 });
    let bytes = stored.bytes.get();
    assert!((900_000..=1_000_000).contains(&bytes), "{bytes}");
}

/// A ledger that takes every batch.
#[derive(Clone, Default)]
struct Appended {
    bytes: std::rc::Rc<std::cell::Cell<usize>>,
}

impl Ledger for Appended {
    fn append(&mut self, _: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let bytes: usize = batch.iter().map(|entry| entry.as_str().len()).sum();
        self.bytes.set(self.bytes.get() + bytes);
        Ok(())
    }

    fn read(&mut self, _: Seq, _: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        Ok(Vec::new())
    }
}

#[test]
fn a_pool_that_does_not_fit_is_smaller() {
    let asked = Pool { instances: u32::MAX, ..Pool::default() };
    let runtime = Runtime::new(asked).expect("a runtime");
    let has = runtime.pool().instances;
    assert!((1..u32::MAX).contains(&has), "{has}");
    let product = runtime.load(&guest("wakeful.component.wasm")).expect("the guest");
    let mut agent = instance(&product, Limits::default());
    lives(&mut agent, 1).expect("it lives");
}
