//! Scenarios: text files that read like a story, with commands and, below `----`, everything
//! observable that they gave. `wakeful::scenario` parses the commands. Here they are played on a
//! host that can fail, and what is observed is printed.
//!
//! `UPDATE=1` rewrites the expectations; review the diff.

mod host;
mod lines;

use std::{fmt::Write as _, mem};

use wakeful::scenario::{self, Command, START};
use wakeful_core::{
    derive::status,
    fact::outcome::Answer,
    host::{Scheduler, SchedulerError},
    machine::{Machine, Options},
    record::{chain::Head, decision::Boundary, edition::Edition, entry::EntryBytes},
};
use wakeful_host::clock::VirtualClock;

use self::{
    host::{Kept, Told, Trouble},
    lines::{decision, effects, summary},
};
use crate::watched::WatchedLedger;

type Host = Scheduler<Kept, VirtualClock, Told>;

/// The state of a scenario that is being played.
struct Played {
    /// The ledgers of earlier agents: `fresh` and `observe` start a new one.
    done: Vec<WatchedLedger>,
    kept: Kept,
    clock: VirtualClock,
    scheduler: Host,
}

/// Plays a scenario and returns its text, with what was observed instead of what was expected.
///
/// # Panics
/// If a line is not a command, or if a fact cannot be read: the scenario itself is wrong then.
#[must_use]
pub fn play(text: &str) -> String {
    let mut played = Played::new();
    let mut out = String::new();
    for block in text.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let commands = block.split("\n----").next().unwrap_or_default();
        let mut observed = String::new();
        for command in commands.lines().filter(|line| !line.starts_with('#')) {
            for command in &scenario::read(command).unwrap_or_else(|why| panic!("{why}")) {
                observed.push_str(&played.command(command));
            }
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

/// Plays a scenario and returns the ledger of each of its agents, with the number of entries after
/// each append.
///
/// # Panics
/// Like [`play`].
#[must_use]
pub fn ledgers(text: &str) -> Vec<(WatchedLedger, Vec<usize>)> {
    let mut played = Played::new();
    for command in &scenario::commands(text).unwrap_or_else(|why| panic!("{why}")) {
        played.command(command);
    }
    let all = played.done.into_iter().chain([played.kept.ledger]);
    all.map(|ledger| (ledger.clone(), ledger.appends())).collect()
}

impl Played {
    fn new() -> Self {
        let kept = Kept::default();
        let clock = VirtualClock::at(START);
        let scheduler = drive(&kept, &clock, Edition::default());
        Self { done: Vec::new(), kept, clock, scheduler }
    }

    fn command(&mut self, command: &Command) -> String {
        match command {
            Command::Beside(command) => return self.beside(command),
            Command::Fresh => {
                let mut next = Self::new();
                mem::swap(self, &mut next);
                self.done.append(&mut next.done);
                self.done.push(next.kept.ledger);
                return String::new();
            }
            Command::Observe => {
                self.done.push(mem::take(&mut self.kept).ledger);
                self.scheduler = self.observer();
                return self.entries_from(0);
            }
            _ => {}
        }
        let before = self.kept.ledger.entries().len();
        let broken = self.kept.ledger.breaches().len();
        let answer = match command {
            Command::Say(fact) => self.say(&fact.replace("$run", &self.run_id())),
            Command::Step(boundary) => self.step(*boundary),
            Command::Run => self.run(),
            Command::CatchUp => match self.scheduler.catch_up() {
                Ok(entries) => format!("reads {entries}\n"),
                Err(why) => refused(&why),
            },
            Command::Print(what, part) => self.reading(what, part),
            command => {
                self.arrange(command);
                String::new()
            }
        };
        // No scenario expects a breach, so such a line fails the comparison wherever it appears.
        let breaches: String = self
            .kept
            .ledger
            .breaches()
            .iter()
            .skip(broken)
            .map(|breach| format!("{breach}\n"))
            .collect();
        self.entries_from(before) + &answer + &breaches
    }

    fn beside(&mut self, command: &Command) -> String {
        // Another process runs the command, so this scheduler does not see what it appends.
        let other = self.observer();
        let own = mem::replace(&mut self.scheduler, other);
        let observed = self.command(command);
        self.scheduler = own;
        observed
    }

    fn observer(&self) -> Host {
        let told = Told(self.kept.trouble.clone());
        Scheduler::observe(
            Options::new("default".into()),
            self.kept.clone(),
            self.clock.clone(),
            told,
        )
        .expect("the ledger opens")
    }

    /// Runs a command that only prepares what comes next and prints nothing.
    fn arrange(&mut self, command: &Command) {
        let trouble: &Trouble = &self.kept.trouble;
        match command {
            Command::Clock(to) => self.clock.set(*to),
            Command::Later(seconds) => {
                let now = wakeful_core::host::Clock::now(&mut self.clock);
                self.clock.set(now.plus_ms(seconds * 1_000));
            }
            Command::AppendFails(times) => trouble.fail_appends(*times),
            Command::AppendUnacknowledged => trouble.leave_unacknowledged(),
            Command::ProviderFails => trouble.fail_provider(),
            Command::Restart(edition) => self.scheduler = drive(&self.kept, &self.clock, *edition),
            other => panic!("{other:?} arranges nothing"),
        }
    }

    /// Prints a reading of the agent, which appends nothing.
    fn reading(&mut self, name: &str, part: &str) -> String {
        match (name, part) {
            ("status", _) => format!("{}\n", status::status(self.scheduler.state())),
            ("wake", _) => self
                .scheduler
                .next_wake()
                .map_or_else(|| "no wake\n".to_owned(), |at| format!("wakes at {at}\n")),
            ("decide", _) => {
                decision(&self.scheduler.explain(Boundary::RunLoopIdle).decision) + "\n"
            }
            ("look", _) => self.scheduler.explain(Boundary::RunLoopIdle).sentence + "\n",
            ("show", "provider") => match self.kept.trouble.asked().as_slice() {
                [] => "asked for nothing\n".to_owned(),
                asked => asked.iter().map(|asked| format!("asked to {asked}\n")).collect(),
            },
            ("show", part) if part.starts_with("newest ") => self.newest(part),
            ("show", _) => lines::part(self.scheduler.state(), part)
                .unwrap_or_else(|| panic!("`{part}` is nothing to show")),
            _ => self.folded(),
        }
    }

    /// Whether the whole log, and each of its snapshots with the rest, gives the live state (I16).
    fn folded(&self) -> String {
        let live = self.scheduler.state();
        let options = || Options::new("default".into());
        let mut whole = Machine::new(options());
        let mut parts = Vec::new();
        let stored: Vec<_> = self
            .kept
            .ledger
            .entries()
            .lines_from(0)
            .into_iter()
            .map(EntryBytes::from_stored)
            .collect();
        for entry in &stored {
            whole.load(entry).expect("the ledger verifies");
            parts.push(whole.snapshot());
        }
        let mut out = if whole.state() == live {
            String::new()
        } else {
            "the whole log folds to another state\n".to_owned()
        };
        for (at, part) in parts.iter().enumerate() {
            let mut resumed = Machine::resume(options(), part).expect("a snapshot of this program");
            stored
                .iter()
                .skip(at + 1)
                .for_each(|entry| resumed.load(entry).expect("the ledger verifies"));
            if resumed.state() != live {
                let _ = writeln!(
                    out,
                    "from the snapshot at entry {} it folds to another state",
                    at + 1
                );
            }
        }
        if out.is_empty() {
            format!("folds to the same state, also from each of {} snapshots\n", parts.len())
        } else {
            out
        }
    }

    /// The complete records of the newest entries.
    fn newest(&self, part: &str) -> String {
        let count: usize =
            part.split(' ').nth(1).and_then(|count| count.parse().ok()).expect("`newest N`");
        let ledger = self.kept.ledger.entries();
        let lines = ledger.lines_from(ledger.len().saturating_sub(count));
        let record = |line: String| {
            let (canonical, _) = EntryBytes::from_stored(line).split().expect("an entry");
            let (_, record) = canonical.split_once(",\"record\":").expect("an entry has a record");
            format!("  {}\n", record.strip_suffix('}').expect("an entry is an object"))
        };
        lines.into_iter().map(record).collect()
    }

    fn run_id(&self) -> String {
        self.scheduler
            .state()
            .turns()
            .run
            .as_ref()
            .map_or_else(|| "none".to_owned(), |run| run.run_id.to_string())
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

    fn step(&mut self, boundary: Boundary) -> String {
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

    /// The entries after the first `before`, one line for each.
    fn entries_from(&self, before: usize) -> String {
        let mut head = Head::START;
        let mut out = String::new();
        for (at, line) in self.kept.ledger.entries().lines_from(0).into_iter().enumerate() {
            let entry = EntryBytes::from_stored(line).open(&head).expect("the ledger verifies");
            head = entry.head();
            if at >= before {
                let _ = writeln!(
                    out,
                    "{} {} {}",
                    entry.seq,
                    entry.record.class().as_str(),
                    summary(&entry.record)
                );
            }
        }
        out
    }
}

fn drive(kept: &Kept, clock: &VirtualClock, edition: Edition) -> Host {
    let options = Options { edition, ..Options::new("default".into()) };
    Scheduler::drive(options, kept.clone(), clock.clone(), Told(kept.trouble.clone()))
        .expect("the ledger opens")
}

fn refused(why: &SchedulerError) -> String {
    format!("error: {why}\n")
}
