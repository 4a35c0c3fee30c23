//! Plays a case with an engine, step by step.

use serde_json::value::RawValue;
use wakeful_core::{
    foreign::{self, Folder},
    json,
    machine::Options,
    record::decision::Boundary,
    story::{Command, Story},
    time::Timestamp,
};
use wakeful_host::{
    clock::VirtualClock,
    engine::{Engine, EngineError, Mode, Native},
    ledger::MemoryLedger,
    sandbox::{Compiler, Guest, GuestError, Limits, Plugin, Sandbox},
};

use super::{Step, Trace, TraceError};
use crate::{
    case::{Case, CaseKind},
    provider::ScriptedProvider,
    scenario::{Act, START, Scenario},
};

/// The time at which fixtures are replayed: 2026-01-01T00:00:00Z. It is fixed, so that a replay
/// gives the same result on every day.
pub(crate) const REPLAYED_AT: Timestamp = Timestamp::from_nanos(1_767_225_600_000_000_000);

/// What the host provides to an engine: a ledger, a clock and a provider.
pub(super) struct Stage {
    pub(super) ledger: MemoryLedger,
    pub(super) clock: VirtualClock,
    pub(super) provider: ScriptedProvider,
}

impl Stage {
    fn from_case(case: &Case) -> Self {
        Self::playing(match &case.kind {
            CaseKind::Story(story, _) => (**story).clone(),
            CaseKind::Fixture(_) => untold(&case.name, REPLAYED_AT),
        })
    }

    fn playing(story: Story) -> Self {
        Self {
            ledger: MemoryLedger::default(),
            clock: VirtualClock::at(story.starts_at),
            provider: ScriptedProvider::new(story),
        }
    }
}

/// A story without a script. An observed ledger never starts a turn, and a scenario says itself
/// what its host does.
fn untold(name: &str, starts_at: Timestamp) -> Story {
    Story {
        story: name.to_owned(),
        shows: String::new(),
        agent_id: "default".into(),
        starts_at,
        script: Vec::new(),
        turns: Vec::new(),
        provider: None,
    }
}

/// Starts the core of this program over a stage.
pub(super) fn native(stage: &Stage) -> Native<MemoryLedger, VirtualClock, ScriptedProvider> {
    Native::new(stage.ledger.clone(), stage.clock.clone(), stage.provider.clone())
}

/// A guest that is linked, so that instances over a stage start quickly.
pub struct Sandboxed {
    name: &'static str,
    plugin: Plugin<MemoryLedger, VirtualClock, ScriptedProvider>,
}

