//! A scenario in the form that every engine can play. The acts of its host are recorded once, so
//! that an engine need not know which run is open.

use serde::{Serialize, Serializer};
use wakeful_core::{
    host::{Clock, Scheduler, SchedulerError},
    id::AgentId,
    machine::Options,
    record::{decision::Boundary, edition::Edition},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, engine::Mode, ledger::MemoryLedger, provider::Elsewhere};

use super::{Command, START};

/// The recorded acts of a scenario's host.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name of the scenario's file, without extension.
    pub name: String,
    /// In order. The first act opens a fresh ledger.
    pub acts: Vec<Act>,
}

/// One act of a host. Its JSON text is the command in traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "an act is read once, so a box would gain nothing")]
pub enum Act {
    /// Opens a ledger with a new scheduler.
    Open {
        /// Whether the ledger is driven or observed.
        mode: Mode,
        /// The options of a fresh ledger.
        options: Options,
        /// Whether the ledger is a fresh one, or the current one.
        fresh: bool,
    },
    /// Proposes a fact.
    Propose {
        /// The fact as JSON text.
        fact: String,
    },
    /// Takes a step.
    Step {
        /// The boundary of the step.
        boundary: Boundary,
    },
    /// Runs until rest.
    Run,
    /// Sets the clock.
    SetClock {
        /// Nanoseconds since the epoch. As text, because JavaScript cannot read such large numbers
        /// exactly.
        #[serde(serialize_with = "as_text")]
        nanos: i64,
    },
}

fn as_text<S: Serializer>(nanos: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(nanos)
}

/// Records a scenario. Commands that print are left out: a trace has an explanation after every
/// act.
///
/// # Errors
/// If the scenario needs something that not every host has; the error names it.
pub fn record(name: &str, commands: &[Command]) -> Result<Scenario, String> {
    let mut recorder = Recorder {
        acts: Vec::new(),
        ledger: MemoryLedger::default(),
        clock: VirtualClock::at(START),
        scheduler: None,
    };
    recorder.fresh(Mode::Drive)?;
    for command in commands {
        recorder.command(command)?;
    }
    Ok(Scenario { name: name.to_owned(), acts: recorder.acts })
}

/// Plays a scenario and records the acts of its host.
struct Recorder {
    acts: Vec<Act>,
    ledger: MemoryLedger,
    clock: VirtualClock,
    scheduler: Option<Scheduler<MemoryLedger, VirtualClock, Elsewhere>>,
}

impl Recorder {
    fn command(&mut self, command: &Command) -> Result<(), String> {
        let act = match command {
            Command::Say(fact) => Act::Propose { fact: fact.replace("$run", &self.run_id()) },
            Command::Step(boundary) => Act::Step { boundary: *boundary },
            Command::Run => Act::Run,
            Command::Clock(to) => return self.set_clock(*to),
            Command::Later(seconds) => {
                let to = self.clock.now().plus_ms(seconds * 1_000);
                return self.set_clock(to);
            }
            Command::Restart(edition) => return self.open(Mode::Drive, *edition, false),
            Command::Observe => return self.fresh(Mode::Observe),
            Command::Fresh => {
                self.set_clock(START)?;
                return self.fresh(Mode::Drive);
            }
            Command::Print(..) => return Ok(()),
            Command::Beside(_) | Command::CatchUp => {
                return Err("a second process".to_owned());
            }
            Command::AppendFails(_) | Command::AppendUnacknowledged => {
                return Err("a ledger that fails".to_owned());
            }
            Command::ProviderFails => return Err("a provider that fails".to_owned()),
        };
        // A refusal is not an error here: every engine gives it, and the trace has it.
        match (&mut self.scheduler, &act) {
            (Some(scheduler), Act::Propose { fact }) => drop(scheduler.propose(fact)),
            (Some(scheduler), Act::Step { boundary }) => drop(scheduler.step(*boundary)),
            (Some(scheduler), _) => drop(scheduler.run_until_rest()),
            (None, _) => {}
        }
        self.acts.push(act);
        Ok(())
    }

    fn fresh(&mut self, mode: Mode) -> Result<(), String> {
        self.ledger = MemoryLedger::default();
        self.open(mode, Edition::default(), true)
    }

    fn open(&mut self, mode: Mode, edition: Edition, fresh: bool) -> Result<(), String> {
        let options = Options { edition, ..Options::new(AgentId::from("default")) };
        let (ledger, clock) = (self.ledger.clone(), self.clock.clone());
        let opened = match mode {
            Mode::Drive => Scheduler::drive(options.clone(), ledger, clock, Elsewhere),
            Mode::Observe => Scheduler::observe(options.clone(), ledger, clock, Elsewhere),
        };
        self.scheduler = Some(opened.map_err(|why: SchedulerError| why.to_string())?);
        self.acts.push(Act::Open { mode, options, fresh });
        Ok(())
    }

    fn set_clock(&mut self, to: Timestamp) -> Result<(), String> {
        self.clock.set(to);
        self.acts.push(Act::SetClock { nanos: to.as_nanos() });
        Ok(())
    }

    fn run_id(&self) -> String {
        let run =
            self.scheduler.as_ref().and_then(|scheduler| scheduler.state().turns().run.as_ref());
        // No run has this id, so all engines must ignore such a fact in the same way.
        run.map_or_else(|| "none".to_owned(), |run| run.run_id.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::commands;

    fn recorded(text: &str) -> Result<Scenario, String> {
        record("s", &commands(text).expect("commands"))
    }

    #[test]
    fn the_open_run_is_named_and_time_is_absolute() {
        let scenario = recorded("prompt m1 hello\nrun\nlater 2\nend completed\nfresh\nstatus")
            .expect("every engine can play it");
        let [
            Act::Open { fresh: true, .. },
            Act::Propose { .. },
            Act::Run,
            Act::SetClock { nanos },
            Act::Propose { fact },
            again @ ..,
        ] = scenario.acts.as_slice()
        else {
            panic!("{:?}", scenario.acts)
        };
        assert_eq!(*nanos, START.as_nanos() + 2_000_000_000);
        assert!(fact.contains("\"run_id\":\"default:run-"), "{fact}");
        assert!(
            matches!(
                again,
                [Act::SetClock { .. }, Act::Open { mode: Mode::Drive, fresh: true, .. }]
            ),
            "{again:?}"
        );
    }

    #[test]
    fn what_not_every_host_has_is_a_reason() {
        for (text, needs) in [
            ("append fails 2", "a ledger that fails"),
            ("provider fails", "a provider that fails"),
            ("beside run", "a second process"),
        ] {
            assert_eq!(recorded(text).expect_err("not every host has it"), needs);
        }
    }
}
