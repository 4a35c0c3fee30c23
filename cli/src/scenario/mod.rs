//! Scenarios: text files that read like a story. A block is a list of commands, then `----`, then
//! everything observable that they caused. This module reads the commands. The tests play them and
//! compare what is observed. The cross-check plays, in all engines, the commands that every host
//! supports.
//!
//! - `prompt ID TEXT`: an operator prompt arrives.
//! - `interject ID TEXT`: an operator prompt for the open run arrives.
//! - `webhook ID [TEXT]`: an event that names no wait arrives; without TEXT it is empty.
//! - `callback ID TRIGGER [TEXT]`: a delivery to an external trigger arrives.
//! - `item ID OBJECTIVE`, `pick ID`, `complete ID`: an item is created, gets the focus, is
//!   completed.
//! - `task STATUS ID [ITEM]`: a command task, of an item if one is named, is `created`, `running`,
//!   `completed`, ...
//! - `hint REASON`: a wake hint that names nothing.
//! - `say FACT`: a fact in JSON; `$run` is the id of the open run.
//! - `end KIND`: the open run ends with this terminal kind.
//! - `step [BOUNDARY]`: one step, by default at `run_loop`.
//! - `run`: steps until there is nothing more to do.
//! - `clock INSTANT`, `later SECONDS`: sets the clock, moves it.
//! - `repeat N COMMAND`: the command N times; `$n` in it counts from 1.
//! - `restart [EDITION]`: the process dies, and another one opens the ledger. Its program prefers
//!   this edition.
//! - `beside COMMAND`: another process, which has read the whole ledger, runs the command.
//! - `catch_up`: reads the entries of other processes.
//! - `append fails [N]`: the next N appends (by default one) store nothing and return an error.
//! - `append unacknowledged`: the next append is stored, and returns an error.
//! - `provider fails`: the next call of the provider fails.
//! - `observe`: replaces the agent by one that is only observed, with a fresh ledger of another
//!   runtime.
//! - `fresh`: replaces the agent by another one, with its own ledger and scheduler.
//! - `status`, `wake`, `decide`: print the status, the next wake, the decision at `run_loop_idle`
//!   with its rule.
//! - `look`: prints the sentence that people read about what the agent does and why.
//! - `show PART`: prints a part of the state: `closure`, `context`, `deferred`, `diagnostics`,
//!   `focus`, `items`, `owed`, `posture`, `queue` or `waits`. `show message ID` prints a message
//!   that is not settled. `show newest N` prints the records of the newest entries, and `show
//!   provider` the calls of the provider.
//! - `fold`: folds the log again, whole and from a snapshot after each entry, and compares the
//!   results with the live state.

mod record;

use wakeful_core::{
    json::{self, Readable},
    record::{decision::Boundary, edition::Edition},
    time::Timestamp,
};

pub use record::{Act, Scenario, record};

/// The time at which every agent of a scenario starts.
pub const START: Timestamp = Timestamp::from_nanos(1_779_872_400_000_000_000);

/// One command of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Proposes this fact. `$run` in its text is the id of the open run.
    Say(String),
    /// Takes one step.
    Step(Boundary),
    /// Steps until there is nothing more to do.
    Run,
    /// Sets the clock to this instant.
    Clock(Timestamp),
    /// Moves the clock by this number of seconds.
    Later(u64),
    /// Another process, which prefers this edition, takes over the ledger.
    Restart(Edition),
    /// Another process runs the command.
    Beside(Box<Command>),
    /// Reads the entries of other processes.
    CatchUp,
    /// The next appends, this number of them, fail.
    AppendFails(u32),
    /// The next append is stored and returns an error.
    AppendUnacknowledged,
    /// The next call of the provider fails.
    ProviderFails,
    /// Starts with a fresh ledger, which is observed.
    Observe,
    /// Starts with a fresh ledger, which is driven.
    Fresh,
    /// Prints something: the command, and the rest of the line.
    Print(String, String),
}

/// A line that is not a command.
#[derive(Debug, thiserror::Error)]
#[error("`{line}`: {why}")]
pub struct NoCommand {
    line: String,
    why: String,
}

/// Reads the commands of a scenario, without the expected observations.
///
/// # Errors
/// If a line is not a command; the error has the first such line.
pub fn commands(text: &str) -> Result<Vec<Command>, NoCommand> {
    let blocks =
        text.split("\n\n").map(|block| block.trim().split("\n----").next().unwrap_or_default());
    let lines = blocks
        .flat_map(str::lines)
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let commands: Vec<Vec<Command>> = lines.map(read).collect::<Result<_, _>>()?;
    Ok(commands.concat())
}

