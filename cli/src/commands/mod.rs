//! The command line, with one file per command.

#[macro_use]
mod say;

mod agents;
mod archive;
mod conformance;
mod crosscheck;
mod deliver;
mod diff;
mod doctor;
mod engines;
mod explain;
mod export;
#[cfg(target_os = "linux")]
mod gc;
mod import;
mod items;
mod ledger;
mod listing;
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
mod tasks;
mod trace;
mod trigger;
mod versions;
mod visible;
mod waits;
mod why;

use std::{
    fmt::Display,
    io,
    path::PathBuf,
    process::{self, ExitCode},
};

use clap::{Args, CommandFactory, Parser, Subcommand};

use wakeful_core::{
    host::SchedulerError,
    id::{AgentId, ControlInId, Seq},
    machine::OpenError,
};
use wakeful_host::{
    engine::EngineError,
    ledger::{LinesError, SqliteError},
    sandbox::GuestError,
};

use crate::{case::CaseError, schema, trace::TraceError};

/// Run long-lived agents, read their ledgers and explain each decision
#[derive(Parser)]
#[command(
    name = "wakeful",
    version,
    after_help = "\
        Exit codes:\n\
        \x20 0    success\n\
        \x20 1    something differs from what was expected, or is wrong\n\
        \x20 2    the arguments or the input cannot be used\n\
        \x20 3    something cannot run on this machine, or a story demands a crash\n\
        \x20 4    the ledger of a running agent was lost or set back\n\
        \x20 5    an agent rests only because its last turn failed\n\
        \x20 130  interrupted twice\n\n\
        Examples:\n\
        \x20 wakeful explain tests/fixtures/stories/heartbeat.json\n\
        \x20 wakeful why tests/fixtures/stories/heartbeat.json --not Sleep\n\
        \x20 wakeful replay tests/fixtures/scheduler\n\
        \x20 wakeful crosscheck tests/fixtures --engines native,wasmtime\n\
        \x20 wakeful run --ledger agent.sqlite --story story.toml\n\
        \x20 wakeful run --ledger agent.sqlite --provider openai --workspace project --model NAME\n\
        \x20 wakeful log agent.sqlite --follow"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Replay fixture folders and compare the decisions with their `expected.json`
    Replay(replay::Replay),
    /// Explain the decision at the end of a fixture or story, rule by rule
    Explain(explain::Explain),
    /// Say in one sentence what an agent does and why, and what would change the decision
    Why(why::Why),
    /// List all agents of a file: what each does, what it waits for, and what is odd
    Agents(agents::Agents),
    /// Show the state of an agent on one screen
    Status(status::Status),
    /// List the tasks of agents, by what they hold up
    Tasks(tasks::Tasks),
    /// List the work items of agents, by their scheduling state
    Items(items::Items),
    /// List what agents wait for, by what can end it, and how a person can end it
    Waits(waits::Waits),
    /// Print the entries of a ledger, one per line
    Log(log::Log),
    /// Verify a ledger, check its invariants, and list its obligations and problems
    Doctor(doctor::Doctor),
    /// Move the old part of a ledger into an archive file
    Archive(archive::Archive),
    /// List, and remove, what ended tasks left on the disk: output files and worktrees
    #[cfg(target_os = "linux")]
    Gc(gc::Gc),
    /// Show where another edition of the rules would decide differently
    Diff(diff::Diff),
    /// Play cases in several engines and report the first difference of each
    Crosscheck(crosscheck::Crosscheck),
    /// Check the core against recorded answers of the reference runtime
    Conformance(conformance::Conformance),
    /// Run an agent with a story or a model, and print each decision with its reason
    Run(Box<run::RunArgs>),
    /// Send a message, an event or a request to an agent
    Send(send::Send),
    /// Deliver to an agent from outside, with the token of an external trigger
    Deliver(deliver::Deliver),
    /// Make, list and end the external triggers of an agent
    Trigger(trigger::Trigger),
    /// Convert the data folder of another runtime into a fixture folder
    Import(import::Import),
    /// Export a ledger or a case as a fixture folder
    Export(export::Export),
    /// Print every step of a case as JSON: call, answer, entries and explanation
    Trace(trace::TraceArgs),
    /// Print the default policy for the commands of agents, or check a policy file
    #[cfg(target_os = "linux")]
    Policy(policy::PolicyArgs),
    /// Print the rules in the order in which each edition tries them
    Rules(rules::Rules),
    /// Print the versions of the program, its formats, interfaces and rules
    Versions(versions::Versions),
    /// Print the JSON Schema of all payloads
    #[command(after_help = "\
        Facts, records, decisions, explanations, summaries, receipts, stories and fixtures \
        each have a name in `$defs`. The help of a command says which of them its --json \
        prints.\n\n\
        Exit codes:\n\
        \x20 0  printed\n\n\
        Examples:\n\
        \x20 wakeful schema > wakeful.schema.json")]
    Schema,
    /// Print a completion script for a shell
    #[command(after_help = "\
        Exit codes:\n\
        \x20 0  printed\n\n\
        Examples:\n\
        \x20 wakeful completions bash > ~/.local/share/bash-completion/completions/wakeful\n\
        \x20 wakeful completions zsh > ~/.zfunc/_wakeful\n\
        \x20 wakeful completions fish > ~/.config/fish/completions/wakeful.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all of them into a folder
    Man(man::ManArgs),
}

