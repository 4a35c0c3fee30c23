//! Scenarios: text files that read like a story. Commands, and under `----` everything observable that they gave.
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
//! | `show PART` | prints `closure`, `context`, `deferred`, `diagnostics`, `focus`, `items`, `owed`, `posture`, `queue` or `waits` of the state, a `message ID` that is not settled, or what the `provider` was asked |
//! | `fold` | folds the log anew, whole and from a snapshot after each entry, and compares with the state that lives |
//!
//! `UPDATE=1` rewrites the expectations; the diff is what is reviewed.

mod host;
mod lines;

use std::{fmt::Write as _, mem};

use wakeful::clock::VirtualClock;
use wakeful_core::{
    derive::status,
    entry::{EntryBytes, Head},
    fact::Answer,
    host::{Scheduler, SchedulerError},
    json,
    ladder::{Boundary, Edition},
    machine::{Machine, Options},
    time::Timestamp,
};

use self::{
    host::{Kept, Told, Trouble},
    lines::{decision, effects, summary},
};
use crate::watched::WatchedLedger;

/// When every agent of a scenario begins.
const START: &str = "2026-05-27T09:00:00Z";

type Host = Scheduler<Kept, VirtualClock, Told>;

/// A scenario that is being played.
struct Played {
    /// The ledgers of the agents before this one.
    done: Vec<WatchedLedger>,
    kept: Kept,
    clock: VirtualClock,
    scheduler: Host,
}

/// Plays a scenario and gives its text with what was observed in place of what was expected.
///
/// # Panics
/// Where a command is none, or a fact cannot be read: the scenario itself is wrong then.
#[must_use]
pub fn play(text: &str) -> String {
    let mut played = Played::new();
    let mut out = String::new();
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let commands = block.split("\n----").next().unwrap_or_default();
        let mut observed = String::new();
        for command in commands.lines().filter(|line| !line.starts_with('#')) {
            observed.push_str(&played.command(command));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(commands);
        out.push('\n');
        if commands.lines().any(|line| !line.starts_with('#')) {
            let _ = write!(out, "----\n{observed}");
        }
    }
    out
}

/// Plays a scenario: the ledgers that it leaves, one for each of its agents, and how many entries each had after each append.
///
/// # Panics
/// As [`play`] does.
#[must_use]
pub fn ledgers(text: &str) -> Vec<(WatchedLedger, Vec<usize>)> {
    let mut played = Played::new();
    for block in text.split("\n\n") {
        let commands = block.split("\n----").next().unwrap_or_default();
        commands
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .for_each(|line| drop(played.command(line)));
    }
    let all = played.done.into_iter().chain([played.kept.ledger]);
    all.map(|ledger| (ledger.clone(), ledger.appends())).collect()
}

impl Played {
    fn new() -> Self {
        let kept = Kept::default();
        let clock = VirtualClock::at(instant(START));
        let scheduler = drive(&kept, &clock, Edition::default());
        Self { done: Vec::new(), kept, clock, scheduler }
    }