/// Reads the commands of a line: one, or as many as `repeat` says.
///
/// # Errors
/// If the line is not a command.
pub fn read(line: &str) -> Result<Vec<Command>, NoCommand> {
    let wrong = |why: &str| NoCommand { line: line.to_owned(), why: why.to_owned() };
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let instant = || {
        Timestamp::parse(rest)
            .map_err(|_| wrong("expected an instant such as `2026-05-27T09:00:00Z`"))
    };
    let one = match (name, first) {
        ("repeat", count) => {
            let count: u32 = count.parse().map_err(|_| wrong("expected `repeat N COMMAND`"))?;
            let repeated: Vec<_> = (1..=count)
                .map(|n| read(&second.replace("$n", &n.to_string())))
                .collect::<Result<_, _>>()?;
            return Ok(repeated.concat());
        }
        ("beside", _) => match read(rest)?.as_slice() {
            [command] => Command::Beside(Box::new(command.clone())),
            _ => return Err(wrong("expected one command after `beside`")),
        },
        ("say", _) => Command::Say(rest.to_owned()),
        ("step", "") => Command::Step(Boundary::RunLoop),
        ("step", _) => Command::Step(
            named(rest).ok_or_else(|| wrong("expected a boundary such as `run_loop_idle`"))?,
        ),
        ("run", _) => Command::Run,
        ("clock", _) => Command::Clock(instant()?),
        ("later", _) => {
            Command::Later(rest.parse().map_err(|_| wrong("expected a number of seconds"))?)
        }
        ("restart", "") => Command::Restart(Edition::default()),
        ("restart", _) => Command::Restart(
            named(rest).ok_or_else(|| wrong("expected an edition such as `2026-05-08`"))?,
        ),
        ("catch_up", _) => Command::CatchUp,
        ("append", "fails") if second.is_empty() => Command::AppendFails(1),
        ("append", "fails") => {
            Command::AppendFails(second.parse().map_err(|_| wrong("expected a number of appends"))?)
        }
        ("append", "unacknowledged") => Command::AppendUnacknowledged,
        ("provider", "fails") => Command::ProviderFails,
        ("observe", _) => Command::Observe,
        ("fresh", _) => Command::Fresh,
        ("status" | "wake" | "decide" | "look" | "show" | "fold", _) => {
            Command::Print(name.to_owned(), rest.to_owned())
        }
        _ => Command::Say(
            fact(name, rest)
                .ok_or_else(|| wrong("unknown command; `cli/src/scenario/mod.rs` lists them"))?,
        ),
    };
    Ok(vec![one])
}

/// The value with this name.
fn named<T: Readable>(name: &str) -> Option<T> {
    // Read as JSON, so that the names are exactly those of the core.
    json::read(&json::write(&name)).ok()
}

/// The fact that a command stands for; `None` if it is not a command.
fn fact(name: &str, rest: &str) -> Option<String> {
    let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let message = |kind: &str, origin: &str, trust: &str, priority: &str, text: &str| {
        let text = json::write(&text);
        let envelope = format!(
            r#""id":"{id}","kind":"{kind}","origin":{origin},"trust":"{trust}","priority":"{priority}""#
        );
        let body = format!(r#"{{"type":"text","text":{text}}}"#);
        format!(r#"{{"fact":"message_queued","message":{{{envelope},"body":{body}}}}}"#)
    };
    let named = |fact: &str| format!(r#"{{"fact":"{fact}","work_item_id":"{id}"}}"#);
    let operator = r#"{"kind":"operator"}"#;
    Some(match name {
        "prompt" => message("operator_prompt", operator, "trusted_operator", "normal", text),
        "interject" => message("operator_prompt", operator, "trusted_operator", "interject", text),
        "webhook" => message(
            "webhook_event",
            r#"{"kind":"webhook","source":"ci"}"#,
            "trusted_integration",
            "normal",
            text,
        ),
        "callback" => {
            let (trigger, text) = text.split_once(' ').unwrap_or((text, ""));
            let origin = format!(r#"{{"kind":"callback","descriptor_id":"{trigger}"}}"#);
            message("callback_event", &origin, "trusted_integration", "normal", text)
        }
        "item" => format!(
            r#"{{"fact":"work_item_created","work_item_id":"{id}","objective":{}}}"#,
            json::write(&text)
        ),
        "pick" => named("work_item_picked"),
        "complete" => named("work_item_completed"),
        "task" => {
            let (task, item) = text.split_once(' ').unwrap_or((text, ""));
            let item = if item.is_empty() {
                String::new()
            } else {
                format!(r#","work_item_id":"{item}""#)
            };
            // Only the fact that creates a task must name its kind.
            let kind = if id == "created" { r#","task_kind":"command_task""# } else { "" };
            format!(r#"{{"fact":"task_{id}","task_id":"{task}"{kind}{item}}}"#)
        }
        "hint" => format!(r#"{{"fact":"wake_hint_submitted","reason":{}}}"#, json::write(&rest)),
        "end" => format!(r#"{{"fact":"turn_terminal","run_id":"$run","kind":"{rest}"}}"#),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_without_what_they_are_expected_to_give() {
        let text = "# A comment.\n\
                    prompt m1 hello\n\
                    restart 2026-05-08\n\
                    ----\n\
                    1 control genesis\n\n\
                    repeat 2 later $n\n\
                    end completed\n";
        let commands = commands(text).expect("a scenario");
        let [Command::Say(prompt), rest @ .., Command::Say(end)] = commands.as_slice() else {
            panic!("{commands:?}")
        };
        assert!(
            prompt.contains("\"id\":\"m1\"") && end.contains("\"run_id\":\"$run\""),
            "{prompt} {end}"
        );
        assert_eq!(
            rest,
            [Command::Restart(Edition::Rfc20260508), Command::Later(1), Command::Later(2)]
        );
    }

    #[test]
    fn a_line_that_is_no_command_is_named() {
        for (line, why) in [
            ("fly away", "unknown command"),
            ("clock noon", "an instant"),
            ("repeat x run", "repeat N"),
            ("step nowhere", "a boundary"),
            ("beside repeat 2 run", "one command"),
        ] {
            let said = read(line).expect_err("not a command").to_string();
            assert!(said.contains(line) && said.contains(why), "{said}");
        }
    }

    #[test]
    fn agents_begin_when_it_is_said() {
        assert_eq!(START.to_string(), "2026-05-27T09:00:00Z");
    }
}