/// The cases to play.
#[derive(Args)]
struct Cases {
    /// Fixture folders, stories (`.toml`, `.json`), or folders of either
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<PathBuf>,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
enum CliError {
    /// A case cannot be loaded.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The guest cannot be used.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// The guest was not found.
    #[error(transparent)]
    NoGuest(#[from] wakeful_host::sandbox::NoGuest),
    /// An engine failed over a case.
    #[error("{case}: {why}")]
    Trace {
        /// The name of the case.
        case: String,
        /// Why.
        why: TraceError,
    },
    /// An engine cannot be started.
    #[error(transparent)]
    Engine(#[from] TraceError),
    /// Fuel was requested from an engine that does not count it.
    #[error(
        "the engine {engine} does not count fuel as other engines do; use --engine wasmtime or \
         --engine pulley"
    )]
    NoFuel {
        /// The engine.
        engine: &'static str,
    },
    /// No case was named outside the source tree.
    #[error(
        "name the cases to play: the default cases are in the source tree, which was not found \
         from this folder"
    )]
    NoCases,
    /// The reference engine failed.
    #[error(transparent)]
    NoReference(#[from] crate::crosscheck::NoReference),
    /// The scheduler refused the case.
    #[error("{case}: {message}")]
    Refused {
        /// The name of the case.
        case: String,
        /// Why.
        message: String,
    },
    /// The case to replay is not a fixture.
    #[error(
        "`{0}` is a story: replay reads fixtures; use `wakeful explain` or `wakeful crosscheck` \
         for stories"
    )]
    NotAFixture(String),
    /// The path to import is a story.
    #[error(
        "`{}` is a story: import reads folders; use `wakeful export` for stories",
        .0.display()
    )]
    NotAFolder(PathBuf),
    /// An option for ledger files was given for something else.
    #[error("`{}` is not a ledger file: --agent and --up-to need one", .0.display())]
    OnlyOfLedgers(PathBuf),
    /// The folder to write is not empty.
    #[error(
        "`{}` is not empty: name another folder, or replace the fixture in it with --force",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// A file of vectors cannot be read.
    #[error(transparent)]
    Vectors(#[from] crate::conformance::VectorError),
    /// A vector cannot be answered.
    #[error("{}: {message}", file.display())]
    Vector {
        /// The file.
        file: PathBuf,
        /// What is wrong, with its place.
        message: String,
    },
    /// Vectors cannot be answered at all.
    #[error(transparent)]
    Oracle(#[from] crate::conformance::OracleError),
    /// An agent with a story cannot continue.
    #[error(transparent)]
    Run(#[from] wakeful_host::driver::DriveError),
    /// The file of a running agent was lost.
    #[error(transparent)]
    Lost(SqliteError),
    /// The ledger of a running agent was set back.
    #[error("`{}`: {why}", path.display())]
    SetBack {
        /// The file.
        path: PathBuf,
        /// What is missing.
        why: wakeful_host::driver::DriveError,
    },
    /// An agent with a model cannot start or continue.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Agent(#[from] wakeful_agent::AgentError),
    /// What ended tasks left cannot be collected.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Gc(#[from] wakeful_agent::gc::GcError),
    /// An option does not fit the provider.
    #[error("{option} needs --provider {with}: {why}")]
    NotWith {
        /// The option that was given.
        option: &'static str,
        /// The provider that it needs.
        with: &'static str,
        /// Why the other provider has no use for it.
        why: &'static str,
    },
    /// The id of a new agent has a control character.
    #[error("`{agent}` cannot be the id of an agent: {control}; choose another id")]
    ControlInId {
        /// The id that was given.
        agent: AgentId,
        /// The character.
        control: ControlInId,
    },
    /// A prompt is about a work item that does not exist.
    #[error("agent `{agent}` has no work item `{asked}`; it has: {items}")]
    NoSuchItem {
        /// The agent.
        agent: AgentId,
        /// The id that was given.
        asked: String,
        /// The ids of the existing items.
        items: String,
    },
    /// A wait that does not exist is to be ended.
    #[error("agent `{agent}` has no wait `{asked}`; it has: {waits}")]
    NoSuchWait {
        /// The agent.
        agent: AgentId,
        /// The id that was given.
        asked: String,
        /// The ids of the waits.
        waits: String,
    },
    /// The agent's commands could change what they must not.
    #[cfg(target_os = "linux")]
    #[error(
        "the agent's commands could change {what} `{}`, because they may write in `{}`: {mend}",
        path.display(),
        folder.display()
    )]
    OpenToCommands {
        /// What they could change.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// The folder that is open to them.
        folder: PathBuf,
        /// What to do.
        mend: String,
    },
    /// The agent rests only because its last turn failed.
    #[error(
        "the agent rests because its last turn failed: {why}; mend that, and send the message again"
    )]
    TurnFailed {
        /// Why the turn failed.
        why: String,
    },
    /// Neither a story nor a model was named.
    #[error("name a story with --story FILE, or a model with --provider openai --model NAME")]
    NoStory,
    /// The options of the provider are invalid.
    #[error(transparent)]
    Endpoint(#[from] wakeful_agent::openai::OptionsError),
    /// The policy cannot be read.
    #[error("{}: {why}", path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its place.
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
    /// A file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// The memory of the process cannot be hidden.
    #[cfg(target_os = "linux")]
    #[error("the kernel does not hide the memory of this process, which holds the key: {0}")]
    Memory(io::Error),
    /// The terminal cannot be used.
    #[error("the terminal cannot be used: {0}")]
    Terminal(String),
    /// The manual page of an unknown command was requested.
    #[error("`{0}` is not a command of wakeful; `wakeful help` lists them")]
    NoCommand(String),
    /// No trigger has the token.
    #[error(
        "no external trigger in `{}` has this token: it was rotated or revoked, is used or has \
         expired, or is of another file",
        .0.display()
    )]
    NoSuchToken(PathBuf),
    /// The content of a delivery is not what its type says.
    #[error("the content is not JSON: {0}")]
    Content(wakeful_core::json::JsonError),
    /// The agent was never run.
    #[error(
        "agent `{0}` has never run, so nothing can be delivered to it: start it with `wakeful run`"
    )]
    NeverRan(AgentId),
    /// A token cannot be made.
    #[error(transparent)]
    NoToken(#[from] wakeful_host::token::NoRandomBytes),
    /// The files have no vectors.
    #[error("the files contain no vectors")]
    NoVectors,
    /// A ledger file cannot be opened.
    #[error(transparent)]
    Ledger(#[from] SqliteError),
    /// A ledger as JSON lines cannot be read.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// JSON lines cannot be appended to.
    #[error(
        "`{}` is a ledger as JSON lines, which can only be read: use the SQLite file of the agent",
        .0.display()
    )]
    OnlyLines(PathBuf),
    /// The file holds no agent.
    #[error("`{}` holds no agent yet: start one with `wakeful run`", .0.display())]
    NoAgents(PathBuf),
    /// The file holds several agents, and none was named.
    #[error("`{}` holds {count} agents: name one of them with --agent: {agents}", path.display())]
    SeveralAgents {
        /// The file.
        path: PathBuf,
        /// The number of agents.
        count: usize,
        /// Their ids.
        agents: String,
    },
    /// The file does not hold the agent.
    #[error("`{}` holds no agent `{asked}`; it holds: {agents}", path.display())]
    NoSuchAgent {
        /// The file.
        path: PathBuf,
        /// The id that was given.
        asked: String,
        /// The ids of the agents in the file.
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
    /// The ledger of an agent is damaged.
    #[error("`{}`, agent `{agent}`: {why}: run `wakeful doctor` for details", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// What is wrong, and where.
        why: OpenError,
    },
    /// The old part of a ledger cannot be moved.
    #[error("`{}`, agent `{agent}`: {why}", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// Why.
        why: Box<archive::Refusal>,
    },
    /// The ledger does not reach the requested position.
    #[error("the ledger ends at entry {end}: there is nothing after entry {asked}")]
    PastTheEnd {
        /// The requested position.
        asked: Seq,
        /// The newest entry.
        end: Seq,
    },
    /// The handler for Ctrl-C cannot be set.
    #[error("cannot handle Ctrl-C: {0}")]
    NoInterrupt(ctrlc::Error),
    /// The output cannot be written.
    #[error("cannot write {what}: {why}")]
    Write {
        /// What was to be written.
        what: String,
        /// Why.
        why: io::Error,
    },
}

