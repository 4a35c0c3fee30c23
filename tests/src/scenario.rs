//! Scenarios: text files that read like a story. Commands, and under `----` everything observable that they gave.
//!
//! | command | does |
//! |---|---|
//! | `prompt ID TEXT` | an operator prompt comes in |
//! | `say FACT` | a fact in JSON comes in; `$run` stands for the open run |
//! | `end KIND` | the open run ends with this terminal kind |
//! | `step [BOUNDARY]` | one step, at `run_loop` where nothing is said |
//! | `run` | steps until there is nothing more to do |
//! | `clock INSTANT` | sets the clock |
//! | `restart` | the process dies, and another one opens the ledger |
//! | `observe` | a fresh ledger of another runtime takes the place of this one; nobody drives it |
//! | `status`, `wake`, `decide` | print the status, the next wake, the decision at `run_loop_idle` with its rule |
//!
//! `UPDATE=1` rewrites the expectations; the diff is what is reviewed.

use std::fmt::Write as _;

use wakeful::{clock::VirtualClock, provider::Elsewhere};
use wakeful_core::{
    derive::status,
    effect::Effect,
    entry::{EntryBytes, EventKind, Head, Record},
    fact::Answer,
    host::{Scheduler, SchedulerError},
    json,
    ladder::{Boundary, Decision},
    machine::Options,
    time::Timestamp,
};

use crate::watched::WatchedLedger;

/// A scenario that is being played.
struct Played {
    ledger: WatchedLedger,
    clock: VirtualClock,
    scheduler: Scheduler<WatchedLedger, VirtualClock, Elsewhere>,
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

/// Plays a scenario: the ledger that it leaves, and how many entries that had after each append.
///
/// # Panics
/// As [`play`] does.
#[must_use]
pub fn ledger(text: &str) -> (WatchedLedger, Vec<usize>) {
    let mut played = Played::new();
    for block in text.split("\n\n") {
        let commands = block.split("\n----").next().unwrap_or_default();
        commands
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .for_each(|line| drop(played.command(line)));
    }
    let cuts = played.ledger.appends();
    (played.ledger, cuts)
}

impl Played {
    fn new() -> Self {
        let ledger = WatchedLedger::default();
        let clock = VirtualClock::at(instant("2026-05-27T09:00:00Z"));
        let scheduler = drive(&ledger, &clock);
        Self { ledger, clock, scheduler }
    }

