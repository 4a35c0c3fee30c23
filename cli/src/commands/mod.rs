//! The command line, with one file per command.

#[macro_use]
mod say;

mod agents;
mod archive;
mod budget;
mod crosscheck;
mod deliver;
mod diff;
mod doctor;
mod engines;
mod error;
mod explain;
mod export;
mod facts;
#[cfg(target_os = "linux")]
mod gc;
mod heads;
mod import;
mod items;
mod ledger;
mod listing;
mod log;
mod man;
mod migrate;
#[cfg(target_os = "linux")]
mod model;
#[cfg(target_os = "linux")]
mod policy;
mod replay;
mod rules;
mod run;
mod send;
mod serve;
mod status;
mod style;
mod tasks;
mod token;
mod trigger;
mod versions;
mod visible;
mod waits;
mod why;

use std::{
    fmt::Display,
    path::PathBuf,
    process::{self, ExitCode},
};

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::schema;
use error::CliError;

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
        \x20 wakeful log agent.sqlite --follow\n\
        \x20 wakeful status --server http://127.0.0.1:7171 --agent ada"
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
    /// List all agents of a file or a server: what each does, what it waits for, and what is odd
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
    /// Print the head of each ledger, and find the ledgers that were set back since
    Heads(heads::Heads),
    /// Move the old part of a ledger into an archive file
    Archive(archive::Archive),
    /// Move agents from one place to another: ledger files, and stores in PostgreSQL
    Migrate(migrate::Migrate),
    /// List, and remove, what ended tasks left on the disk: output files and worktrees
    #[cfg(target_os = "linux")]
    Gc(gc::Gc),
    /// Show where another edition of the rules would decide differently
    Diff(diff::Diff),
    /// Play cases in several engines and report the first difference of each
    Crosscheck(crosscheck::Crosscheck),
    /// Run an agent with a story or a model, and print each decision with its reason
    Run(Box<run::RunArgs>),
    /// Serve many agents over HTTP: an API, streams, and addresses that wake agents
    Serve(Box<serve::Serve>),
    /// Make, list and end the tokens of a server
    Token(token::Token),
    /// Send a message, an event or a request to an agent
    Send(send::Send),
    /// Deliver to an agent from outside, with the token of an external trigger
    Deliver(deliver::Deliver),
    /// Make, list and end the external triggers of an agent
    Trigger(trigger::Trigger),
    /// Show, set and raise the budgets of an agent and of its work items
    Budget(budget::Budget),
    /// Convert the data folder of another runtime into a fixture folder
    Import(import::Import),
    /// Export a ledger or a case as a fixture folder
    Export(export::Export),
    /// Print the default policy for the commands of agents, or check a policy file
    #[cfg(target_os = "linux")]
    Policy(policy::PolicyArgs),
    /// Print the facts that a host says: when, with an example, its answer and its fields
    Facts(facts::Facts),
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
        \x20 wakeful schema > wakeful.schema.json\n\
        \x20 wakeful schema --http > wakeful.openapi.json")]
    Schema {
        /// Print the OpenAPI document of `wakeful serve` instead
        #[arg(long)]
        http: bool,
    },
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
        Command::Heads(command) => command.run(),
        Command::Archive(command) => command.run(),
        Command::Migrate(command) => command.run(),
        #[cfg(target_os = "linux")]
        Command::Gc(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Crosscheck(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Token(command) => command.run(),
        Command::Send(command) => command.run(),
        Command::Deliver(command) => command.run(),
        Command::Trigger(command) => command.run(),
        Command::Budget(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Export(command) => command.run(),
        #[cfg(target_os = "linux")]
        Command::Policy(command) => command.run(),
        Command::Facts(command) => command.run(),
        Command::Rules(command) => command.run(),
        Command::Versions(command) => command.run(),
        Command::Man(command) => command.run(),
        Command::Schema { http } => {
            let text = if http { schema::http() } else { schema::text() };
            text.map_err(|why| CliError::Engine(why.into())).map(|text| {
                say::text(format_args!("{text}"));
                Verdict::Well
            })
        }
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
