//! What the turns, commands and children of an agent share, and what the host provides.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use wakeful_core::{
    id::AgentId,
    record::entry::{Entry, EntryBytes},
};
use wakeful_host::{engine::Engines, ledger::Store};

use crate::{
    budget::Budget,
    command,
    confine::{ConfineError, Confinement, Policy, Redactor, Wall, Workspace},
    cut,
    ground::Ground,
    openai::{Cancel, Endpoint, ToolDefinition},
    supervision::child_id,
    tools,
};

/// Observes agents. Calls come from several threads.
pub trait Audience: Send + Sync {
    /// Called for each entry that was appended.
    fn entry(&self, agent: &AgentId, entry: &Entry, bytes: &EntryBytes);

    /// Called for each piece of text from the model, before the round is complete.
    fn text(&self, agent: &AgentId, delta: &str);

    /// Called when the model starts to call a tool.
    fn calls(&self, agent: &AgentId, tool: &str);

    /// Called with a message for people that no entry records.
    fn notice(&self, agent: &AgentId, notice: &str);

    /// Called with each part of the policy that is not enforced here, when an agent begins. By
    /// default this is a notice.
    fn not_enforced(&self, agent: &AgentId, missing: &str) {
        self.notice(agent, missing);
    }
}

/// What a host provides for an agent.
#[derive(Clone)]
pub struct Setup {
    /// The id of the agent.
    pub agent_id: AgentId,
    /// The place of the ledgers of the agent and its children. Of a store in PostgreSQL, this
    /// process must be a worker ([`Store::join`]).
    pub store: Store,
    /// The engine that drives the ledgers.
    pub engines: Engines,
    /// The model.
    pub endpoint: Arc<Endpoint>,
    /// The folder in which the agent works.
    pub workspace: Workspace,
    /// The agent's own folder, for output of commands and temporary files.
    pub home: PathBuf,
    /// What its commands may do.
    pub policy: Policy,
    /// What keeps them in the workspace.
    pub wall: Wall,
    /// Other paths that its commands may read, such as the `.git` of a worktree's repository.
    pub also_read: Vec<PathBuf>,
    /// Other paths that its commands may write, such as the branches of that repository.
    pub also_write: Vec<PathBuf>,
    /// The program that confines commands: this one.
    pub launcher: PathBuf,
    /// Removes secrets from everything that becomes a fact.
    pub redactor: Arc<Redactor>,
    /// Breaks off at once all that runs for the agent and its children, and records nothing. A host
    /// sets it when this process may no longer own its agents.
    pub lost: Cancel,
    /// Whether the operator vouches for the clock of this machine. Then a ledger that a clock ahead
    /// left in the future is set back (contract 1.3).
    pub trusts_clock: bool,
    /// The most tokens of a prompt.
    pub context_tokens: u64,
    /// Whether the model is asked for a summary of turns that a prompt has no room for.
    pub summaries: bool,
    /// The most rounds of a turn.
    pub rounds_per_turn: u64,
    /// The most calls of one answer that are executed; at least 1.
    pub calls_per_round: usize,
    /// Instructions of the host for the model, added to those of the runtime.
    pub instructions: Option<String>,
    /// The observer.
    pub audience: Arc<dyn Audience>,
}

/// What all threads of an agent share.
pub(crate) struct Context {
    setup: Setup,
    /// Whether the agent is a child of another one.
    pub(crate) is_child: bool,
    pub(crate) confinement: Confinement,
    pub(crate) limits: command::Limits,
    tools: Vec<ToolDefinition>,
    tools_bytes: u64,
    /// What the provider's answers have taught about the length of prompts.
    budget: Mutex<Budget>,
}

impl Context {
    pub(crate) fn new(setup: Setup, is_child: bool) -> Result<Self, ConfineError> {
        let tools = tools::definitions(is_child);
        // The tools go with each prompt and never change, so they are measured once.
        let tools_bytes = tools
            .iter()
            .map(|tool| serde_json::to_string(tool).map_or(0, |text| text.len() as u64))
            .sum();
        let confinement = setup.ground().confinement()?;
        let limits = setup.policy.limits.of_commands();
        let budget = Mutex::new(Budget::new(setup.context_tokens));
        Ok(Self { setup, is_child, confinement, limits, tools, tools_bytes, budget })
    }

    /// The tools that the model sees.
    pub(crate) fn tools(&self) -> &[ToolDefinition] {
        &self.tools
    }

    /// A text of the model as a line of at most this many characters, without secrets. Secrets go
    /// first: a cut could leave a part of one.
    pub(crate) fn line(&self, text: &str, characters: usize) -> String {
        cut::line(&self.redactor.redact(text), characters)
    }

    /// The length of the tools in a prompt, in bytes.
    pub(crate) fn tools_bytes(&self) -> u64 {
        self.tools_bytes
    }

    /// The budget of the next turn's prompts.
    pub(crate) fn budget(&self) -> Budget {
        self.learned().of_next_turn(self.context_tokens)
    }

    /// Keeps what a turn has learned about the length of prompts.
    pub(crate) fn learn(&self, budget: Budget) {
        *self.learned() = budget;
    }

    fn learned(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the host provided.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The prefix of the marks of this agent's processes, by which a later process of the host
    /// finds them.
    pub(crate) fn mark(&self) -> String {
        // The `#` ends the id, so that the mark of agent `a` is not the prefix of that of `ab`.
        format!("{}{}#", self.mark_of_store(), self.setup.agent_id)
    }

    /// The store's real name: ledgers in other folders may have the same one.
    fn mark_of_store(&self) -> String {
        format!("{}#", self.setup.store.real_name())
    }

    /// Ends processes that an earlier process of this host left behind; for a parent, also those of
    /// its children.
    pub(crate) fn sweep(&self) {
        command::sweep(&self.mark());
        if !self.is_child {
            command::sweep(&format!(
                "{}{}",
                self.mark_of_store(),
                child_id(&self.setup.agent_id, "")
            ));
        }
    }

    /// The file for the output of a command.
    pub(crate) fn output_file(&self, name: &str) -> PathBuf {
        // The name contains a run id and so the agent's id, which may hold letters that no file
        // name can.
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .collect();
        self.ground().output().join(format!("{plain}.log"))
    }

    /// The longest time that a tool waits, even if the model asks for more.
    pub(crate) const LONGEST_WAIT: Duration = Duration::from_mins(10);
}

impl Setup {
    /// The folders of the agent, and what its commands may do there.
    pub(crate) fn ground(&self) -> Ground {
        Ground {
            workspace: self.workspace.clone(),
            home: self.home.clone(),
            policy: self.policy.clone(),
            wall: self.wall,
            launcher: self.launcher.clone(),
            also_read: self.also_read.clone(),
            also_write: self.also_write.clone(),
        }
    }
}

impl std::ops::Deref for Context {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}
