//! `wakeful run`: a live agent, with a story or with a model, and a readable log of every decision
//! and why.

#[cfg(target_os = "linux")]
mod agent;
#[cfg(target_os = "linux")]
mod conversation;
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

use super::{CliError, Verdict, engines::DriverArg};

/// How a process ends that was told twice.
const TOLD_TWICE: i32 = 130;

#[derive(Args)]
#[command(
    after_help = "Ctrl-C shuts the agent down; started again it goes on. Exit codes: 0 at rest or shut down; 2 it cannot go on; 3 the story \
                        crashes here; 130 Ctrl-C twice, which ends it at once.\n\nThe key of a provider comes from WAKEFUL_API_KEY or OPENAI_API_KEY, or from --api-key-file; it is never written \
                        anywhere.\n\nExamples:\n  wakeful run --ledger agent.sqlite --story story.toml --virtual --until-rest\n  \
                        wakeful run --ledger agent.sqlite --provider openai --base-url http://localhost:11434/v1 --model qwen3\n  \
                        wakeful run --ledger agent.sqlite --provider openai --model qwen3 --prompt \"Make the tests pass.\" --until-rest --engine wasmtime"
)]
pub(super) struct RunArgs {
    /// The file of ledgers; made where there is none
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    /// Who executes turns
    #[arg(long, value_enum, default_value = "story")]
    provider: ProviderName,
    /// The agent [default: the story's, else `default`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// End when the agent rests, with nothing but repeating timers and offers of resting items to
    /// wake it
    #[arg(long)]
    until_rest: bool,
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
    /// The story that it plays (docs/stories.md)
    #[arg(long, value_name = "FILE", required_if_eq("provider", "story"))]
    story: Option<PathBuf>,
    /// Jump to the next thing that happens instead of waiting for it
    #[arg(long = "virtual")]
    is_virtual: bool,
    /// Play at the instants of an earlier ledger of this agent
    #[arg(long, value_name = "FILE", conflicts_with = "is_virtual")]
    recorded: Option<PathBuf>,
}

/// Who executes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProviderName {
    /// A story, which says beforehand what happens in each turn
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
                let why = "a model says by itself what happens in a turn";
                Err(CliError::NotWith { option: "--story", with: "story", why })
            }
            #[cfg(target_os = "linux")]
            (ProviderName::Story, Some(_)) if self.openai.prompts() => {
                let why = "a story says by itself what comes in, and `wakeful send` says more to \
                           an agent that lives";
                Err(CliError::NotWith { option: "--prompt", with: "openai", why })
            }
            #[cfg(target_os = "linux")]
            (ProviderName::Openai, None) => agent::live(self),
            (ProviderName::Story, Some(story)) => story::play(self, story),
            (ProviderName::Story, None) => Err(CliError::NoStory),
        }
    }
}

/// The signals that ask for shutdown; the second one ends the process at once.
fn signals() -> Result<Receiver<()>, CliError> {
    let (sender, receiver) = mpsc::channel();
    let told = AtomicBool::new(false);
    let heard = move || {
        if told.swap(true, Ordering::SeqCst) || sender.send(()).is_err() {
            process::exit(TOLD_TWICE);
        }
    };
    ctrlc::set_handler(heard).map_err(CliError::NoInterrupt)?;
    Ok(receiver)
}
