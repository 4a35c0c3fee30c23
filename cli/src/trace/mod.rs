//! Traces: everything observable that an engine does with a case, as the core's own text. The
//! cross-check compares them.

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

/// What an engine did with a case.
#[derive(Debug, Serialize, Deserialize)]
pub struct Trace {
    /// The case.
    pub case: String,
    /// What was done, in order.
    pub steps: Vec<Step>,
}

/// One thing that was done.
#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    /// What the scheduler was asked.
    pub command: Box<RawValue>,
    /// What it answered.
    pub outcome: Box<RawValue>,
    /// What the ledger got.
    pub entries: Vec<Box<RawValue>>,
    /// What it would then decide, and why.
    pub explanation: Box<RawValue>,
    /// The fuel of all calls up to here; absent where the engine does not count it as others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel_spent: Option<u64>,
}

/// The parts of an explanation that a table shows.
#[derive(Clone, Debug, Deserialize)]
pub struct Summary {
    /// The newest entry.
    pub head: wakeful_core::record::chain::Head,
    /// What is decided.
    pub decision: wakeful_core::record::decision::Decision,
}

impl Trace {
    /// The head and the decision after the last step.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        serde_json::from_str(self.steps.last()?.explanation.get()).ok()
    }
}

/// Why an engine gave no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The engine did not answer.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine answered with something that is no JSON.
    #[error("the engine answered with something that is no JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// The process of the engine cannot run, or failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Something of the source tree or its build folder is not there.
    #[error("{0}")]
    Missing(String),
    /// The engine gave a reason instead of a trace.
    #[error("{0}")]
    Failed(String),
}

impl From<GuestError> for TraceError {
    fn from(why: GuestError) -> Self {
        Self::Engine(why.into())
    }
}

/// An engine that can be traced.
pub enum Tracer {
    /// The core in this program.
    Native,
    /// The guest in wasmtime, by one of its compilers.
    Sandboxed(Box<Sandboxed>),
    /// The web guest in Node or in a browser.
    Web(Web),
    /// The guest in a host of another language.
    Hosted(Hosted),
}

impl Tracer {
    /// The engine of a guest.
    ///
    /// # Errors
    /// Where the guest does not offer what a scheduler offers.
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
    /// Where the engine breaks down; what the scheduler refuses is part of the trace.
    pub fn trace(&mut self, case: &Case) -> Result<Trace, TraceError> {
        match self {
            Self::Native => play::play(case, |stage| Ok(play::native(stage))),
            Self::Sandboxed(sandboxed) => play::play(case, |stage| sandboxed.over(stage)),
            Self::Web(web) => web.trace(case),
            Self::Hosted(hosted) => play::play(case, |stage| hosted.over(stage)),
        }
    }

    /// Does what the host of a scenario did.
    ///
    /// # Errors
    /// As [`Tracer::trace`].
    pub fn perform(&mut self, scenario: &Scenario) -> Result<Trace, TraceError> {
        match self {
            Self::Native => play::perform(scenario, |stage| Ok(play::native(stage))),
            Self::Sandboxed(sandboxed) => play::perform(scenario, |stage| sandboxed.over(stage)),
            Self::Web(web) => web.perform(scenario),
            Self::Hosted(hosted) => play::perform(scenario, |stage| hosted.over(stage)),
        }
    }
}