impl CliError {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Lost(_) | Self::SetBack { .. } => 4,
            Self::TurnFailed { .. } => 5,
            _ => 2,
        }
    }
}

impl From<EngineError> for CliError {
    fn from(why: EngineError) -> Self {
        Self::Engine(TraceError::Engine(why))
    }
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Well,
    Differs,
    /// Some of the input cannot be read. The rest was done, and errors name what was not.
    Unreadable,
    /// Some of the work cannot be done on this machine.
    Incomplete,
}

/// Checks that a command line, including the program's name, can be parsed. The tests of the
/// documentation use this.
///
/// # Errors
/// If it cannot be parsed; the error is the message for the user.
pub fn understands(words: &[String]) -> Result<(), String> {
    Cli::try_parse_from(words).map(drop).map_err(|why| why.to_string())
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let done = match parsed().command {
        Command::Replay(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Why(command) => command.run(),
        Command::Agents(command) => command.run(),
        Command::Status(command) => command.run(),
        Command::Tasks(command) => command.run(),
        Command::Items(command) => command.run(),
        Command::Waits(command) => command.run(),
        Command::Log(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Archive(command) => command.run(),
        #[cfg(target_os = "linux")]
        Command::Gc(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Crosscheck(command) => command.run(),
        Command::Conformance(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Send(command) => command.run(),
        Command::Deliver(command) => command.run(),
        Command::Trigger(command) => command.run(),
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
            // Into memory first: clap panics if it cannot write, and a reader may close the pipe
            // early.
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
            complain(&why);
            ExitCode::from(why.exit_code())
        }
    }
}

/// The command line of this process. If it cannot be parsed, or asks for help, the process ends.
fn parsed() -> Cli {
    Cli::try_parse().unwrap_or_else(|why| {
        // The message repeats arguments. Clap's own styles would be made visible with them, so only
        // a message without control characters has styles.
        let plain = why.render().to_string();
        let shown = visible::visible(&plain);
        if shown != plain {
            mention!("{}", shown.trim_end());
            process::exit(why.exit_code());
        }
        why.exit()
    })
}

fn complain(why: impl Display) {
    mention!("{} {why}", style::painted(style::BAD, "error:"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
