//! Stories: a scripted provider and a script of what happens outside, played the same by every host.
//!
//! The [`Player`] is pure: it says what the host does next, and takes what the scheduler asks of the provider. The command line, the
//! engines of the cross-check and the page all play through it.

use alloc::{collections::VecDeque, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentId, RunId},
    json::{self, JsonError, RawJson},
    tagged::read_through,
    time::Timestamp,
};

/// Stands for the run's id in the facts of a turn.
pub const RUN: &str = "$run";

/// A story: what happens outside, and what the provider does in each turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Story {
    /// Its name.
    pub story: String,
    /// What it shows, in a sentence.
    pub shows: String,
    /// The agent.
    pub agent_id: AgentId,
    /// What the clock says at its beginning.
    pub starts_at: Timestamp,
    /// What happens outside, in order.
    pub script: Vec<Line>,
    /// The facts of each turn, in the order in which turns start; `$run` stands for the run's id. A turn beyond them completes at once.
    #[serde(default)]
    pub turns: Vec<Vec<RawJson>>,
}

impl Story {
    /// Reads a story from JSON text.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(text: &str) -> Result<Self, JsonError> {
        json::read(text)
    }
}

/// One thing that happens outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A fact comes in.
    Fact(RawJson),
    /// Time passes, in milliseconds.
    Wait(u64),
    /// Time passes until the agent's next wake.
    UntilWake,
}

/// All fields that some line has; what [`Line`] is read through.
#[derive(Deserialize)]
struct LineFields {
    fact: Option<RawJson>,
    wait_ms: Option<u64>,
    until: Option<Until>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    NextWake,
}

impl TryFrom<LineFields> for Line {
    type Error = String;

    fn try_from(line: LineFields) -> Result<Self, String> {
        match (line.fact, line.wait_ms, line.until) {
            (Some(fact), None, None) => Ok(Self::Fact(fact)),
            (None, Some(ms), None) => Ok(Self::Wait(ms)),
            (None, None, Some(Until::NextWake)) => Ok(Self::UntilWake),
            _ => Err("a line has exactly one of `fact`, `wait_ms` and `until`".into()),
        }
    }
}

read_through!(Line, LineFields);

/// What the host does next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// Propose this fact.
    Propose {
        /// The fact.
        fact: RawJson,
    },
    /// Run until rest.
    Run,
    /// Set the clock.
    SetClock {
        /// To this instant.
        to: Timestamp,
    },
    /// The story is over.
    Done,
}

/// Plays a story: says what comes next, and plays the provider.
#[derive(Clone, Debug)]
pub struct Player {
    now: Timestamp,
    script: VecDeque<Line>,
    turns: VecDeque<Vec<RawJson>>,
    inbox: VecDeque<RawJson>,
    run_next: bool,
}

impl Player {
    /// A player at the beginning of a story.
    #[must_use]
    pub fn new(story: Story) -> Self {
        Self { now: story.starts_at, script: story.script.into(), turns: story.turns.into(), inbox: VecDeque::new(), run_next: false }
    }

    /// What the clock says.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// What the host does next, given when the agent would wake.
    pub fn next(&mut self, next_wake: Option<Timestamp>) -> Command {
        if let Some(fact) = self.inbox.pop_front() {
            self.run_next = self.inbox.is_empty();
            return Command::Propose { fact };
        }
        if core::mem::take(&mut self.run_next) {
            return Command::Run;
        }
        match self.script.pop_front() {
            None => Command::Done,
            Some(Line::Fact(fact)) => {
                self.run_next = true;
                Command::Propose { fact }
            }
            Some(Line::Wait(ms)) => self.set_clock(self.now.plus_ms(ms)),
            Some(Line::UntilWake) => self.set_clock(next_wake.unwrap_or(self.now)),
        }
    }

    fn set_clock(&mut self, to: Timestamp) -> Command {
        self.now = to.max(self.now);
        self.run_next = true;
        Command::SetClock { to: self.now }
    }

    /// Plays the provider: the facts of the next scripted turn come in, one after the other.
    pub fn start_turn(&mut self, run: &RunId) {
        let scripted = self.turns.pop_front();
        let facts = scripted.unwrap_or_else(|| Vec::from([completed()]));
        self.inbox.extend(facts.iter().map(|fact| with_run(fact, run)));
    }

    /// Plays the provider: the run was broken off.
    pub fn abort_turn(&mut self, run: &RunId, reason: &str) {
        #[derive(Serialize)]
        struct Aborted<'a> {
            fact: &'a str,
            run_id: &'a RunId,
            reason: &'a str,
        }
        self.inbox.clear();
        self.inbox.push_back(RawJson::of(&Aborted { fact: "turn_aborted", run_id: run, reason }));
    }
}

fn completed() -> RawJson {
    #[derive(Serialize)]
    struct Completed {
        fact: &'static str,
        run_id: &'static str,
        kind: &'static str,
    }
    RawJson::of(&Completed { fact: "turn_terminal", run_id: RUN, kind: "completed" })
}

/// The fact with the run's id in place of [`RUN`]; ids are written as JSON strings on both sides, so the quotes delimit them.
fn with_run(fact: &RawJson, run: &RunId) -> RawJson {
    let text = fact.as_str().replace(&json::write(&RUN), &json::write(run));
    json::read(&text).unwrap_or_else(|_| fact.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_two_meanings_is_refused() {
        let why = json::read::<Line>(r#"{"wait_ms":1,"until":"next_wake"}"#).expect_err("ambiguous");
        assert!(why.message.contains("exactly one of"), "{}", why.message);
    }
}
