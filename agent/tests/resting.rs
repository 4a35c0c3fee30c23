//! Agents that are dropped from memory while they rest, and opened again in the same process
//! (contract 5.23).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use wakeful_agent::{
    Agent, AgentError, Audience, Ending, Setup, Until,
    confine::{Network, Policy},
};
use wakeful_core::{
    Options,
    host::Scheduler,
    id::AgentId,
    record::{
        Record,
        chain::Head,
        control::ControlRecord,
        entry::{Entry, EntryBytes},
    },
};
use wakeful_host::{
    clock::SystemClock,
    driver::{self, DriveError},
    ledger::{OwnError, OwningError, SqliteFile},
    provider::Elsewhere,
};

use crate::{
    openai::{answer::Answer, server::Server},
    place::Place,
};

/// An observer that keeps the notices.
#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Audience for Notices {
    fn entry(&self, _: &AgentId, _: &Entry, _: &EntryBytes) {}

    fn text(&self, _: &AgentId, _: &str) {}

    fn calls(&self, _: &AgentId, _: &str) {}

    fn notice(&self, _: &AgentId, notice: &str) {
        self.0.lock().expect("it is not poisoned").push(notice.to_owned());
    }
}

/// A host of the agent `ada`.
struct Host {
    place: Place,
    server: Server,
    notices: Arc<Notices>,
}

impl Host {
    fn new() -> Self {
        let server = Server::scripted(|_| Answer::says("Understood."));
        Self { place: Place::new(), server, notices: Arc::default() }
    }

    fn setup(&self) -> Setup {
        self.place.setup("ada", &self.server, self.notices.clone())
    }

    fn open(&self) -> Agent {
        Agent::open(self.setup()).expect("it opens")
    }

    /// Opens the agent and lets it live until it is idle.
    fn live(&self, prompt: Option<&str>) -> Ending {
        let mut agent = self.open();
        prompt.into_iter().for_each(|prompt| agent.prompt(prompt));
        agent.live(Until::Idle).expect("it lives")
    }

    fn entries(&self) -> Vec<Entry> {
        let mut ledger = self.place.file.ledger(&"ada".into());
        let mut entries = Vec::new();
        driver::read(&mut ledger, Head::START, |entry, _| entries.push(entry.clone()))
            .expect("they are read");
        entries
    }

    fn restarts(&self) -> usize {
        let is_restart = |entry: &Entry| {
            matches!(entry.record, Record::Control(ControlRecord::RuntimeRestarted(_)))
        };
        self.entries().into_iter().filter(is_restart).count()
    }

    fn pieces_about_the_wall(&self) -> usize {
        let is_piece = |entry: &Entry| match &entry.record {
            Record::Transcript(piece) => piece.data.as_str().contains("\"confinement\""),
            _ => false,
        };
        self.entries().into_iter().filter(is_piece).count()
    }

    fn turns(&self) -> u64 {
        self.place.observed(&"ada".into()).turns().turn_index
    }

    /// Says a fact as another process does.
    fn hear(&self, fact: &serde_json::Value) {
        let other = SqliteFile::open(self.place.file.path()).expect("it opens");
        let ledger = other.ledger(&"ada".into());
        Scheduler::observe(Options::new("ada".into()), ledger, SystemClock, Elsewhere)
            .expect("it opens")
            .propose(&fact.to_string())
            .expect("it is recorded");
    }
}

#[test]
fn an_agent_that_rests_is_opened_again_without_an_entry_and_goes_on() {
    let host = Host::new();
    assert_eq!(host.live(Some("one")), Ending::Rested);
    let (entries, notices) = (host.entries(), host.notices.0.lock().expect("notices").len());
    for _ in 0..2 {
        let mut agent = host.open();
        assert_eq!(host.entries(), entries, "opening it records nothing");
        assert_eq!(agent.live(Until::Idle).expect("it lives"), Ending::Rested);
        assert_eq!(host.entries(), entries, "nor does its rest");
    }
    assert_eq!(host.notices.0.lock().expect("notices").len(), notices, "nothing is said twice");
    assert_eq!(host.live(Some("two")), Ending::Rested);
    assert_eq!((host.turns(), host.restarts(), host.pieces_about_the_wall()), (2, 1, 1));
    let prompt = host.server.received().pop().expect("a request").body.to_string();
    assert!(prompt.contains("one"), "it remembers what was said before it rested");
    assert_eq!(host.open().live(Until::Rest).expect("it lives"), Ending::Rested);
    assert_eq!(host.restarts(), 1, "each kind of rest is one");
}

#[test]
fn a_policy_that_has_changed_while_the_agent_rested_is_recorded() {
    let host = Host::new();
    host.live(None);
    let setup =
        || Setup { policy: Policy { network: Network::Open, ..Policy::default() }, ..host.setup() };
    for _ in 0..2 {
        let mut agent = Agent::open(setup()).expect("it opens");
        agent.live(Until::Idle).expect("it lives");
        assert_eq!((host.restarts(), host.pieces_about_the_wall()), (1, 2));
    }
}

