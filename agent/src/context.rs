//! What the turns, commands and children of an agent share, and what the host gave it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use wakeful_core::{
    id::AgentId,
    record::entry::{Entry, EntryBytes},
};
use wakeful_host::{engine::Engines, ledger::SqliteFile};

use crate::{
    child, command,
    confine::{ConfineError, Confinement, Policy, Redactor, Surroundings, Workspace},
    openai::{Endpoint, ToolDefinition},
    tools,
};

/// Who watches agents live. Calls come from several threads.
pub trait Audience: Send + Sync {
    /// An entry was appended.
    fn entry(&self, agent: &AgentId, entry: &Entry, bytes: &EntryBytes);

    /// The model says something; the round is not complete yet.
    fn text(&self, agent: &AgentId, delta: &str);

    /// The model begins to call a tool.
    fn calls(&self, agent: &AgentId, tool: &str);

    /// Something that no entry says.
    fn notice(&self, agent: &AgentId, notice: &str);
}

/// What a host gives to an agent.
#[derive(Clone)]
pub struct Setup {
    /// The agent.
    pub agent_id: AgentId,
    /// The file with its ledger and those of its children.
    pub file: SqliteFile,
    /// What it is driven by.
    pub engines: Engines,
    /// The model.
    pub endpoint: Arc<Endpoint>,
    /// Where it works.
    pub workspace: Workspace,
    /// Its own folder: output of commands, temporary files.
    pub home: PathBuf,
    /// What its commands may do.
    pub policy: Policy,
    /// What its commands may write besides, as the `.git` of the repository of a worktree.
    pub also_write: Vec<PathBuf>,
    /// The program that confines commands: this one.
    pub launcher: PathBuf,
    /// Takes secrets out of whatever becomes a fact.
    pub redactor: Arc<Redactor>,
    /// The most tokens of a prompt.
    pub context_tokens: u64,
    /// The most rounds of a turn.
    pub rounds_per_turn: u64,
    /// What the host tells the model beside how the runtime works.
    pub instructions: Option<String>,
    /// Who watches.
    pub audience: Arc<dyn Audience>,
}

/// What all threads of an agent share.
pub(crate) struct Context {
    setup: Setup,
    /// Whether it is somebody's child.
    pub(crate) is_child: bool,
    pub(crate) confinement: Confinement,
    pub(crate) limits: command::Limits,
    tools: Vec<ToolDefinition>,
    tools_bytes: u64,
}

impl Context {
    pub(crate) fn new(setup: Setup, is_child: bool) -> Result<Self, ConfineError> {
        let tools = tools::definitions(is_child);
        let tools_bytes = tools
            .iter()
            .map(|tool| serde_json::to_string(tool).map_or(0, |text| text.len() as u64))
            .sum();
        let confinement = confinement(&setup, Vec::new())?;
        let limits = setup.policy.limits.of_commands();
        Ok(Self { setup, is_child, confinement, limits, tools, tools_bytes })
    }

    /// The confinement of programs that write to these places too.
    pub(crate) fn confinement_with(
        &self,
        also_write: Vec<PathBuf>,
    ) -> Result<Confinement, ConfineError> {
        confinement(&self.setup, also_write)
    }

    /// The tools that the model sees.
    pub(crate) fn tools(&self) -> &[ToolDefinition] {
        &self.tools
    }

    /// Their length in a prompt, in bytes.
    pub(crate) fn tools_bytes(&self) -> u64 {
        self.tools_bytes
    }

    /// What the host gave.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// How the marks of this agent's processes begin, by which a later life of it finds them.
    pub(crate) fn mark(&self) -> String {
        format!("{}{}#", self.mark_of_file(), self.setup.agent_id)
    }

    /// By its real path: other ledgers have the same name in other folders.
    fn mark_of_file(&self) -> String {
        let path = self.setup.file.path();
        format!("{}#", path.canonicalize().unwrap_or_else(|_| path.to_owned()).display())
    }

    /// Ends what an earlier life of this host left behind: a parent's, with its children's.
    pub(crate) fn sweep(&self) {
        command::sweep(&self.mark());
        if !self.is_child {
            command::sweep(&format!(
                "{}{}",
                self.mark_of_file(),
                child::id_of(&self.setup.agent_id, "")
            ));
        }
    }

    /// Where the output of a command is kept.
    pub(crate) fn output_file(&self, name: &str) -> PathBuf {
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        self.setup.home.join("output").join(format!("{plain}.log"))
    }

    /// The longest that a tool waits for something, whatever it is asked.
    pub(crate) const LONGEST_WAIT: Duration = Duration::from_mins(10);
}

fn confinement(setup: &Setup, also_write: Vec<PathBuf>) -> Result<Confinement, ConfineError> {
    let around = Surroundings {
        launcher: setup.launcher.clone(),
        home: std::env::home_dir(),
        scratch: setup.home.join("tmp"),
        also_write: [setup.also_write.clone(), also_write].concat(),
    };
    Confinement::new(setup.policy.clone(), setup.workspace.clone(), &around)
}

impl std::ops::Deref for Context {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}
