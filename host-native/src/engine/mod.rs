//! Engines: one trait over the native core and the sandboxed guest. Payloads are the core's JSON
//! text on both sides.

mod choice;
mod native;

pub use choice::Engines;
pub use native::Native;
use serde::Serialize;
use wakeful_core::{Boundary, DecisionKind, ErrorReport, Options, Seq, Timestamp};

#[cfg(feature = "sandbox")]
use crate::sandbox::GuestError;

/// How a ledger is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As its driver.
    Drive,
    /// As an observer.
    Observe,
}

/// Why an engine did not answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The scheduler said no; its ledger is consistent.
    #[error("{}", .0.message)]
    Refused(ErrorReport),
    /// The guest broke a limit or trapped; its instance is gone, its ledger is consistent.
    #[cfg(feature = "sandbox")]
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// An engine that is not of this crate did not do what it should.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl EngineError {
    /// Whether the engine's instance is gone, and another one could go on.
    #[must_use]
    pub fn is_broken_down(&self) -> bool {
        match self {
            #[cfg(feature = "sandbox")]
            Self::Guest(why) => {
                matches!(why, GuestError::Breach(_) | GuestError::Trapped { .. } | GuestError::Gone)
            }
            Self::Refused(_) | Self::Other(_) => false,
        }
    }

    /// Whether what was said is longer than the engine takes. The engine is as it was.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        match self {
            #[cfg(feature = "sandbox")]
            Self::Guest(why) => matches!(why, GuestError::TooLong(_)),
            Self::Refused(_) | Self::Other(_) => false,
        }
    }
}

/// The scheduler of one agent, wherever it runs. Answers are JSON text of the types that each
/// method names.
pub trait Engine {
    /// Opens the ledger: `Head`.
    ///
    /// # Errors
    /// Where it cannot be opened.
    fn open(&mut self, options: &Options, mode: Mode) -> Result<String, EngineError>;

    /// Reads what other writers appended since; says how many entries that were.
    ///
    /// # Errors
    /// Where the ledger fails, is damaged, or is of another history.
    fn catch_up(&mut self) -> Result<u64, EngineError>;

    /// Takes a `Fact` in JSON text: `Receipt`.
    ///
    /// # Errors
    /// Where it is malformed, or the ledger fails.
    fn propose(&mut self, fact: &str) -> Result<String, EngineError>;

    /// Takes one step: `StepReport`.
    ///
    /// # Errors
    /// Where the ledger is observed only, or fails.
    fn step(&mut self, boundary: Boundary) -> Result<String, EngineError>;

    /// Steps until there is nothing more to do: a list of `StepReport`.
    ///
    /// # Errors
    /// As [`Engine::step`].
    fn run_until_rest(&mut self) -> Result<String, EngineError>;

    /// Replays a fixture folder, given as JSON object from path to text: `Replay`.
    ///
    /// # Errors
    /// Where a file cannot be read.
    fn replay(&mut self, folder: &str) -> Result<String, EngineError>;

    /// Explains what would be decided: `Explanation`.
    ///
    /// # Errors
    /// Where the ledger was not opened.
    fn explain(&mut self, boundary: Boundary) -> Result<String, EngineError>;

    /// As [`Engine::explain`], after an entry and at its instant: `Explanation`.
    ///
    /// # Errors
    /// Where there is no such entry, or the ledger fails.
    fn explain_at(&mut self, boundary: Boundary, seq: Seq) -> Result<String, EngineError>;

    /// What would have to change for a decision of this kind: `WhyNot`.
    ///
    /// # Errors
    /// Where the ledger was not opened.
    fn why_not(&mut self, boundary: Boundary, asked: DecisionKind) -> Result<String, EngineError>;

    /// As [`Engine::why_not`], after an entry and at its instant: `WhyNot`.
    ///
    /// # Errors
    /// As [`Engine::explain_at`].
    fn why_not_at(
        &mut self,
        boundary: Boundary,
        asked: DecisionKind,
        seq: Seq,
    ) -> Result<String, EngineError>;

    /// The agent's summary, assembled now: `AgentSummary`.
    ///
    /// # Errors
    /// Where the ledger was not opened.
    fn summary(&mut self) -> Result<String, EngineError>;

    /// The state.
    ///
    /// # Errors
    /// Where the ledger was not opened.
    fn state(&mut self) -> Result<String, EngineError>;

    /// The state after an entry. States on the way are kept, so that going on and back from there
    /// is quick.
    ///
    /// # Errors
    /// As [`Engine::explain_at`].
    fn state_at(&mut self, seq: Seq) -> Result<String, EngineError>;

    /// The state to store beside the ledger: `Snapshot`.
    ///
    /// # Errors
    /// Where the ledger was not opened.
    fn snapshot(&mut self) -> Result<String, EngineError>;

    /// When to step again.
    ///
    /// # Errors
    /// Where the ledger was not opened.
    fn next_wake(&mut self) -> Result<Option<Timestamp>, EngineError>;

    /// The version of the JSON Schema that its payloads follow.
    ///
    /// # Errors
    /// Where the engine has broken down.
    fn schema_version(&mut self) -> Result<String, EngineError>;

    /// The fuel that all calls so far have used together; none where the engine does not count it,
    /// or counts otherwise than wasmtime's Cranelift does. Engines that have a number have the same
    /// one.
    fn fuel_spent(&self) -> Option<u64> {
        None
    }
}