#[test]
fn what_is_said_while_it_rests_is_heard_when_it_is_opened() {
    let host = Host::new();
    host.live(None);
    host.hear(
        &json!({ "fact": "message_queued", "message": { "id": "m", "kind": "operator_prompt",
        "origin": { "kind": "operator" }, "trust": "trusted_operator",
        "body": { "type": "text", "text": "hello" } } }),
    );
    assert_eq!(host.live(None), Ending::Rested);
    assert_eq!((host.turns(), host.restarts()), (1, 1));
}

#[test]
fn an_idle_agent_ends_before_its_timer_and_is_opened_for_it() {
    let now = || wakeful_core::host::Clock::now(&mut SystemClock);
    // On a slow machine a timer may be due before the agent is idle: then it is a longer one.
    let idle = [1_500, 15_000, 150_000].into_iter().find_map(|duration| {
        let host = Host::new();
        host.live(None);
        host.hear(&json!({ "fact": "timer_created", "timer_id": "later", "duration_ms": duration,
            "summary": "look again" }));
        let mut agent = host.open();
        assert_eq!(agent.live(Until::Idle).expect("it lives"), Ending::Rested);
        let due = agent.next_wake().expect("the engine answers")?;
        (now() < due).then_some((host, agent, due))
    });
    let (host, agent, due) = idle.expect("it does not wait for the timer");
    assert_eq!(host.turns(), 0, "it did not wait for it");
    let left = due.as_nanos().saturating_sub(now().as_nanos()).max(0);
    std::thread::sleep(Duration::from_nanos(left.unsigned_abs()));
    drop(agent);
    assert_eq!(host.live(None), Ending::Rested);
    assert_eq!((host.turns(), host.restarts()), (1, 1));
}

#[test]
fn a_stopped_agent_is_idle() {
    let host = Host::new();
    host.live(None);
    host.hear(&json!({ "fact": "stop_requested" }));
    assert_eq!(host.live(Some("not now")), Ending::Rested);
    assert_eq!((host.turns(), host.restarts()), (0, 1));
    host.hear(&json!({ "fact": "start_requested" }));
    assert_eq!(host.live(None), Ending::Rested);
    assert_eq!((host.turns(), host.restarts()), (1, 1));
}

#[test]
fn an_agent_whose_turn_failed_rests_too() {
    let host = Host { server: Server::answering([]), ..Host::new() };
    assert_eq!(host.live(Some("hello")), Ending::Failed);
    assert_eq!(host.live(None), Ending::Failed);
    assert_eq!(host.restarts(), 1);
}

#[test]
fn an_agent_that_did_not_come_to_rest_is_restarted() {
    let host = Host::new();
    host.live(None);
    drop(host.open());
    assert_eq!(host.restarts(), 1);
    host.live(None);
    assert_eq!(host.restarts(), 2, "it was dropped before it rested");

    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _agent = host.open();
        panic!("the test breaks the host");
    }));
    assert!(panicked.is_err());
    host.live(None);
    assert_eq!(host.restarts(), 3, "its host panicked");

    let mut agent = host.open();
    let ledger = host.place.file.ledger(&"ada".into());
    // A program that asks for no claim.
    Scheduler::drive(Options::new("ada".into()), ledger, SystemClock, Elsewhere).expect("it opens");
    let why = agent.live(Until::Idle).expect_err("another one has taken it over");
    assert!(matches!(why, AgentError::Drive(DriveError::TakenOver(_))), "{why}");
    drop(agent);
    host.live(None);
    assert_eq!(host.restarts(), 5, "its driver failed");
}

#[test]
fn an_open_agent_is_not_opened_twice_and_one_that_was_shut_down_is_free() {
    let host = Host::new();
    let mut agent = host.open();
    let before = host.entries();
    let other = SqliteFile::open(host.place.file.path()).expect("it opens");
    for setup in [host.setup(), Setup { store: other.clone().into(), ..host.setup() }] {
        let why = Agent::open(setup).map(|_| ()).expect_err("it is open");
        assert!(
            matches!(
                why,
                AgentError::Own(OwningError::Sqlite(OwnError::Driven { here: true, .. }))
            ),
            "{why}"
        );
    }
    assert_eq!(host.entries(), before, "a refusal records nothing");
    let handle = agent.handle();
    let told = std::thread::spawn(move || handle.shut_down());
    assert_eq!(agent.live(Until::Told).expect("it lives"), Ending::ShutDown);
    told.join().expect("it ends").expect("the agent heard it");
    let mut agent = Agent::open(Setup { store: other.into(), ..host.setup() }).expect("it is free");
    assert_eq!(agent.live(Until::Idle).expect("it lives"), Ending::Rested);
    assert_eq!(host.restarts(), 2, "another one has driven it");
}
