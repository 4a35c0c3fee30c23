//! The conversation with an agent. Typed lines go to the agent; what it says and does is printed
//! line by line, as it happens.

use std::{
    collections::BTreeMap,
    fmt::Display,
    io::{self, ErrorKind, IsTerminal},
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use rustyline::{DefaultEditor, ExternalPrinter, error::ReadlineError};
use wakeful_agent::{Audience, Ended, Handle};
use wakeful_core::{
    id::AgentId,
    record::{
        Record,
        control::ControlRecord,
        decision::{Decision, DecisionKind},
        entry::{Entry, EntryBytes},
        event::EventKind,
        queue::envelope::{MessageKind, QueueStatus},
        turn::{RunStatus, TurnTerminalKind},
    },
    story::Request,
};
use wakeful_host::text;

use super::{TOLD_TWICE, patience::Hurry};
use crate::commands::{
    CliError, items,
    ledger::Place,
    listing::{self, Listed},
    log, say, status,
    style::{BAD, FAINT, STRONG, painted},
    tasks, waits, why,
};

const PROMPT: &str = "> ";

const HELP: &str =
    "What you type is sent to the agent. While it works, it reads it at its next safe point.
  /item ID TEXT    send a message about one work item, such as the answer that it waits for
  /why             say what the agent does, and why
  /why DECISION    say what would have to change for another decision, such as Sleep
  /status          show the state of the agent
  /tasks           list its tasks, by what they hold up
  /items           list its work items, by their state
  /waits           list what it waits for, and how you can end it
  /stop            stop the agent; its tasks are interrupted
  /start           start it again
  /quit            shut the agent down; `wakeful run` continues it (also Ctrl-C, Ctrl-D)";

/// What is printed about an agent, and where. Clones share one conversation.
#[derive(Clone)]
pub(super) struct Conversation(Arc<Shared>);

struct Shared {
    json: bool,
    agent: AgentId,
    place: Place,
    hurry: Hurry,
    out: Mutex<Out>,
}

struct Out {
    /// Prints above the line that is being typed; `None` if there is no terminal.
    printer: Option<Box<dyn ExternalPrinter + Send>>,
    /// Text of each agent that does not end with a line break yet.
    said: BTreeMap<AgentId, String>,
}

/// The source of typed lines.
pub(super) enum Lines {
    Terminal(Box<DefaultEditor>),
    Input,
}

impl Conversation {
    /// Opens a conversation: at the terminal if there is one, otherwise with lines from standard
    /// input.
    pub(super) fn open(
        json: bool,
        agent: &AgentId,
        place: Place,
        hurry: Hurry,
    ) -> Result<(Self, Lines), CliError> {
        let unusable = |why: ReadlineError| CliError::Terminal(why.to_string());
        // With `--json` the output is for programs, which a line editor would disturb.
        let (lines, printer) = if !json && io::stdin().is_terminal() && io::stdout().is_terminal() {
            let mut editor = DefaultEditor::new().map_err(unusable)?;
            let printer: Box<dyn ExternalPrinter + Send> =
                Box::new(editor.create_external_printer().map_err(unusable)?);
            (Lines::Terminal(Box::new(editor)), Some(printer))
        } else {
            (Lines::Input, None)
        };
        let out = Mutex::new(Out { printer, said: BTreeMap::new() });
        let shared = Shared { json, agent: agent.clone(), place, hurry, out };
        Ok((Self(Arc::new(shared)), lines))
    }

    /// Passes typed lines on, until the input or the agent ends.
    pub(super) fn listen(&self, lines: Lines, handle: Handle) {
        let conversation = self.clone();
        thread::spawn(move || match lines {
            Lines::Terminal(editor) => conversation.at_terminal(*editor, &handle),
            Lines::Input => {
                // The agent continues at the end of the input, because it may run without a person
                // who types.
                for line in text::lines(io::stdin().lock()) {
                    let heard = match line {
                        Ok(line) => conversation.typed(&line, &handle),
                        Err(why) if why.kind() == ErrorKind::InvalidData => {
                            conversation.refuse(&why);
                            Ok(())
                        }
                        Err(_) => return,
                    };
                    if heard.is_err() {
                        return;
                    }
                }
            }
        });
    }

    fn at_terminal(&self, mut editor: DefaultEditor, handle: &Handle) {
        self.print(&painted(FAINT, "Type a message to the agent, or /help for commands."));
        loop {
            match editor.readline(PROMPT) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    // The history is a convenience, so its errors do not matter.
                    let _ = editor.add_history_entry(&line);
                    if self.typed(&line, handle).is_err() {
                        return;
                    }
                }
                Err(_) => {
                    self.print(&painted(FAINT, "shutting down; Ctrl-C again ends at once"));
                    if self.shut_down(handle).is_err() {
                        return;
                    }
                    match editor.readline("") {
                        Err(ReadlineError::Interrupted) => process::exit(TOLD_TWICE),
                        _ => return,
                    }
                }
            }
        }
    }

    fn shut_down(&self, handle: &Handle) -> Result<(), Ended> {
        // First, because the agent may be waiting for its file and hear nothing else.
        self.0.hurry.up();
        handle.shut_down()
    }

    /// Executes a typed line.
    fn typed(&self, line: &str, handle: &Handle) -> Result<(), Ended> {
        let line = line.trim();
        let taken = match line {
            "" => return Ok(()),
            "/quit" => return self.shut_down(handle),
            "/stop" => handle.say(Request::Stop.fact())?,
            "/start" => handle.say(Request::Start.fact())?,
            command if command.split_whitespace().next() == Some("/item") => {
                match item_and_text(command) {
                    Some((item, text)) => handle.prompt(text, Some(item.into()))?,
                    None => Err("/item takes the id of a work item and a message".to_owned()),
                }
            }
            question if question.starts_with('/') => {
                self.show(question);
                return Ok(());
            }
            _ => handle.prompt(line, None)?,
        };
        if let Err(why) = taken {
            self.refuse(&why);
        }
        Ok(())
    }

    /// Says that a typed line was not taken, and why.
    fn refuse(&self, why: &dyn Display) {
        let line = format!("{} {why}", painted(BAD, "refused:"));
        // With `--json` the output has only JSON.
        if self.0.json {
            mention!("{line}");
        } else {
            self.print(&line);
        }
    }

    /// Answers a command about the agent, from its ledger.
    fn show(&self, question: &str) {
        let (command, rest) = question.split_once(char::is_whitespace).unwrap_or((question, ""));
        match command {
            "/why" => self.why(rest.trim()),
            "/status" => self.answer(status::of_ledger(&self.0.place, &self.0.agent)),
            "/tasks" => self.list::<tasks::Task>(),
            "/items" => self.list::<items::Item>(),
            "/waits" => self.list::<waits::Wait>(),
            "/help" => self.print(HELP),
            unknown => self.print(&format!(
                "{} there is no command {unknown}; /help lists the commands",
                painted(BAD, "error:")
            )),
        }
    }

    fn list<T: Listed>(&self) {
        self.answer(listing::of_ledger::<T>(&self.0.place, &self.0.agent));
    }

    fn why(&self, asked: &str) {
        let kinds = DecisionKind::NAMES;
        let named = kinds.iter().find(|name| name.eq_ignore_ascii_case(asked)).copied();
        match (asked, named) {
            ("", _) | (_, Some(_)) => {
                self.answer(why::of_live(&self.0.place, &self.0.agent, named))
            }
            (unknown, None) => {
                let known = kinds.join(", ");
                self.print(&format!(
                    "{} there is no decision `{unknown}`; the decisions are {known}",
                    painted(BAD, "error:")
                ));
            }
        }
    }

    fn answer(&self, answer: Result<String, CliError>) {
        match answer {
            Ok(text) => self.print(text.trim_end()),
            Err(why) => self.print(&format!("{} {why}", painted(BAD, "error:"))),
        }
    }

    /// Prints unfinished lines, because the agent has ended.
    pub(super) fn end(&self) {
        let mut out = self.out();
        let rest: Vec<_> =
            std::mem::take(&mut out.said).into_values().filter(|text| !text.is_empty()).collect();
        rest.iter().for_each(|text| out.print(text));
        out.printer = None;
    }

    fn print(&self, text: &str) {
        self.out().print(text);
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        self.0.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The beginning of an agent's lines: the name of a child, nothing for the agent itself.
    fn whose(&self, agent: &AgentId) -> String {
        let parent = self.0.agent.as_str();
        match agent.as_str().strip_prefix(parent) {
            Some("") => String::new(),
            Some(child) => painted(FAINT, &format!("{} | ", child.trim_start_matches('.'))),
            None => painted(FAINT, &format!("{agent} | ")),
        }
    }
}

