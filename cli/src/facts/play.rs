//! Plays the examples with the native scheduler under a virtual clock.

use serde_json::Value;
use wakeful_core::{
    fact::outcome::Answer,
    host::{Scheduler, SchedulerError, StepReport},
    json,
    machine::Options,
    record::{decision::DecisionKind, effect::Effect},
    time::Timestamp,
};
use wakeful_host::{clock::VirtualClock, ledger::MemoryLedger, provider::Elsewhere};

use super::{
    AllDescribed, Decided, Entry, Part, Rest, SaidBy, Told,
    life::{self, Chapter, Scene},
    observed,
};

/// When both lives begin: 2026-05-27T09:00:00Z.
const BEGINS_AT: i64 = 1_779_872_400_000_000_000;

const NANOS_PER_MS: i64 = 1_000_000;

/// Why the examples cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The scheduler refused an example.
    #[error("the example `{fact}` cannot be said: {why}")]
    Refused {
        /// The example.
        fact: String,
        /// Why.
        why: SchedulerError,
    },
    /// The agent cannot be opened or continued.
    #[error(transparent)]
    Stuck(#[from] SchedulerError),
    /// An example is not a fact.
    #[error("the example `{fact}` is not a fact")]
    NotAFact {
        /// The example.
        fact: String,
    },
    /// An example names the open run, and no run is open.
    #[error("the example `{fact}` needs an open run")]
    NoRun {
        /// The example.
        fact: String,
    },
    /// The schema of the facts has an unknown form.
    #[error("the schema of the facts cannot be read")]
    Schema,
}

/// A fact that was said.
#[derive(Debug)]
pub struct Said {
    /// The fact, with the ids of this life.
    pub fact: Value,
    /// Its answer.
    pub answer: Answer,
    /// Its effects, by name.
    pub effects: Vec<&'static str>,
}

/// An agent, and the clock of its host.
struct Life {
    scheduler: Scheduler<MemoryLedger, VirtualClock, Elsewhere>,
    clock: VirtualClock,
    now: Timestamp,
}

impl Life {
    /// Opens a new ledger, which nothing drives yet.
    fn begin() -> Result<Self, PlayError> {
        let now = Timestamp::from_nanos(BEGINS_AT);
        let clock = VirtualClock::at(now);
        let options = Options::new(life::AGENT.into());
        let scheduler =
            Scheduler::observe(options, MemoryLedger::default(), clock.clone(), Elsewhere)?;
        Ok(Self { scheduler, clock, now })
    }

    /// Lets time pass; if `ms` is negative, the host's clock is set back.
    fn pass(&mut self, ms: i64) {
        self.now = Timestamp::from_nanos(self.now.as_nanos() + ms * NANOS_PER_MS);
        self.clock.set(self.now);
    }

    /// Says a fact.
    fn say(&mut self, template: &str) -> Result<Said, PlayError> {
        let text = self.filled(template)?;
        let fact = serde_json::from_str(&text)
            .map_err(|_| PlayError::NotAFact { fact: template.to_owned() })?;
        let receipt = self
            .scheduler
            .propose(&text)
            .map_err(|why| PlayError::Refused { fact: template.to_owned(), why })?;
        let effects = receipt.effects.iter().filter_map(effect).collect();
        Ok(Said { fact, answer: receipt.answer, effects })
    }

    /// The example with the ids of this life.
    fn filled(&self, template: &str) -> Result<String, PlayError> {
        let state = self.scheduler.state();
        let anchor = state.context().anchor.to_string();
        let text = template.replace(life::ANCHOR, &anchor);
        match state.open_run() {
            Some(run) => Ok(text.replace(life::RUN, &json::write(&run.run_id))),
            None if text.contains(life::RUN) => Err(PlayError::NoRun { fact: template.to_owned() }),
            None => Ok(text),
        }
    }

    /// Steps until the agent rests, and returns what was decided on the way.
    fn rest(&mut self) -> Result<Rest, PlayError> {
        let decisions = self.scheduler.run_until_rest()?.into_iter().filter_map(decided).collect();
        let wakes_in_ms = match self.scheduler.state().open_run() {
            // The instant at which a run counts as stalled says nothing about the example.
            Some(_) => None,
            None => self.scheduler.next_wake(),
        }
        .map(|at| (at.as_nanos() - self.now.as_nanos()) / NANOS_PER_MS);
        Ok(Rest { decisions, wakes_in_ms })
    }
}

/// The decision of a step, unless it is that a run stays open, or the agent asleep.
fn decided(report: StepReport) -> Option<Decided> {
    let says_nothing = [DecisionKind::Noop, DecisionKind::StayIdle];
    let decision = report.decision.filter(|decision| !says_nothing.contains(&decision.kind))?;
    Some(Decided { decision: decision.kind.as_str(), reason: decision.reason })
}