impl Sandboxed {
    pub(super) fn new(guest: &Guest) -> Result<Self, GuestError> {
        let name = match guest.compiler() {
            Compiler::Cranelift => "wasmtime",
            Compiler::Winch => "winch",
            Compiler::Pulley => "pulley",
        };
        Ok(Self { name, plugin: Plugin::new(guest)? })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Starts an instance over a stage.
    pub(super) fn over(
        &self,
        stage: &Stage,
    ) -> Result<Sandbox<MemoryLedger, VirtualClock, ScriptedProvider>, TraceError> {
        Ok(self.plugin.instance(
            stage.ledger.clone(),
            stage.clock.clone(),
            stage.provider.clone(),
            Limits::default(),
        )?)
    }
}

/// Plays a case with the engine that `start` returns.
pub(super) fn play<E: Engine>(
    case: &Case,
    start: impl FnOnce(&Stage) -> Result<E, TraceError>,
) -> Result<Trace, TraceError> {
    let stage = Stage::from_case(case);
    let mut engine = start(&stage)?;
    let steps = match &case.kind {
        CaseKind::Fixture(folder) => vec![replay(&mut engine, &stage, folder)?],
        CaseKind::Story(story, _) => tell(&mut engine, &stage, story)?,
    };
    Ok(Trace { case: case.name.clone(), steps })
}

/// Repeats the recorded acts of a scenario's host. `start` is called each time that a ledger is
/// opened.
pub(super) fn perform<E: Engine>(
    scenario: &Scenario,
    start: impl Fn(&Stage) -> Result<E, TraceError>,
) -> Result<Trace, TraceError> {
    let mut stage = Stage::playing(untold(&scenario.name, START));
    let mut engine = start(&stage)?;
    let mut steps = Vec::new();
    for act in &scenario.acts {
        let mut before = stage.ledger.len();
        let outcome = match act {
            Act::Open { mode, options, fresh } => {
                if *fresh {
                    // The entries of this step start at the beginning of the fresh ledger.
                    stage.ledger = MemoryLedger::default();
                    before = 0;
                }
                // A new instance, as after a restart of the process: only the ledger carries over.
                engine = start(&stage)?;
                engine.open(options, *mode).map(|_| "null".to_owned())
            }
            Act::Propose { fact } => engine.propose(fact),
            Act::Step { boundary } => engine.step(*boundary),
            Act::Run => engine.run_until_rest(),
            Act::SetClock { nanos } => {
                stage.clock.set(Timestamp::from_nanos(*nanos));
                Ok("null".to_owned())
            }
        };
        steps.push(step(&mut engine, &stage, before, json::write(act), answered(outcome)?)?);
    }
    Ok(Trace { case: scenario.name.clone(), steps })
}

fn replay(engine: &mut impl Engine, stage: &Stage, folder: &Folder) -> Result<Step, TraceError> {
    // If the folder does not name the agent, the replay reports why.
    let agent_id = foreign::agent_of(folder).unwrap_or_else(|_| "default".into());
    let opened = engine.open(&Options::new(agent_id), Mode::Observe);
    let outcome = opened.and_then(|_| engine.replay(&json::write(folder)));
    step(engine, stage, 0, r#"{"do":"replay"}"#.to_owned(), answered(outcome)?)
}

fn tell(engine: &mut impl Engine, stage: &Stage, story: &Story) -> Result<Vec<Step>, TraceError> {
    let opened =
        engine.open(&Options::new(story.agent_id.clone()), Mode::Drive).map(|_| "null".to_owned());
    let mut steps = vec![step(engine, stage, 0, r#"{"do":"open"}"#.to_owned(), answered(opened)?)?];
    loop {
        let before = stage.ledger.len();
        let command = stage.provider.next(engine.next_wake()?);
        let outcome = match &command {
            Command::Done => return Ok(steps),
            Command::Propose { fact } => engine.propose(fact.as_str()),
            Command::Run => engine.run_until_rest(),
            Command::SetClock { to } => {
                stage.clock.set(*to);
                Ok("null".to_owned())
            }
        };
        steps.push(step(engine, stage, before, json::write(&command), answered(outcome)?)?);
    }
}

/// Turns a refusal into a part of the trace. If the engine itself failed, there is no trace.
fn answered(outcome: Result<String, EngineError>) -> Result<String, EngineError> {
    match outcome {
        Err(EngineError::Refused(report)) => Ok(format!(r#"{{"error":{}}}"#, json::write(&report))),
        other => other,
    }
}

fn step(
    engine: &mut impl Engine,
    stage: &Stage,
    before: usize,
    command: String,
    outcome: String,
) -> Result<Step, TraceError> {
    let entries = stage
        .ledger
        .lines_from(before)
        .into_iter()
        .map(RawValue::from_string)
        .collect::<Result<_, _>>()?;
    Ok(Step {
        command: RawValue::from_string(command)?,
        outcome: RawValue::from_string(outcome)?,
        entries,
        explanation: RawValue::from_string(engine.explain(Boundary::RunLoopIdle)?)?,
        fuel_spent: engine.fuel_spent(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_begin_where_the_web_engine_begins_them() {
        assert_eq!(REPLAYED_AT.to_string(), "2026-01-01T00:00:00Z");
    }
}
