//! Traces: everything observable that an engine does with a case, in the core's own text. The
//! cross-check compares traces.

mod hosted;
mod play;
mod web;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wakeful_host::{
    engine::EngineError,
    sandbox::{Guest, GuestError},
};

use crate::{case::Case, engine::ProcessError, scenario::Scenario};
pub use hosted::Hosted;
pub(crate) use play::REPLAYED_AT;
pub use play::Sandboxed;
pub use web::Web;

/// Everything that an engine did with a case.
#[derive(Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The name of the case.
    pub case: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

/// One call of the scheduler, and what followed from it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    /// The call.
    pub command: Box<RawValue>,
    /// The answer of the scheduler; for a refusal `{"error": ..}`.
    pub outcome: Box<RawValue>,
    /// The entries that were appended.
    pub entries: Vec<Box<RawValue>>,
    /// What the scheduler would decide after the step, and why.
    pub explanation: Box<RawValue>,
    /// The fuel of all calls so far. Absent if the engine does not count fuel as the others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel_spent: Option<u64>,
}

/// The parts of an explanation that a table shows.
#[derive(Clone, Debug, Deserialize)]
pub struct Summary {
    /// Position and hash of the newest entry.
    pub head: wakeful_core::record::chain::Head,
    /// The decision.
    pub decision: wakeful_core::record::decision::Decision,
}

impl Trace {
    /// Returns the head and the decision after the last step; `None` if there is no step.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        serde_json::from_str(self.steps.last()?.explanation.get()).ok()
    }
}

/// Why there is no trace of a case.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine's answer is not JSON.
    #[error("the engine's answer is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// The engine's process does not start, or failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file of the source tree or its build folder is missing.
    #[error("{0}")]
    Missing(String),
    /// The engine reported a failure instead of a trace.
    #[error("{0}")]
    Failed(String),
}

impl From<GuestError> for TraceError {
    fn from(why: GuestError) -> Self {
        Self::Engine(why.into())
    }
}

/// An engine that plays cases and returns their traces.
pub enum Tracer {
    /// The core of this program.
    Native,
    /// The guest component in wasmtime, with one of its compilers.
    Sandboxed(Box<Sandboxed>),
    /// The web guest, in Node or in a browser.
    Web(Web),
    /// The guest component in a host that is written in another language.
    Hosted(Hosted),
}

impl Tracer {
    /// Prepares a guest.
    ///
    /// # Errors
    /// If the guest does not export what a scheduler exports.
    pub fn sandboxed(guest: &Guest) -> Result<Self, GuestError> {
        Sandboxed::new(guest).map(|sandboxed| Self::Sandboxed(Box::new(sandboxed)))
    }

    /// The name of the engine.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Sandboxed(sandboxed) => sandboxed.name(),
            Self::Web(web) => web.name(),
            Self::Hosted(hosted) => hosted.name(),
        }
    }

    /// Plays a case.
    ///
    /// # Errors
    /// If the engine fails. A refusal of the scheduler is part of the trace.
    pub fn trace(&mut self, case: &Case) -> Result<Trace, TraceError> {
        match self {
            Self::Native => play::play(case, |stage| Ok(play::native(stage))),
            Self::Sandboxed(sandboxed) => play::play(case, |stage| sandboxed.over(stage)),
            Self::Web(web) => web.trace(case),
            Self::Hosted(hosted) => play::play(case, |stage| hosted.over(stage)),
        }
    }

    /// Repeats the recorded acts of a scenario's host.
    ///
    /// # Errors
    /// As for [`Tracer::trace`].
    pub fn perform(&mut self, scenario: &Scenario) -> Result<Trace, TraceError> {
        match self {
            Self::Native => play::perform(scenario, |stage| Ok(play::native(stage))),
            Self::Sandboxed(sandboxed) => play::perform(scenario, |stage| sandboxed.over(stage)),
            Self::Web(web) => web.perform(scenario),
            Self::Hosted(hosted) => play::perform(scenario, |stage| hosted.over(stage)),
        }
    }
}