    fn command(&mut self, line: &str) -> String {
        let before = self.ledger.entries().len();
        let broken = self.ledger.breaches().len();
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let answer = match name {
            "prompt" => self.prompt(rest),
            "say" => self.say(&rest.replace("$run", &self.run_id())),
            "end" => self.say(&format!(r#"{{"fact":"turn_terminal","run_id":"{}","kind":"{rest}"}}"#, self.run_id())),
            "step" => self.step(if rest.is_empty() { "run_loop" } else { rest }),
            "run" => self.run(),
            "clock" => {
                self.clock.set(instant(rest));
                String::new()
            }
            "restart" => {
                self.scheduler = drive(&self.ledger, &self.clock);
                String::new()
            }
            "observe" => {
                self.ledger = WatchedLedger::default();
                self.scheduler = Scheduler::observe(Options::new("default".into()), self.ledger.clone(), self.clock.clone(), Elsewhere)
                    .expect("a fresh ledger opens");
                return self.entries_from(0);
            }
            "status" => format!("{}\n", status::of(self.scheduler.state())),
            "wake" => self.scheduler.next_wake().map_or_else(|| "no wake\n".to_owned(), |at| format!("wakes at {at}\n")),
            "decide" => decision_line(&self.scheduler.explain(Boundary::RunLoopIdle).decision) + "\n",
            other => panic!("`{other}` is no command of a scenario: {line}"),
        };
        // No scenario expects a breach: a line of this kind is a failure wherever it appears.
        let breaches: String = self.ledger.breaches().iter().skip(broken).map(|breach| format!("{breach}\n")).collect();
        self.entries_from(before) + &answer + &breaches
    }

    fn run_id(&self) -> String {
        self.scheduler.state().turns.run.as_ref().map_or_else(|| "none".to_owned(), |run| run.run_id.to_string())
    }

    fn prompt(&mut self, rest: &str) -> String {
        let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
        self.say(&format!(
            r#"{{"fact":"message_queued","message":{{"id":"{id}","kind":"operator_prompt","origin":{{"kind":"operator"}},"trust":"trusted_operator","body":{{"type":"text","text":"{text}"}}}}}}"#
        ))
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
        for (at, line) in self.ledger.entries().lines_from(0).into_iter().enumerate() {
            let entry = EntryBytes::from_stored(line).open(&head).expect("the ledger verifies");
            head = entry.head();
            if at >= before {
                let _ = writeln!(out, "{} {} {}", entry.seq, entry.record.class().as_str(), summary(&entry.record));
            }
        }
        out
    }
}

fn drive(ledger: &WatchedLedger, clock: &VirtualClock) -> Scheduler<WatchedLedger, VirtualClock, Elsewhere> {
    let options = Options::new("default".into());
    Scheduler::drive(options, ledger.clone(), clock.clone(), Elsewhere).expect("the ledger opens")
}

fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("an instant")
}

fn refused(why: &SchedulerError) -> String {
    format!("error: {why}\n")
}

fn effects(effects: &[Effect]) -> String {
    let mut out = String::new();
    for effect in effects {
        let _ = match effect {
            Effect::StartTurn(request) => {
                let item = request
                    .work_item
                    .as_ref()
                    .map_or_else(String::new, |item| format!(" about {} at epoch {}", item.work_item_id, item.epoch));
                let after = request.interrupted_runs.iter().map(|run| format!(" after {run}")).collect::<String>();
                writeln!(out, "effect start_turn {}{item}{after}", request.run_id)
            }
            Effect::Interject { run_id, message_id } => writeln!(out, "effect interject {message_id} into {run_id}"),
            Effect::YieldTurn { run_id } => writeln!(out, "effect yield_turn {run_id}"),
            Effect::AbortTurn { run_id, reason } => writeln!(out, "effect abort_turn {run_id} {reason}"),
            Effect::Release => writeln!(out, "effect release"),
        };
    }
    out
}

fn decision_line(decision: &Decision) -> String {
    let message = decision.message_id.as_ref().map_or_else(String::new, |id| format!(" message={id}"));
    let item = decision.work_item_id.as_ref().map_or_else(String::new, |id| format!(" item={id}"));
    let ignored: String = decision.ignored.iter().map(|ignored| format!(" ignored={}", ignored.what)).collect();
    format!("{:?} {} rule={}{message}{item}{ignored}", decision.kind, decision.reason, decision.rule)
}

fn summary(record: &Record) -> String {
    match record {
        Record::Message(record) => format!("{} {}", record.id, record.kind),
        Record::QueueEntry(record) => {
            let reason = record.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
            format!("{} {}{reason}", record.message_id, record.status)
        }
        Record::Event(record) => {
            let data = record.data.as_ref().map_or("", |data| data.as_str());
            let diagnosed = || Some(format!(" {}", record.data.as_ref()?.field("kind")?.read::<String>().ok()?));
            let detail = match json::read::<Decision>(data) {
                Ok(decision) => format!(" {}", decision_line(&decision)),
                Err(_) if record.kind == EventKind::SchedulerDiagnostic.as_str() => diagnosed().unwrap_or_default(),
                Err(_) => String::new(),
            };
            format!("{}{detail}", record.kind)
        }
        Record::Transcript(_) => "said".to_owned(),
        Record::Task(record) => format!("{} {}", record.id, record.status),
        Record::WorkItem(record) => format!("{} {} revision {}", record.id, record.state, record.revision),
        Record::WaitingIntent(record) => {
            format!("{} {} triggered {}", record.id, record.status, record.trigger_count)
        }
        Record::WaitCondition(record) => format!("{} {}", record.id, record.status),
        Record::Timer(record) => {
            let next = record.next_fire_at.map_or_else(String::new, |at| format!(" fires at {at}"));
            format!("{} {}{next}", record.id, record.status)
        }
        Record::Tool(record) => format!("{} {}", record.id, record.tool_name),
        Record::Brief(record) => format!("{} {}", record.id, record.kind),
        Record::Turn(record) => {
            let kind = record.kind.map_or_else(String::new, |kind| format!(" {kind}"));
            format!("{} {}{kind}", record.run_id, record.status)
        }
        Record::Control(record) => record.name().to_owned(),
        Record::Carried(record) => record.of_class.clone(),
    }
}
