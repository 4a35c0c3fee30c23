//! A scenario as every engine can play it: what its host does, recorded once, so that nobody has to
//! know which run is open.

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

/// A scenario that was recorded.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name: that of its file.
    pub name: String,
    /// What its host does, in order. The first act opens a fresh ledger.
    pub acts: Vec<Act>,
}

/// One thing that a host does. Its JSON text is the command in traces.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Act {
    /// Opens a ledger, with a scheduler of its own: a fresh one, or the one that is there.
    Open {
        /// How.
        mode: Mode,
        /// What a fresh ledger begins with.
        options: Options,
        /// Whether it is a fresh one.
        fresh: bool,
    },
    /// Proposes a fact.
    Propose {
        /// Its JSON text.
        fact: String,
    },
    /// Takes a step.
    Step {
        /// Where.
        boundary: Boundary,
    },
    /// Runs until rest.
    Run,
    /// Sets the clock.
    SetClock {
        /// To so many nanoseconds since the epoch; as text, since JavaScript has no such numbers in
        /// JSON.
        #[serde(serialize_with = "as_text")]
        nanos: i64,
    },
}

fn as_text<S: Serializer>(nanos: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(nanos)
}

/// Records a scenario. What it prints is left out: a trace has an explanation after every act.
///
/// # Errors
/// What it needs that not every host has.
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

/// Plays a scenario and writes down what its host does.
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
                return Err("a second process beside the first".to_owned());
            }
            Command::AppendFails(_) | Command::AppendUnacknowledged => {
                return Err("a ledger that fails".to_owned());
            }
            Command::ProviderFails => return Err("a provider that fails".to_owned()),
        };
        // What is refused is refused by every engine; the trace has it.
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
            ("beside run", "a second process beside the first"),
        ] {
            assert_eq!(recorded(text).expect_err("not every host has it"), needs);
        }
    }
}
