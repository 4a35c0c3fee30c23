//! The command line: one file per command.

#[macro_use]
mod say;

mod archive;
mod conformance;
mod crosscheck;
mod diff;
mod doctor;
mod engines;
mod explain;
mod export;
mod import;
mod ledger;
mod log;
mod man;
#[cfg(target_os = "linux")]
mod policy;
mod replay;
mod rules;
mod run;
mod send;
mod status;
mod style;
mod trace;
mod versions;
mod why;

use std::{fmt::Display, io, path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory, Parser, Subcommand};

use wakeful_core::{
    host::SchedulerError,
    id::{AgentId, Seq},
};
use wakeful_host::{
    engine::EngineError,
    ledger::{LinesError, SqliteError},
    sandbox::GuestError,
};

use crate::{case::CaseError, schema, trace::TraceError};

/// Decides what a long-lived agent does next, and says why.
#[derive(Parser)]
#[command(
    name = "wakeful",
    version,
    after_help = "Exit codes: 0 all well; 1 something differs from what was expected, or is \
                  wrong; 2 the input or the arguments cannot be used; 3 not all of it can be done \
                  here, or a story says that its process dies; 130 interrupted \
                  twice.\n\nExamples:\n  wakeful replay tests/fixtures/scheduler\n  wakeful \
                  explain tests/fixtures/stories/heartbeat.json\n  wakeful why \
                  tests/fixtures/stories/heartbeat.json --not Sleep\n  wakeful crosscheck \
                  tests/fixtures --engines native,wasmtime\n  wakeful log ledger.sqlite \
                  --follow\n  wakeful run --ledger agent.sqlite --story story.toml\n  wakeful run \
                  --ledger agent.sqlite --provider openai --model NAME"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Replay fixtures and compare what is decided with their `expected.json`
    Replay(replay::Replay),
    /// Say what is decided after a fixture or a story, and what each rule said
    Explain(explain::Explain),
    /// Say in a sentence what an agent does and why, and what would lead to another decision
    Why(why::Why),
    /// Say where the agent of a ledger stands, on one screen
    Status(status::Status),
    /// Print the entries of a ledger, a line each
    Log(log::Log),
    /// Verify a ledger, check what must hold at each of its batches, and list what is owed and what
    /// looks wrong
    Doctor(doctor::Doctor),
    /// Move the beginning of a ledger into another file
    Archive(archive::Archive),
    /// Compare what a ledger decides with what another edition of the rules would decide
    Diff(diff::Diff),
    /// Play cases with several engines and name the first difference
    Crosscheck(crosscheck::Crosscheck),
    /// Judge our own functions by vectors of the reference runtime
    Conformance(conformance::Conformance),
    /// Let an agent live, with a story or a model: drive its ledger, and print what is decided and
    /// why
    Run(Box<run::RunArgs>),
    /// Say something to a live agent from outside
    Send(send::Send),
    /// Turn the folder of another runtime into a case
    Import(import::Import),
    /// Turn any case or ledger into a fixture folder of full records
    Export(export::Export),
    /// Print what an engine does with cases, step by step, as JSON
    Trace(trace::TraceArgs),
    /// Print what the commands of agents may do, or check a file that says it
    #[cfg(target_os = "linux")]
    Policy(policy::PolicyArgs),
    /// Print the rules that decide, in the order of each edition
    Rules(rules::Rules),
    /// Print the version of everything that has one
    Versions(versions::Versions),
    /// Print the JSON Schema of every payload
    #[command(after_help = "Facts, records, decisions, explanations, summaries, receipts, \
                            stories and fixtures, each under its name in `$defs`: what --json of \
                            the other commands prints is one of them where its help says \
                            so.\n\nExit codes: 0 printed.\n\nExamples:\n  wakeful schema > \
                            wakeful.schema.json")]
    Schema,
    /// Print a completion script for a shell
    #[command(after_help = "Exit codes: 0 printed.\n\nExamples:\n  wakeful completions bash > \
                            ~/.local/share/bash-completion/completions/wakeful\n  wakeful \
                            completions zsh > ~/.zfunc/_wakeful\n  wakeful completions fish > \
                            ~/.config/fish/completions/wakeful.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual, or write its pages
    Man(man::ManArgs),
}