    fn command(&mut self, line: &str) -> String {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "repeat" => return self.repeat(rest),
            "beside" => return self.beside(rest),
            "fresh" => {
                let mut next = Self::new();
                mem::swap(self, &mut next);
                self.done.append(&mut next.done);
                self.done.push(next.kept.ledger);
                return String::new();
            }
            "observe" => {
                self.done.push(mem::take(&mut self.kept).ledger);
                self.scheduler = self.observer();
                return self.entries_from(0);
            }
            _ => {}
        }
        let before = self.kept.ledger.entries().len();
        let broken = self.kept.ledger.breaches().len();
        let answer = match name {
            "say" => self.say(&rest.replace("$run", &self.run_id())),
            "step" => self.step(if rest.is_empty() { "run_loop" } else { rest }),
            "run" => self.run(),
            "clock" | "later" | "append" | "provider" | "restart" => {
                self.arrange(name, rest, line);
                String::new()
            }
            "catch_up" => match self.scheduler.catch_up() {
                Ok(entries) => format!("reads {entries}\n"),
                Err(why) => refused(&why),
            },
            "status" | "wake" | "decide" | "look" | "show" | "fold" => self.reading(name, rest),
            _ => {
                let fact = self.fact(name, rest).unwrap_or_else(|| panic!("`{name}` is no command of a scenario: {line}"));
                self.say(&fact)
            }
        };
        // No scenario expects a breach: a line of this kind is a failure wherever it appears.
        let breaches: String = self.kept.ledger.breaches().iter().skip(broken).map(|breach| format!("{breach}\n")).collect();
        self.entries_from(before) + &answer + &breaches
    }

    fn repeat(&mut self, rest: &str) -> String {
        let (count, command) = rest.split_once(' ').expect("`repeat N COMMAND`");
        let count: u32 = count.parse().expect("how often");
        (1..=count).map(|n| self.command(&command.replace("$n", &n.to_string()))).collect()
    }

    fn beside(&mut self, command: &str) -> String {
        let other = self.observer();
        let own = mem::replace(&mut self.scheduler, other);
        let observed = self.command(command);
        self.scheduler = own;
        observed
    }

    fn observer(&self) -> Host {
        let told = Told(self.kept.trouble.clone());
        Scheduler::observe(Options::new("default".into()), self.kept.clone(), self.clock.clone(), told).expect("the ledger opens")
    }

    /// Arranges what comes next.
    fn arrange(&mut self, name: &str, rest: &str, line: &str) {
        let trouble: &Trouble = &self.kept.trouble;
        match (name, rest.split_once(' ').unwrap_or((rest, "1"))) {
            ("clock", _) => self.clock.set(instant(rest)),
            ("later", (seconds, _)) => {
                let now = wakeful_core::host::Clock::now(&mut self.clock);
                self.clock.set(now.plus_ms(seconds.parse::<u64>().expect("seconds") * 1_000));
            }
            ("append", ("fails", times)) => trouble.fail_appends(times.parse().expect("how often")),
            ("append", ("unacknowledged", _)) => trouble.leave_unacknowledged(),
            ("provider", ("fails", _)) => trouble.fail_provider(),
            ("restart", _) => {
                let edition = if rest.is_empty() { Edition::default() } else { json::read(&json::write(&rest)).expect("an edition") };
                self.scheduler = drive(&self.kept, &self.clock, edition);
            }
            _ => panic!("`{line}` arranges nothing that a scenario knows"),
        }
    }

    /// Prints what can be read without a trace.
    fn reading(&mut self, name: &str, part: &str) -> String {
        match (name, part) {
            ("status", _) => format!("{}\n", status::of(self.scheduler.state())),
            ("wake", _) => self.scheduler.next_wake().map_or_else(|| "no wake\n".to_owned(), |at| format!("wakes at {at}\n")),
            ("decide", _) => decision(&self.scheduler.explain(Boundary::RunLoopIdle).decision) + "\n",
            ("look", _) => self.scheduler.explain(Boundary::RunLoopIdle).sentence + "\n",
            ("show", "provider") => match self.kept.trouble.asked().as_slice() {
                [] => "asked for nothing\n".to_owned(),
                asked => asked.iter().map(|asked| format!("asked to {asked}\n")).collect(),
            },
            ("show", _) => lines::part(self.scheduler.state(), part).unwrap_or_else(|| panic!("`{part}` is nothing to show")),
            _ => self.folded(),
        }
    }

    /// Whether each prefix of the log leads to the state that lives (I16).
    fn folded(&self) -> String {
        let live = self.scheduler.state();
        let options = || Options::new("default".into());
        let mut whole = Machine::new(options());
        let mut parts = Vec::new();
        let stored: Vec<_> = self.kept.ledger.entries().lines_from(0).into_iter().map(EntryBytes::from_stored).collect();
        for entry in &stored {
            whole.load(entry).expect("the ledger verifies");
            parts.push(whole.snapshot());
        }
        let mut out = if whole.state() == live { String::new() } else { "the whole log folds to another state\n".to_owned() };
        for (at, part) in parts.iter().enumerate() {
            let mut resumed = Machine::resume(options(), part).expect("a snapshot of this program");
            stored.iter().skip(at + 1).for_each(|entry| resumed.load(entry).expect("the ledger verifies"));
            if resumed.state() != live {
                let _ = writeln!(out, "from the snapshot at entry {} it folds to another state", at + 1);
            }
        }
        if out.is_empty() { format!("folds to the same state, also from each of {} snapshots\n", parts.len()) } else { out }
    }

    fn run_id(&self) -> String {
        self.scheduler.state().turns.run.as_ref().map_or_else(|| "none".to_owned(), |run| run.run_id.to_string())
    }

    /// The fact that a word stands for; none where the word is none.
    fn fact(&self, name: &str, rest: &str) -> Option<String> {
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
            "webhook" => message("webhook_event", r#"{"kind":"webhook","source":"ci"}"#, "trusted_integration", "normal", text),
            "callback" => {
                let (trigger, text) = text.split_once(' ').unwrap_or((text, ""));
                let origin = format!(r#"{{"kind":"callback","descriptor_id":"{trigger}"}}"#);
                message("callback_event", &origin, "trusted_integration", "normal", text)
            }
            "item" => format!(r#"{{"fact":"work_item_created","work_item_id":"{id}","objective":{}}}"#, json::write(&text)),
            "pick" => named("work_item_picked"),
            "complete" => named("work_item_completed"),
            "task" => {
                let (task, item) = text.split_once(' ').unwrap_or((text, ""));
                let item = if item.is_empty() { String::new() } else { format!(r#","work_item_id":"{item}""#) };
                let kind = if id == "created" { r#","task_kind":"command_task""# } else { "" };
                format!(r#"{{"fact":"task_{id}","task_id":"{task}"{kind}{item}}}"#)
            }
            "hint" => format!(r#"{{"fact":"wake_hint_submitted","reason":{}}}"#, json::write(&rest)),
            "end" => format!(r#"{{"fact":"turn_terminal","run_id":"{}","kind":"{rest}"}}"#, self.run_id()),
            _ => return None,
        })
    }

    fn say(&mut self, fact: &str) -> String {
        match self.scheduler.propose(fact) {
            Ok(receipt) => {
                let ignored = match receipt.answer {
                    Answer::Accepted => String::new(),
                    Answer::Ignored { reason, because } => {
                        format!("ignored {reason}, because of {because}\n")
                    }
                };
                ignored + &effects(&receipt.effects)
            }
            Err(why) => refused(&why),
        }
    }

    fn step(&mut self, boundary: &str) -> String {
        let boundary: Boundary = json::read(&json::write(&boundary)).expect("a boundary");
        match self.scheduler.step(boundary) {
            Ok(report) => effects(&report.effects),
            Err(why) => refused(&why),
        }
    }

    fn run(&mut self) -> String {
        match self.scheduler.run_until_rest() {
            Ok(reports) => reports.iter().map(|report| effects(&report.effects)).collect(),
            Err(why) => refused(&why),
        }
    }

    /// What the ledger got, a line per entry.
    fn entries_from(&self, before: usize) -> String {
        let mut head = Head::START;
        let mut out = String::new();
        for (at, line) in self.kept.ledger.entries().lines_from(0).into_iter().enumerate() {
            let entry = EntryBytes::from_stored(line).open(&head).expect("the ledger verifies");
            head = entry.head();
            if at >= before {
                let _ = writeln!(out, "{} {} {}", entry.seq, entry.record.class().as_str(), summary(&entry.record));
            }
        }
        out
    }
}

fn drive(kept: &Kept, clock: &VirtualClock, edition: Edition) -> Host {
    let options = Options { edition, ..Options::new("default".into()) };
    Scheduler::drive(options, kept.clone(), clock.clone(), Told(kept.trouble.clone())).expect("the ledger opens")
}

fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("an instant")
}

fn refused(why: &SchedulerError) -> String {
    format!("error: {why}\n")
}