/// The work item and the message of `/item ID TEXT`.
fn item_and_text(command: &str) -> Option<(&str, &str)> {
    let rest = command.strip_prefix("/item")?.strip_prefix(char::is_whitespace)?.trim_start();
    let (item, text) = rest.split_once(char::is_whitespace)?;
    Some((item, text.trim())).filter(|(_, text)| !text.is_empty())
}

/// The line of an entry in a conversation: events and decisions, without bookkeeping.
fn told(entry: &Entry) -> Option<String> {
    match &entry.record {
        Record::Event(event) if event.kind == EventKind::SchedulerDecision.as_str() => {
            decided(&event.decision()?)
        }
        // A turn shows in what is said and done in it, and a tick in its decision.
        Record::Turn(turn)
            if turn.status == RunStatus::Started
                || turn.kind == Some(TurnTerminalKind::Completed) =>
        {
            None
        }
        Record::Message(message) if message.kind == MessageKind::SystemTick => None,
        // Its text was shown when the model said it.
        Record::Brief(_) => None,
        Record::QueueEntry(record) if record.status == QueueStatus::Interjected => None,
        Record::Control(ControlRecord::Genesis(_)) => None,
        _ => log::told(entry),
    }
}

/// A decision and its reason; `/why` has the rest.
fn decided(decision: &Decision) -> Option<String> {
    let about = decision.work_item_id.as_ref().map_or_else(String::new, |item| format!(", {item}"));
    let text = match decision.kind {
        DecisionKind::Noop | DecisionKind::StayIdle => return None,
        kind => format!("{kind} ({}{about})", decision.reason),
    };
    Some(painted(FAINT, &format!("decision    {text}")))
}

