//! The options of agents with a model, and the setup that is made from them. `wakeful run` has one
//! such agent, and `wakeful serve` many.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::{Args, builder::RangedU64ValueParser};
use wakeful_agent::{
    Audience, Setup,
    confine::{Policy, Redactor, Workspace},
    openai::{Cancel, Endpoint, EndpointOptions, OptionsError, Secret},
};
use wakeful_core::id::AgentId;
use wakeful_host::{engine::Engines, ledger::Store, text};
use zeroize::Zeroizing;

use super::{CliError, policy};

#[derive(Args)]
pub(super) struct ModelArgs {
    /// The URL of the server, with its version [default: $OPENAI_BASE_URL, otherwise
    /// https://api.openai.com/v1]
    #[arg(long, value_name = "URL", env = "WAKEFUL_BASE_URL")]
    base_url: Option<String>,
    /// The model, by the server's name for it
    #[arg(long, value_name = "NAME", env = "WAKEFUL_MODEL", required_if_eq("provider", "openai"))]
    model: Option<String>,
    /// A file that contains the key and nothing else
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// The policy for the agent's commands [default: what `wakeful print policy` prints]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// What keeps the agent's commands in their workspace
    #[arg(long, value_enum, default_value = "bubblewrap")]
    wall: policy::WallName,
    /// A file with further instructions for the model
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// The most tokens of a prompt; before it is reached, older rounds of a turn are summarised
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    context_tokens: u64,
    /// Do not ask the model for a summary of older turns; what does not fit is left out
    #[arg(long)]
    no_summaries: bool,
    /// The most tokens of an answer [default: the server's limit]
    #[arg(long, value_name = "N")]
    max_output_tokens: Option<u64>,
    /// The most rounds of a turn
    #[arg(long, value_name = "N", default_value_t = 100)]
    rounds: u64,
    /// The most calls of one answer that are executed
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..))]
    calls_per_round: u64,
    /// The longest wait for the first output of an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = seconds())]
    first_output_timeout: u64,
    /// The longest wait between two pieces of an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = seconds())]
    idle_timeout: u64,
    /// The longest time for a whole answer
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = seconds())]
    answer_timeout: u64,
    /// The maximum number of bytes of an answer, with its thoughts and calls
    #[arg(long, value_name = "N", default_value_t = 16 << 20, value_parser = clap::value_parser!(u64).range(1..))]
    max_answer_bytes: u64,
}

/// What a command says of its agent beside the options of the model.
pub(super) struct Place {
    pub(super) agent_id: AgentId,
    pub(super) store: Store,
    pub(super) engines: Engines,
    pub(super) workspace: Workspace,
    /// The agents' own folder.
    pub(super) home: PathBuf,
    pub(super) trusts_clock: bool,
    pub(super) audience: Arc<dyn Audience>,
}

/// What must be right before a ledger is opened: the policy and the endpoint.
pub(super) struct Checked {
    policy: Policy,
    endpoint: Endpoint,
    redactor: Redactor,
}

impl Checked {
    /// What to tell people about the key, if something is to be told.
    pub(super) fn notice(&self) -> Option<&'static str> {
        let key = self.endpoint.options().key.as_ref()?;
        (!key.is_distinct()).then_some(
            "the key is taken for a placeholder, because it is too short or a plain word; it is \
             not kept out of the ledger",
        )
    }
}

impl ModelArgs {
    /// Reads the policy and the key, and refuses a ledger, a folder or a program that commands
    /// could change. Nothing is opened yet.
    pub(super) fn checked(
        &self,
        workspace: &Workspace,
        ledger: Option<&Path>,
        home: &Path,
    ) -> Result<Checked, CliError> {
        let policy = self.policy.as_deref().map_or_else(|| Ok(Policy::default()), policy::read)?;
        self.require_apart(workspace, &policy, ledger, home)?;
        let key = self.key()?;
        let endpoint = self.endpoint(key.as_deref().map(String::as_str))?;
        // The key must not become a fact, even if a command or the model repeats it.
        let redactor = Redactor::new(key.iter().map(|key| key.as_str()));
        Ok(Checked { policy, endpoint, redactor })
    }