/// The name of an effect. A turn is started by a decision, which says so.
fn effect(effect: &Effect) -> Option<&'static str> {
    match effect {
        Effect::StartTurn(_) => None,
        Effect::Interject { .. } => Some("interject"),
        Effect::YieldTurn { .. } => Some("yield_turn"),
        Effect::AbortTurn { .. } => Some("abort_turn"),
        Effect::Release => Some("release"),
    }
}

/// Plays the life of a driven agent.
pub(super) fn driven(described: &AllDescribed) -> Result<Vec<Told>, PlayError> {
    let mut life = Life::begin()?;
    life::CHAPTERS.iter().map(|chapter| told(&mut life, chapter, described)).collect()
}

fn told(life: &mut Life, chapter: &Chapter, described: &AllDescribed) -> Result<Told, PlayError> {
    let part = |scene: &Scene| match *scene {
        Scene::Fact { when, fact } => {
            let said = life.say(fact)?;
            let rest = life.rest()?;
            let entry = Entry { rest, ..entry(said, chapter.title, when, described)? };
            Ok(Part::Fact(Box::new(entry)))
        }
        Scene::Meanwhile { says, passes_ms, facts } => {
            life.pass(passes_ms);
            let mut rest = life.rest()?;
            let mut said = Vec::new();
            for fact in facts {
                said.push(life.say(fact)?);
                rest = life.rest()?;
            }
            Ok(Part::Meanwhile { says, said, rest })
        }
    };
    let parts = chapter.scenes.iter().map(part).collect::<Result<_, PlayError>>()?;
    Ok(Told { title: chapter.title, says: chapter.says, parts })
}

fn entry(
    said: Said,
    chapter: &'static str,
    when: &'static str,
    described: &AllDescribed,
) -> Result<Entry, PlayError> {
    let name = said.fact.get("fact").and_then(Value::as_str).map(str::to_owned);
    let known = name.and_then(|name| described.get_key_value(&name));
    let (name, described) =
        known.ok_or_else(|| PlayError::NotAFact { fact: said.fact.to_string() })?;
    Ok(Entry {
        fact: name.clone(),
        says: described.says.clone(),
        said_by: SaidBy::Driver,
        chapter,
        when,
        example: said.fact,
        answer: said.answer,
        to_a_driver: None,
        effects: said.effects,
        rest: Rest::default(),
        fields: described.fields.clone(),
        shape: described.shape.clone(),
    })
}

/// Plays what an observer reports, and the same with a driver.
pub(super) fn observed(described: &AllDescribed) -> Result<Told, PlayError> {
    let mut observer = Life::begin()?;
    let mut driver = Life::begin()?;
    driver.say(r#"{"fact":"runtime_restarted"}"#)?;
    let mut parts = Vec::new();
    for unsaid in observed::FACTS {
        for fact in unsaid.before {
            observer.say(fact)?;
            driver.say(fact)?;
        }
        let said = observer.say(unsaid.fact)?;
        let to_a_driver = Some(driver.say(unsaid.fact)?.answer);
        let entry = entry(said, observed::TITLE, unsaid.why, described)?;
        let entry = Entry { said_by: SaidBy::Observer, to_a_driver, ..entry };
        parts.push(Part::Fact(Box::new(entry)));
    }
    Ok(Told { title: observed::TITLE, says: observed::SAYS, parts })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wakeful_core::fact::Fact;

    use super::super::{entries, told};
    use super::*;

    #[test]
    fn every_fact_has_one_example() {
        let told = told().expect("both lives");
        let mut names: Vec<_> = entries(&told).map(|entry| entry.fact.as_str()).collect();
        names.sort_unstable();
        let mut all = Fact::NAMES.to_vec();
        all.sort_unstable();
        assert_eq!(names, all);
    }

    #[test]
    fn every_example_is_accepted() {
        let told = told().expect("both lives");
        for entry in entries(&told) {
            assert_eq!(entry.answer, Answer::Accepted, "{}", entry.example);
        }
        for part in told.iter().flat_map(|chapter| &chapter.parts) {
            if let Part::Meanwhile { said, .. } = part {
                for said in said {
                    assert_eq!(said.answer, Answer::Accepted, "{}", said.fact);
                }
            }
        }
    }

    #[test]
    fn the_life_reaches_every_kind_of_rest() {
        let told = told().expect("both lives");
        let decisions =
            told.iter().flat_map(|chapter| &chapter.parts).flat_map(|part| match part {
                Part::Fact(entry) => &entry.rest.decisions,
                Part::Meanwhile { rest, .. } => &rest.decisions,
            });
        let met: BTreeSet<_> = decisions.map(|decided| decided.decision).collect();
        for kind in [
            "StartModelTurn",
            "EmitSystemTick",
            "WaitForTask",
            "WaitForExternalChange",
            "WaitForTimer",
            "WaitForOperator",
            "Sleep",
            "Stop",
        ] {
            assert!(met.contains(kind), "{kind}: {met:?}");
        }
    }
}