impl Out {
    /// Prints a text as separate lines.
    fn print(&mut self, text: &str) {
        // The agent continues even if the reader of the output is gone.
        match &mut self.printer {
            Some(printer) => drop(printer.print(format!("{}\n", say::as_printed(text)))),
            None => drop(say::line(text)),
        }
    }

    /// Prints an unfinished line of an agent.
    fn flush(&mut self, agent: &AgentId, whose: &str) {
        if let Some(text) = self.said.remove(agent).filter(|text| !text.trim().is_empty()) {
            self.print(&format!("{whose}{text}"));
        }
    }
}

impl Audience for Conversation {
    fn entry(&self, agent: &AgentId, entry: &Entry, bytes: &EntryBytes) {
        if self.0.json {
            // Also here one line at a time.
            let _out = self.out();
            drop(say::stored(bytes.as_str()));
            return;
        }
        let whose = self.whose(agent);
        let mut out = self.out();
        match &entry.record {
            Record::Transcript(_) => out.flush(agent, &whose),
            // At a terminal the prompt is visible where it was typed.
            Record::Message(message)
                if message.kind == MessageKind::OperatorPrompt && out.printer.is_some() => {}
            _ => {
                if let Some(told) = told(entry) {
                    out.flush(agent, &whose);
                    out.print(&format!("{whose}{told}"));
                }
            }
        }
    }

    fn text(&self, agent: &AgentId, delta: &str) {
        if self.0.json {
            return;
        }
        let whose = self.whose(agent);
        let mut out = self.out();
        let mut said = out.said.remove(agent).unwrap_or_default();
        said.push_str(delta);
        // Only whole lines are printed, because the printer works above the line that is being
        // typed.
        if let Some(end) = said.rfind('\n') {
            let rest = said.split_off(end + 1);
            let lines: Vec<_> = said.lines().map(|line| format!("{whose}{line}")).collect();
            out.print(&lines.join("\n"));
            said = rest;
        }
        out.said.insert(agent.clone(), said);
    }

    fn calls(&self, _: &AgentId, _: &str) {
        // The entry of the call shows its result.
    }

    fn notice(&self, agent: &AgentId, notice: &str) {
        let line = format!("{}{}{notice}", self.whose(agent), painted(STRONG, "notice      "));
        if self.0.json {
            mention!("{line}");
        } else {
            self.print(&line);
        }
    }
}