/// What is played.
#[derive(Args)]
struct Cases {
    /// Fixture folders, stories (`.toml`, `.json`), or folders of either
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<PathBuf>,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// What was named cannot be played.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The guest cannot be used.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// There is no guest.
    #[error(transparent)]
    NoGuest(#[from] wakeful_host::sandbox::NoGuest),
    /// An engine broke down over a case.
    #[error("{case}: {why}")]
    Trace {
        /// The case.
        case: String,
        /// Why.
        why: TraceError,
    },
    /// An engine cannot be started.
    #[error(transparent)]
    Engine(#[from] TraceError),
    /// Fuel was asked of an engine that counts none.
    #[error(
        "the engine {engine} counts no fuel that others count alike; take --engine wasmtime or \
         pulley"
    )]
    NoFuel {
        /// The engine.
        engine: &'static str,
    },
    /// There is nothing to play.
    #[error(
        "name the cases to play; without a name those of the source tree are played, and this is \
         not in it"
    )]
    NoCases,
    /// The engine that others are compared with broke down.
    #[error(transparent)]
    NoReference(#[from] crate::crosscheck::NoReference),
    /// The scheduler refused the case.
    #[error("{case}: {message}")]
    Refused {
        /// The case.
        case: String,
        /// Why.
        message: String,
    },
    /// Something other than a fixture was to be replayed.
    #[error(
        "`{0}` is a story: replay reads fixtures; use `wakeful explain` or `wakeful crosscheck` \
         for stories"
    )]
    NotAFixture(String),
    /// A story was to be imported.
    #[error("`{}` is a story: import reads folders; use `wakeful export` for stories", .0.display())]
    NotAFolder(PathBuf),
    /// An option goes with files of ledgers only.
    #[error("`{}` is no file of ledgers: --agent and --up-to go with one", .0.display())]
    OnlyOfLedgers(PathBuf),
    /// A folder would be written over.
    #[error("`{}` is not empty: name another folder, or replace what is there with --force", .0.display())]
    NotEmpty(PathBuf),
    /// A file of vectors cannot be read.
    #[error(transparent)]
    Vectors(#[from] crate::conformance::VectorError),
    /// A vector cannot be answered.
    #[error("{}: {message}", file.display())]
    Vector {
        /// The file.
        file: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
    /// Nobody answers vectors.
    #[error(transparent)]
    Oracle(#[from] crate::conformance::OracleError),
    /// A live agent cannot go on.
    #[error(transparent)]
    Run(#[from] wakeful_host::driver::DriveError),
    /// A real agent cannot live.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Agent(#[from] wakeful_agent::AgentError),
    /// Two kinds of provider were asked for.
    #[error("{option} goes with --provider {with}: {why}")]
    NotWith {
        /// What was given.
        option: &'static str,
        /// With what it goes.
        with: &'static str,
        /// Why not with the other.
        why: &'static str,
    },
    /// A prompt is about something that is not there.
    #[error("agent `{agent}` has no work item `{asked}`; it has: {items}")]
    NoSuchItem {
        /// The agent.
        agent: AgentId,
        /// The item that was named.
        asked: String,
        /// Those that are there.
        items: String,
    },
    /// No story was named.
    #[error("name the story with --story, or a model with --provider openai --model")]
    NoStory,
    /// The provider cannot be used as it was named.
    #[error(transparent)]
    Endpoint(#[from] wakeful_agent::openai::OptionsError),
    /// The policy cannot be read.
    #[error("{}: {why}", path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: wakeful_core::json::JsonError,
    },
    /// The workspace cannot be used.
    #[error("the workspace `{}` cannot be used: {why}", path.display())]
    Workspace {
        /// The folder.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file that was named cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// The terminal cannot be used.
    #[error("the terminal cannot be used: {0}")]
    Terminal(String),
    /// A page about something that is no command.
    #[error("`{0}` is no command of wakeful; `wakeful help` lists them")]
    NoCommand(String),
    /// There was nothing to judge.
    #[error("the files hold no vector")]
    NoVectors,
    /// A file of ledgers cannot be opened.
    #[error(transparent)]
    Ledger(#[from] SqliteError),
    /// A ledger as lines cannot be read.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// Something was to be appended to lines.
    #[error("`{}` is a ledger as lines, which are only read: agents live in files of SQLite", .0.display())]
    OnlyLines(PathBuf),
    /// Nothing was ever appended.
    #[error("`{}` holds no agent yet: none has appended to it", .0.display())]
    NoAgents(PathBuf),
    /// There is more than one.
    #[error("`{}` holds {count} agents: name one of them with --agent: {agents}", path.display())]
    SeveralAgents {
        /// The file.
        path: PathBuf,
        /// How many.
        count: usize,
        /// Their ids.
        agents: String,
    },
    /// The one that was asked for is not there.
    #[error("`{}` holds no agent `{asked}`; it holds: {agents}", path.display())]
    NoSuchAgent {
        /// The file.
        path: PathBuf,
        /// Who was asked for.
        asked: String,
        /// Who is there.
        agents: String,
    },
    /// The ledger of an agent cannot be read.
    #[error("`{}`, agent `{agent}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// Why.
        why: Box<SchedulerError>,
    },
    /// The beginning of a ledger cannot be moved out.
    #[error("`{}`, agent `{agent}`: {why}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// Why.
        why: Box<archive::Refusal>,
    },
    /// Entries were asked for that are not there yet.
    #[error("the ledger ends at entry {end}: there is nothing after entry {asked}")]
    PastTheEnd {
        /// After which entry.
        asked: Seq,
        /// The newest.
        end: Seq,
    },
    /// Ctrl-C cannot be listened to.
    #[error("cannot listen to Ctrl-C: {0}")]
    NoInterrupt(ctrlc::Error),
    /// The answer cannot be written.
    #[error("cannot write {what}: {why}")]
    Write {
        /// What.
        what: String,
        /// Why.
        why: io::Error,
    },
}

impl From<EngineError> for CliError {
    fn from(why: EngineError) -> Self {
        Self::Engine(TraceError::Engine(why))
    }
}

/// How a command ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Well,
    Differs,
    /// Not all of what was asked for can be read; the rest is done, and it was said which.
    Unreadable,
    /// Not all of what was asked for can be done here.
    Incomplete,
}

/// Whether a command line, with its first word, can be read; for those who write pages.
///
/// # Errors
/// What is wrong with it, as a user would be told.
pub fn understands(words: &[String]) -> Result<(), String> {
    Cli::try_parse_from(words).map(drop).map_err(|why| why.to_string())
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Replay(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Why(command) => command.run(),
        Command::Status(command) => command.run(),
        Command::Log(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Archive(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Crosscheck(command) => command.run(),
        Command::Conformance(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Send(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Trace(command) => command.run(),
        #[cfg(target_os = "linux")]
        Command::Policy(command) => command.run(),
        Command::Rules(command) => command.run(),
        Command::Versions(command) => command.run(),
        Command::Man(command) => command.run(),
        Command::Schema => schema::text().map_err(|why| CliError::Engine(why.into())).map(|text| {
            say::text(format_args!("{text}"));
            Verdict::Well
        }),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "wakeful", &mut script);
            say::text(format_args!("{}", String::from_utf8_lossy(&script)));
            Ok(Verdict::Well)
        }
    };
    match done {
        Ok(Verdict::Well) => ExitCode::SUCCESS,
        Ok(Verdict::Differs) => ExitCode::from(1),
        Ok(Verdict::Unreadable) => ExitCode::from(2),
        Ok(Verdict::Incomplete) => ExitCode::from(3),
        Err(why) => {
            complain(why);
            ExitCode::from(2)
        }
    }
}

fn complain(why: impl Display) {
    anstream::eprintln!("{}error:{} {why}", style::BAD.render(), style::BAD.render_reset());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
