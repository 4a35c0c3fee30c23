//! `wakeful run`: runs an agent with a story or a model, and prints a readable log of every
//! decision and its reason.

#[cfg(target_os = "linux")]
mod agent;
#[cfg(target_os = "linux")]
mod conversation;
mod joined;
mod patience;
mod story;

use std::{
    path::PathBuf,
    process,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver},
    },
};

use clap::{Args, ValueEnum};

use wakeful_host::{
    driver::DriveError,
    ledger::{SqliteFile, Store},
};

use self::patience::Hurry;
use super::{CliError, Verdict, engines::DriverArg};

/// The exit code of a process that was interrupted twice.
const TOLD_TWICE: i32 = 130;

#[derive(Args)]
#[command(after_help = "\
    Ctrl-C shuts the agent down. The same command continues it later, even after a crash or \
    `kill -9`.\n\n\
    While another process holds the ledger, or its disk is full, the agent says so and waits.\n\n\
    With a store, this process is one of its workers while it runs: it drives this agent and no \
    other, and gives it back at its end.\n\n\
    The key of a provider comes from WAKEFUL_API_KEY, OPENAI_API_KEY or --api-key-file. It is \
    never written anywhere.\n\n\
    Exit codes:\n\
    \x20 0    the agent rests, or was shut down\n\
    \x20 2    the agent cannot start or continue\n\
    \x20 3    the story demands a crash here\n\
    \x20 4    the ledger was deleted, renamed, replaced or set back while the agent ran\n\
    \x20 5    the agent rests with --until-rest, but only because its last turn failed\n\
    \x20 130  Ctrl-C was pressed twice, which ends the process at once\n\n\
    Examples:\n\
    \x20 wakeful run --ledger agent.sqlite --story story.toml --virtual --until-rest\n\
    \x20 wakeful run --ledger agent.sqlite --provider openai --workspace project --model qwen3 --engine wasmtime\n\
    \x20 wakeful run --ledger agent.sqlite --provider openai --workspace project --model qwen3 --prompt \"Fix the \
    tests.\"\n\
    \x20 wakeful run --ledger a.sqlite --provider openai --workspace project --model qwen3 --base-url \
    http://localhost:11434/v1\n\
    \x20 wakeful run --ledger postgres://me@db.example/fleet --agent ada --provider openai \
    --workspace project --home home --model qwen3")]
pub(super) struct RunArgs {
    /// The ledger file, or the address of a store in PostgreSQL; it is created if missing
    #[arg(long, visible_alias = "store", value_name = "FILE|URL")]
    ledger: PathBuf,
    /// The provider that executes the turns
    #[arg(long, value_enum, default_value = "story")]
    provider: ProviderName,
    /// The agent [default: the story's, otherwise `default`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// End when the agent rests, and only repeating timers, offers of resting items or the next day
    /// of a budget would wake it
    #[arg(long)]
    until_rest: bool,
    /// Take the clock of this machine as right: if the ledger is ahead of it, set the ledger back
    #[arg(long)]
    trust_clock: bool,
    /// Print each entry as it is stored, one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    driver: DriverArg,
    #[command(flatten, next_help_heading = "With a story")]
    story: StoryArgs,
    #[cfg(target_os = "linux")]
    #[command(flatten, next_help_heading = "With --provider openai")]
    openai: agent::OpenAiArgs,
}

#[derive(Args)]
struct StoryArgs {
    /// The story to play (docs/stories.md)
    #[arg(long, value_name = "FILE", required_if_eq("provider", "story"))]
    story: Option<PathBuf>,
    /// Jump to the next event instead of waiting for it
    #[arg(long = "virtual")]
    is_virtual: bool,
    /// Use the times of an earlier ledger of this agent
    #[arg(long, value_name = "FILE", conflicts_with = "is_virtual")]
    recorded: Option<PathBuf>,
}

/// The provider that executes the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProviderName {
    /// A story, which says what happens in each turn
    Story,
    /// A model behind any server that speaks chat completions (docs/providers.md)
    #[cfg(target_os = "linux")]
    Openai,
}

impl RunArgs {
    pub(super) fn run(&self) -> Result<Verdict, CliError> {
        match (self.provider, &self.story.story) {
            #[cfg(target_os = "linux")]
            (ProviderName::Openai, Some(_)) => {
                let why = "a model decides what happens in its turns";
                Err(CliError::NotWith { option: "--story", with: "story", why })
            }
            #[cfg(target_os = "linux")]
            (ProviderName::Story, Some(_)) if self.openai.prompts() => {
                let why = "a story has its own prompts; `wakeful send` sends more to a running \
                           agent";
                Err(CliError::NotWith { option: "--prompt", with: "openai", why })
            }
            #[cfg(target_os = "linux")]
            (ProviderName::Openai, None) => agent::live(self),
            (ProviderName::Story, Some(story)) => story::play(self, story),
            (ProviderName::Story, None) => Err(CliError::NoStory),
        }
    }
}

/// Receives signals that request the end of a server. The second one ends the process at once.
pub(super) fn signalled() -> Result<Receiver<()>, CliError> {
    signals(Hurry::default())
}

/// Receives signals that request shutdown. The second one ends the process at once.
fn signals(hurry: Hurry) -> Result<Receiver<()>, CliError> {
    let (sender, receiver) = mpsc::channel();
    let told = AtomicBool::new(false);
    let heard = move || {
        hurry.up();
        // Without a receiver nothing else would react to the signal.
        if told.swap(true, Ordering::SeqCst) || sender.send(()).is_err() {
            process::exit(TOLD_TWICE);
        }
    };
    ctrlc::set_handler(heard).map_err(CliError::NoInterrupt)?;
    Ok(receiver)
}

/// The error of an agent that cannot continue. If its file was lost, this is the reason for
/// whatever else failed.
fn ended(why: DriveError, store: &Store) -> CliError {
    match (store.file().and_then(SqliteFile::lost), why) {
        (Some(lost), _) => CliError::Lost(lost),
        (None, why @ DriveError::SetBack { .. }) => {
            CliError::SetBack { path: store.to_string().into(), why }
        }
        (None, why) => CliError::Run(why),
    }
}