    /// The setup of an agent.
    pub(super) fn setup(&self, checked: Checked, place: Place) -> Result<Setup, CliError> {
        Ok(Setup {
            agent_id: place.agent_id,
            store: place.store,
            engines: place.engines,
            endpoint: Arc::new(checked.endpoint),
            workspace: place.workspace,
            home: place.home,
            policy: checked.policy,
            wall: self.wall.into(),
            also_read: Vec::new(),
            also_write: Vec::new(),
            // Commands start as this program, which confines itself and then becomes the command
            // (decision 010).
            launcher: env::current_exe()
                .map_err(|why| CliError::Read { path: PathBuf::from("the program itself"), why })?,
            redactor: Arc::new(checked.redactor),
            lost: Cancel::new(),
            trusts_clock: place.trusts_clock,
            context_tokens: self.context_tokens,
            summaries: !self.no_summaries,
            rounds_per_turn: self.rounds,
            calls_per_round: usize::try_from(self.calls_per_round).unwrap_or(usize::MAX),
            instructions: self.instructions.as_deref().map(read).transpose()?,
            audience: place.audience,
        })
    }

    fn endpoint(&self, key: Option<&str>) -> Result<Endpoint, CliError> {
        let from_environment = || env::var("OPENAI_BASE_URL").ok().filter(|url| !url.is_empty());
        let base_url = self
            .base_url
            .clone()
            .or_else(from_environment)
            .unwrap_or_else(|| "https://api.openai.com/v1".to_owned());
        // `Endpoint::new` refuses an empty name, with the options that give one.
        let mut options = EndpointOptions::new(base_url, self.model.clone().unwrap_or_default());
        options.key = key.map(Secret::new).transpose()?;
        let is_distinct = options.key.as_ref().is_none_or(Secret::is_distinct);
        options.max_output_tokens = self.max_output_tokens;
        options.max_answer_bytes = self.max_answer_bytes;
        options.patience.first_byte = Duration::from_secs(self.first_output_timeout);
        options.patience.idle = Duration::from_secs(self.idle_timeout);
        options.patience.total = Duration::from_secs(self.answer_timeout);
        let endpoint = Endpoint::new(options)?;
        // A server on this machine often needs no key and gets a placeholder.
        if !is_distinct && !endpoint.is_here() {
            return Err(OptionsError::KeyNotDistinct.into());
        }
        Ok(endpoint)
    }

    fn key(&self) -> Result<Option<Zeroizing<String>>, CliError> {
        let text = match &self.api_key_file {
            Some(file) => Some(Zeroizing::new(read(file)?)),
            None => ["WAKEFUL_API_KEY", "OPENAI_API_KEY"]
                .iter()
                .find_map(|name| env::var(name).ok().filter(|key| !key.is_empty()))
                .map(Zeroizing::new),
        };
        Ok(text.map(|text| Zeroizing::new(text.trim().to_owned())))
    }

    fn require_apart(
        &self,
        workspace: &Workspace,
        policy: &Policy,
        ledger: Option<&Path>,
        home: &Path,
    ) -> Result<(), CliError> {
        let program = env::current_exe().unwrap_or_default();
        let mut open = policy.files.written(env::home_dir().as_deref());
        open.push(workspace.root().to_owned());
        let ledger = ledger.map(|ledger| ("its ledger", ledger, "--ledger"));
        let places = [("its own folder", home, "--home"), ("the program `wakeful`", &program, "")];
        for (what, path, option) in ledger.into_iter().chain(places) {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            // A link counts as what it leads to. What does not exist yet will be in its folder.
            let in_folder = || {
                let folder = path.parent()?.canonicalize().ok()?;
                Some(folder.join(path.file_name().unwrap_or_default()))
            };
            let real = path.canonicalize().ok().or_else(in_folder);
            let Some(folder) = real.and_then(|real| open.iter().find(|it| real.starts_with(it)))
            else {
                continue;
            };
            let opens = if folder == workspace.root() { "--workspace" } else { "--policy" };
            let mend = match option {
                "" => format!("install it elsewhere, or open another folder with {opens}"),
                option => {
                    format!(
                        "open another folder with {opens}, or name a path outside with {option}"
                    )
                }
            };
            return Err(CliError::OpenToCommands { what, path, folder: folder.clone(), mend });
        }
        Ok(())
    }
}

/// Reads a time limit: from a second to a year.
fn seconds() -> RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=31_536_000)
}

fn read(file: &Path) -> Result<String, CliError> {
    text::read(file).map_err(|why| CliError::Read { path: file.to_owned(), why })
}

/// The folder in which commands work.
pub(super) fn workspace(path: &Path) -> Result<Workspace, CliError> {
    Workspace::new(path)
        .map_err(|why| CliError::Workspace { path: path.to_owned(), why: why.to_string() })
}
