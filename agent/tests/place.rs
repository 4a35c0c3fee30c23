//! A place for agents in the test's process: a ledger file, and what a host provides.

use std::{env, path::PathBuf, sync::Arc};

use tempfile::TempDir;
use wakeful_agent::{
    Audience, Setup,
    confine::{Policy, Redactor, Wall, Workspace},
};
use wakeful_core::{Options, host::Scheduler, id::AgentId, state::State};
use wakeful_host::{clock::SystemClock, engine::Engines, ledger::SqliteFile, provider::Elsewhere};

use crate::openai::{endpoint, server::Server};

/// A folder with a ledger file and a workspace.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) file: SqliteFile,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        std::fs::create_dir(folder.path().join("workspace")).expect("a workspace");
        let file = SqliteFile::open(&folder.path().join("agents.sqlite")).expect("it opens");
        Self { folder, file }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What an agent gets that asks this server.
    pub(crate) fn setup(&self, agent: &str, server: &Server, audience: Arc<dyn Audience>) -> Setup {
        Setup {
            agent_id: AgentId::from(agent),
            store: self.file.clone().into(),
            lost: wakeful_agent::openai::Cancel::new(),
            engines: Engines::Native,
            endpoint: Arc::new(endpoint(server)),
            workspace: Workspace::new(&self.path("workspace")).expect("a folder"),
            home: self.path("home"),
            policy: Policy::default(),
            wall: Wall::default(),
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
            audience,
        }
    }

    /// An agent as an observer sees it.
    pub(crate) fn observed(&self, agent: &AgentId) -> State {
        let ledger = self.file.ledger(agent);
        let observed =
            Scheduler::observe(Options::new(agent.clone()), ledger, SystemClock, Elsewhere);
        observed.expect("it is read").state().clone()
    }
}
