//! Children of an agent, in one process with it.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use wakeful_agent::{Agent, Audience, Ending, Until};
use wakeful_core::{
    derive::obligation::Obligation,
    id::AgentId,
    record::{
        Record,
        entry::{Entry, EntryBytes},
        task::TaskStatus,
        turn::RunStatus,
    },
    state::State,
};

use crate::{
    openai::{
        answer::Answer,
        server::{ReceivedRequest, Server},
    },
    place::Place,
};

/// An observer that panics in the host of a child, once, as soon as a turn of it starts.
#[derive(Default)]
struct Audit {
    breaks: bool,
    has_broken: AtomicBool,
    notices: Mutex<Vec<String>>,
}

impl Audience for Audit {
    fn entry(&self, agent: &AgentId, entry: &Entry, _: &EntryBytes) {
        let starts =
            matches!(&entry.record, Record::Turn(turn) if turn.status == RunStatus::Started);
        let is_child = agent.as_str() != "parent";
        let breaks = self.breaks && is_child && starts;
        assert!(
            !breaks || self.has_broken.swap(true, Ordering::SeqCst),
            "the test breaks the host"
        );
    }

    fn text(&self, _: &AgentId, _: &str) {}

    fn calls(&self, _: &AgentId, _: &str) {}

    fn notice(&self, _: &AgentId, notice: &str) {
        self.notices.lock().expect("it is not poisoned").push(notice.to_owned());
    }
}

/// Whether this is a request about the parent's own turn.
fn is_of_parent(request: &ReceivedRequest) -> bool {
    request.body["tools"]
        .as_array()
        .is_some_and(|tools| tools.iter().any(|tool| tool["function"]["name"] == "SpawnAgent"))
}

/// A model that spawns one child.
fn server() -> Server {
    let spawned = AtomicBool::new(false);
    Server::scripted(move |request| match is_of_parent(request) {
        false => Answer::says("Three files."),
        true if spawned.swap(true, Ordering::SeqCst) => Answer::says("Understood."),
        true => Answer::calls(&[("SpawnAgent", json!({ "initial_message": "count the files" }))]),
    })
}

/// The states of the parent and of its child after the parent spawned one and both came to rest.
fn states_after(breaks: bool) -> [State; 2] {
    let server = server();
    let place = Place::new();
    let audit = Arc::new(Audit { breaks, ..Audit::default() });
    let mut agent = Agent::open(place.setup("parent", &server, audit)).expect("it opens");
    agent.prompt("count the files with a child");
    assert_eq!(agent.live(Until::Rest).expect("it lives"), Ending::Rested);
    drop(agent);
    let agents = place.file.agents().expect("they are listed");
    let child = agents.iter().find(|id| id.as_str() != "parent").expect("a child");
    [&AgentId::from("parent"), child].map(|id| place.observed(id))
}

/// The status with which the task that supervises the child ended.
fn end_of_task(parent: &State) -> TaskStatus {
    let ended: Vec<_> = parent.tasks().ended.values().map(|(status, _)| *status).collect();
    let [status] = ended[..] else { panic!("one task ended: {ended:?}") };
    status
}

/// What the state owes already.
fn owed_now(state: &State) -> Vec<Obligation> {
    let enabled = |owed: &Obligation| owed.enabled_at.is_none() && owed.held_by.is_none();
    state.obligations().into_iter().filter(enabled).collect()
}

/// contract 5.11: when the task of a child has completed, the child owes nothing that is enabled.
#[test]
fn a_task_completes_after_its_child_owes_nothing() {
    let [parent, child] = states_after(false);
    assert_eq!(end_of_task(&parent), TaskStatus::Completed);
    assert_eq!(owed_now(&child), []);
    assert!(child.control().parked.is_none());
}

/// contract 1.5: a child whose host panics is parked with a diagnostic, and its parent goes on.
#[test]
fn a_child_whose_host_breaks_is_parked_and_its_parent_goes_on() {
    let [parent, child] = states_after(true);
    assert_eq!(end_of_task(&parent), TaskStatus::Failed);
    assert!(child.control().parked.is_some());
    assert!(child.turns().run.is_none());
    assert!(parent.control().parked.is_none());
    assert_eq!(parent.turns().turn_index, 2, "the parent hears of the end of its child");
}

/// A host that keeps only busy agents in memory keeps one whose child works.
#[test]
fn a_parent_is_idle_only_when_its_child_has_ended_and_both_rest_then() {
    let (server, place) = (server(), Place::new());
    let open = || Agent::open(place.setup("parent", &server, Arc::<Audit>::default()));
    let mut agent = open().expect("it opens");
    agent.prompt("count the files with a child");
    assert_eq!(agent.live(Until::Idle).expect("it lives"), Ending::Rested);
    drop(agent);
    let parent = AgentId::from("parent");
    let state = place.observed(&parent);
    assert_eq!(end_of_task(&state), TaskStatus::Completed);
    assert_eq!(state.turns().turn_index, 2, "it hears of the end of its child");
    let mut agent = open().expect("it opens");
    assert_eq!(agent.live(Until::Idle).expect("it lives"), Ending::Rested);
    assert_eq!(place.observed(&parent).head(), state.head());
    for agent in place.file.agents().expect("they are listed") {
        assert!(!place.file.own(&agent).expect("it rests").is_restart(), "{agent}");
    }
}
