//! Scenarios: text files that read like a story. Commands, and under `----` everything observable
//! that they gave. This is what they can say; the tests play them and compare what is observed, the
//! cross-check plays in all engines what every host can do.
//!
//! | command | does |
//! |---|---|
//! | `prompt ID TEXT` | an operator prompt comes in |
//! | `interject ID TEXT` | an operator prompt that wants to go into the open run |
//! | `webhook ID [TEXT]` | an event comes in that names no wait; empty without TEXT |
//! | `callback ID TRIGGER [TEXT]` | a delivery to an external trigger comes in |
//! | `item ID OBJECTIVE`, `pick ID`, `complete ID` | an item is created, gets the focus, is done |
//! | `task STATUS ID [ITEM]` | a command task, of an item where one is named, is `created`, `running`, `completed`, ... |
//! | `hint REASON` | a wake hint that names nothing |
//! | `say FACT` | a fact in JSON comes in; `$run` stands for the open run |
//! | `end KIND` | the open run ends with this terminal kind |
//! | `step [BOUNDARY]` | one step, at `run_loop` where nothing is said |
//! | `run` | steps until there is nothing more to do |
//! | `clock INSTANT`, `later SECONDS` | sets the clock, moves it |
//! | `repeat N COMMAND` | the command N times; `$n` in it counts from 1 |
//! | `restart [EDITION]` | the process dies, and another one, whose program prefers this edition, opens the ledger |
//! | `beside COMMAND` | another process does it, that has read the whole ledger |
//! | `catch_up` | reads what others have appended |
//! | `append fails [N]` | the next appends, one where nothing is said, store nothing and answer with an error |
//! | `append unacknowledged` | the next append is stored, and answers with an error |
//! | `provider fails` | the next call of the provider fails |
//! | `observe` | a fresh ledger of another runtime takes the place of this one; nobody drives it |
//! | `fresh` | another agent, with a ledger and a scheduler of its own, takes the place of this one |
//! | `status`, `wake`, `decide` | print the status, the next wake, the decision at `run_loop_idle` with its rule |
//! | `look` | prints what the agent does and why, as people are told it |
//! | `show PART` | prints `closure`, `context`, `deferred`, `diagnostics`, `focus`, `items`, `owed`, `posture`, `queue` or `waits` of the state, a `message ID` that is not settled, the records of the `newest N` entries, or what the `provider` was asked |
//! | `fold` | folds the log anew, whole and from a snapshot after each entry, and compares with the state that lives |

mod record;

use wakeful_core::{
    json::{self, Readable},
    record::{decision::Boundary, edition::Edition},
    time::Timestamp,
};

pub use record::{Act, Scenario, record};

/// When every agent of a scenario begins.
pub const START: Timestamp = Timestamp::from_nanos(1_779_872_400_000_000_000);

/// One command of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// This fact comes in; `$run` in its text stands for the open run.
    Say(String),
    /// One step.
    Step(Boundary),
    /// Steps until there is nothing more to do.
    Run,
    /// The clock shows this instant.
    Clock(Timestamp),
    /// So many seconds pass.
    Later(u64),
    /// Another process, which prefers this edition, takes the ledger over.
    Restart(Edition),
    /// Another process does it.
    Beside(Box<Command>),
    /// What others have appended is read.
    CatchUp,
    /// So many appends fail.
    AppendFails(u32),
    /// An append is stored and not acknowledged.
    AppendUnacknowledged,
    /// A call of the provider fails.
    ProviderFails,
    /// A fresh ledger that is observed.
    Observe,
    /// A fresh ledger that is driven.
    Fresh,
    /// Something is printed: a word, and what of it.
    Print(String, String),
}

/// A line that says nothing that a scenario can say.
#[derive(Debug, thiserror::Error)]
#[error("`{line}`: {why}")]
pub struct NoCommand {
    line: String,
    why: String,
}

/// The commands of a scenario, without what they are expected to give.
///
/// # Errors
/// The first line that is no command.
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

/// The commands of a line: one, or as many as it repeats.
///
/// # Errors
/// Where it is no command.
pub fn read(line: &str) -> Result<Vec<Command>, NoCommand> {
    let wrong = |why: &str| NoCommand { line: line.to_owned(), why: why.to_owned() };
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let instant = || Timestamp::parse(rest).map_err(|_| wrong("an instant is expected"));
    let one = match (name, first) {
        ("repeat", count) => {
            let count: u32 = count.parse().map_err(|_| wrong("`repeat N COMMAND` is expected"))?;
            let repeated: Vec<_> = (1..=count)
                .map(|n| read(&second.replace("$n", &n.to_string())))
                .collect::<Result<_, _>>()?;
            return Ok(repeated.concat());
        }
        ("beside", _) => match read(rest)?.as_slice() {
            [command] => Command::Beside(Box::new(command.clone())),
            _ => return Err(wrong("one command is expected beside")),
        },
        ("say", _) => Command::Say(rest.to_owned()),
        ("step", "") => Command::Step(Boundary::RunLoop),
        ("step", _) => Command::Step(named(rest).ok_or_else(|| wrong("a boundary is expected"))?),
        ("run", _) => Command::Run,
        ("clock", _) => Command::Clock(instant()?),
        ("later", _) => Command::Later(rest.parse().map_err(|_| wrong("seconds are expected"))?),
        ("restart", "") => Command::Restart(Edition::default()),
        ("restart", _) => {
            Command::Restart(named(rest).ok_or_else(|| wrong("an edition is expected"))?)
        }
        ("catch_up", _) => Command::CatchUp,
        ("append", "fails") if second.is_empty() => Command::AppendFails(1),
        ("append", "fails") => {
            Command::AppendFails(second.parse().map_err(|_| wrong("a count is expected"))?)
        }
        ("append", "unacknowledged") => Command::AppendUnacknowledged,
        ("provider", "fails") => Command::ProviderFails,
        ("observe", _) => Command::Observe,
        ("fresh", _) => Command::Fresh,
        ("status" | "wake" | "decide" | "look" | "show" | "fold", _) => {
            Command::Print(name.to_owned(), rest.to_owned())
        }
        _ => Command::Say(
            fact(name, rest).ok_or_else(|| wrong("no command of a scenario begins so"))?,
        ),
    };
    Ok(vec![one])
}

/// The value that is written so.
fn named<T: Readable>(name: &str) -> Option<T> {
    json::read(&json::write(&name)).ok()
}

/// The fact that a word stands for; none where the word is none.
fn fact(name: &str, rest: &str) -> Option<String> {
    let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let message = |kind: &str, origin: &str, trust: &str, priority: &str, text: &str| {
        let text = json::write(&text);
        format!(
            r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"{kind}","origin":{origin},"trust":"{trust}","priority":"{priority}","body":{{"type":"text","text":{text}}}}}}}"#
        )
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
        let text = "# A comment.\nprompt m1 hello\nrestart 2026-05-08\n----\n1 control \
                    genesis\n\nrepeat 2 later $n\nend completed\n";
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
            ("fly away", "no command"),
            ("clock noon", "an instant"),
            ("repeat x run", "repeat N"),
            ("step nowhere", "a boundary"),
            ("beside repeat 2 run", "one command"),
        ] {
            let said = read(line).expect_err("it is none").to_string();
            assert!(said.contains(line) && said.contains(why), "{said}");
        }
    }

    #[test]
    fn agents_begin_when_it_is_said() {
        assert_eq!(START.to_string(), "2026-05-27T09:00:00Z");
    }
}
