//! Children of an agent, in one process with it.

use std::{
    env,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;
use tempfile::TempDir;
use wakeful_agent::{
    Agent, Audience, Ending, Setup, Until,
    confine::{Policy, Redactor, Wall, Workspace},
};
use wakeful_core::{
    Options,
    derive::obligation::Obligation,
    host::Scheduler,
    id::AgentId,
    record::{
        Record,
        entry::{Entry, EntryBytes},
        task::TaskStatus,
        turn::RunStatus,
    },
    state::State,
};
use wakeful_host::{clock::SystemClock, engine::Engines, ledger::SqliteFile, provider::Elsewhere};

use crate::openai::{
    answer::Answer,
    endpoint,
    server::{ReceivedRequest, Server},
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

/// The states of the parent and of its child after the parent spawned one and both came to rest.
fn states_after(breaks: bool) -> [State; 2] {
    let spawned = AtomicBool::new(false);
    let server = Server::scripted(move |request| match is_of_parent(request) {
        false => Answer::says("Three files."),
        true if spawned.swap(true, Ordering::SeqCst) => Answer::says("Understood."),
        true => Answer::calls(&[("SpawnAgent", json!({ "initial_message": "count the files" }))]),
    });
    let folder = TempDir::new().expect("a folder");
    let (workspace, home) = (folder.path().join("workspace"), folder.path().join("home"));
    std::fs::create_dir(&workspace).expect("a workspace");
    let file = SqliteFile::open(&folder.path().join("agents.sqlite")).expect("it opens");
    let audit = Arc::new(Audit { breaks, ..Audit::default() });
    let mut agent = Agent::open(Setup {
        agent_id: AgentId::from("parent"),
        file: file.clone(),
        engines: Engines::Native,
        endpoint: Arc::new(endpoint(&server)),
        workspace: Workspace::new(&workspace).expect("a folder"),
        home,
        policy: Policy::default(),
        wall: Wall::Landlock,
        also_read: Vec::new(),
        also_write: Vec::new(),
        // No command runs in these tests.
        launcher: env::current_exe().expect("this program"),
        redactor: Arc::new(Redactor::new([""; 0])),
        trusts_clock: false,
        context_tokens: 100_000,
        summaries: false,
        rounds_per_turn: 10,
        calls_per_round: 10,
        instructions: None,
        audience: audit,
    })
    .expect("it opens");
    agent.prompt("count the files with a child");
    assert_eq!(agent.live(Until::Rest).expect("it lives"), Ending::Rested);
    drop(agent);
    let agents = file.agents().expect("they are listed");
    let child = agents.iter().find(|id| id.as_str() != "parent").expect("a child").clone();
    [AgentId::from("parent"), child].map(|id| {
        let ledger = file.ledger(&id);
        let observed = Scheduler::observe(Options::new(id), ledger, SystemClock, Elsewhere);
        observed.expect("it is read").state().clone()
    })
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
