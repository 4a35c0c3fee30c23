//! The command line, with one file per command.

#[macro_use]
mod say;

mod agents;
mod archive;
mod budget;
mod crosscheck;
mod deliver;
mod doctor;
mod editions;
mod engines;
mod error;
mod explain;
mod export;
mod facts;
mod heads;
mod items;
#[cfg(target_os = "linux")]
mod leftovers;
mod ledger;
mod list;
mod listing;
mod log;
mod migrate;
#[cfg(target_os = "linux")]
mod model;
#[cfg(target_os = "linux")]
mod policy;
mod print;
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

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use error::CliError;

/// The exit codes, which all commands share.
const EXIT: &str = "\
exit code: 0 success, 1 something differs or is wrong, 2 wrong words or input,
  3 this machine cannot do it, or a story demands a crash, 4 a ledger was lost
  or set back, 5 an agent rests after a failed turn, 130 interrupted twice";

/// The commands by what they are for. A test checks that each command is in one group.
const GROUPS: [(&str, &[&str]); 6] = [
    ("look", &["agents", "status", "why", "explain", "log", "list"]),
    ("speak", &["send", "trigger"]),
    ("run", &["run", "serve", "token"]),
    ("move", &["export", "archive", "migrate"]),
    ("check", &["doctor", "replay", "crosscheck"]),
    ("print", &["print"]),
];

/// Run long-lived agents, read their ledgers and explain each decision
#[derive(Parser)]
#[command(
    name = "wakeful",
    version,
    help_template = "{about-with-newline}\n{usage-heading} {usage}{after-help}",
    subcommand_value_name = "COMMAND"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List all agents of a place: what each does, and what is odd
    Agents(agents::Agents),
    /// Show the state of an agent on one screen
    Status(status::Status),
    /// Say in one sentence what an agent does and why
    Why(why::Why),
    /// Explain the decision at the end of a case, rule by rule
    Explain(explain::Explain),
    /// Print the entries of a ledger, one per line
    Log(log::Log),
    /// List tasks, items, waits, heads, budgets, or leftovers on the disk
    #[command(subcommand)]
    List(list::List),
    /// Send a message, an event, a request or a budget to an agent
    Send(Box<send::Send>),
    /// Make, list and end the external triggers of an agent
    Trigger(trigger::Trigger),
    /// Run an agent with a story or a model, and print each decision
    Run(Box<run::RunArgs>),
    /// Serve many agents over HTTP, with addresses that wake them
    Serve(Box<serve::Serve>),
    /// Make, list and end the tokens of a server
    Token(token::Token),
    /// Write a ledger, a case or a data folder as a fixture folder
    Export(export::Export),
    /// Move the old part of a ledger into an archive file
    Archive(archive::Archive),
    /// Move agents between ledger files and stores in PostgreSQL
    Migrate(migrate::Migrate),
    /// Verify a ledger, check its invariants, and list its problems
    Doctor(doctor::Doctor),
    /// Replay fixtures, or the decisions of a ledger by another edition
    Replay(replay::Replay),
    /// Play cases in several engines and report the first differences
    Crosscheck(crosscheck::Crosscheck),
    /// Print facts, rules, versions, schema, openapi, policy, completions
    #[command(subcommand)]
    Print(print::Print),
}

/// The command line, with its help.
fn program() -> clap::Command {
    let program = Cli::command();
    let does = |name: &str| {
        let about = program.find_subcommand(name).and_then(clap::Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let group = |(title, names): &(&str, &[&str])| {
        let lines = names.iter().map(|name| format!("  {name:<10}  {}\n", does(name)));
        format!("\n{title}:\n{}", lines.collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    let more = "`wakeful COMMAND --help` says more about a command";
    program.after_help(format!("{}\n{more}\n{EXIT}", groups.trim_start()))
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
        Command::Agents(command) => command.run(),
        Command::Status(command) => command.run(),
        Command::Why(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Log(command) => command.run(),
        Command::List(command) => command.run(),
        Command::Send(command) => command.run(),
        Command::Trigger(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Token(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Archive(command) => command.run(),
        Command::Migrate(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Crosscheck(command) => command.run(),
        Command::Print(command) => command.run(),
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
    let read = program().try_get_matches().and_then(|found| Cli::from_arg_matches(&found));
    read.unwrap_or_else(|why| {
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
        program().debug_assert();
    }

    #[test]
    fn each_command_is_in_one_group_and_the_help_fits_one_screen() {
        let program = program();
        for command in program.get_subcommands() {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&name)).count();
            assert_eq!(groups, 1, "{name}");
        }
        let help = program.term_width(100).render_long_help().to_string();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            let line = help.lines().find(|line| line.starts_with(&format!("  {name} ")));
            assert!(line.is_some_and(|line| line.split_whitespace().count() > 3), "{name}");
        }
        assert!(help.lines().count() <= 40, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}
