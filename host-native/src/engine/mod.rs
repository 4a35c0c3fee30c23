//! Engines: one trait over the native core and the sandboxed guest. On both sides, payloads are the
//! core's JSON text.

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
    /// As its driver, which may append.
    Drive,
    /// As an observer, which only reads.
    Observe,
}

/// Why an engine did not answer.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The scheduler refused the call; its ledger is consistent.
    #[error("{}", .0.message)]
    Refused(ErrorReport),
    /// The guest reached a limit or trapped. Its instance is gone, its ledger is consistent.
    #[cfg(feature = "sandbox")]
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// An engine from outside this crate failed.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl EngineError {
    /// Whether the engine's instance is gone, so that another one can continue.
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

    /// Whether the call was refused because its text is too long. The engine is unchanged.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        match self {
            #[cfg(feature = "sandbox")]
            Self::Guest(why) => matches!(why, GuestError::TooLong(_)),
            Self::Refused(_) | Self::Other(_) => false,
        }
    }
}

/// The scheduler of one agent, native or sandboxed. Each answer is JSON text of the type that the
/// method names.
pub trait Engine {
    /// Opens the ledger. Answers a `Head`.
    ///
    /// # Errors
    /// If the ledger cannot be opened.
    fn open(&mut self, options: &Options, mode: Mode) -> Result<String, EngineError>;

    /// Reads what other writers have appended since. Returns the number of entries.
    ///
    /// # Errors
    /// If the ledger fails, is damaged, or is of another history.
    fn catch_up(&mut self) -> Result<u64, EngineError>;

    /// Proposes a `Fact` in JSON text. Answers a `Receipt`.
    ///
    /// # Errors
    /// If the fact is malformed, or the ledger fails.
    fn propose(&mut self, fact: &str) -> Result<String, EngineError>;

    /// Takes one step. Answers a `StepReport`.
    ///
    /// # Errors
    /// If the ledger is only observed, or fails.
    fn step(&mut self, boundary: Boundary) -> Result<String, EngineError>;

    /// Steps until there is nothing left to do. Answers a list of `StepReport`.
    ///
    /// # Errors
    /// As [`Engine::step`].
    fn run_until_rest(&mut self) -> Result<String, EngineError>;

    /// Replays a fixture folder, given as a JSON object from path to text. Answers a `Replay`.
    ///
    /// # Errors
    /// If a file cannot be read.
    fn replay(&mut self, folder: &str) -> Result<String, EngineError>;

    /// Explains what would be decided now. Answers an `Explanation`.
    ///
    /// # Errors
    /// If the ledger was not opened.
    fn explain(&mut self, boundary: Boundary) -> Result<String, EngineError>;

    /// As [`Engine::explain`], but at an earlier entry and its time. Answers an `Explanation`.
    ///
    /// # Errors
    /// If there is no such entry, or the ledger fails.
    fn explain_at(&mut self, boundary: Boundary, seq: Seq) -> Result<String, EngineError>;

    /// Says what would have to change for a decision of this kind. Answers a `WhyNot`.
    ///
    /// # Errors
    /// If the ledger was not opened.
    fn why_not(&mut self, boundary: Boundary, asked: DecisionKind) -> Result<String, EngineError>;

    /// As [`Engine::why_not`], but at an earlier entry and its time. Answers a `WhyNot`.
    ///
    /// # Errors
    /// As [`Engine::explain_at`].
    fn why_not_at(
        &mut self,
        boundary: Boundary,
        asked: DecisionKind,
        seq: Seq,
    ) -> Result<String, EngineError>;

    /// Assembles the agent's summary. Answers an `AgentSummary`.
    ///
    /// # Errors
    /// If the ledger was not opened.
    fn summary(&mut self) -> Result<String, EngineError>;

    /// The state after the newest entry.
    ///
    /// # Errors
    /// If the ledger was not opened.
    fn state(&mut self) -> Result<String, EngineError>;

    /// The state after an entry. The engine keeps states along the way, so stepping forward and
    /// back from there is quick.
    ///
    /// # Errors
    /// As [`Engine::explain_at`].
    fn state_at(&mut self, seq: Seq) -> Result<String, EngineError>;

    /// Makes the state to store beside the ledger. Answers a `Snapshot`.
    ///
    /// # Errors
    /// If the ledger was not opened.
    fn snapshot(&mut self) -> Result<String, EngineError>;

    /// When to step again; `None` if only a new fact can change anything.
    ///
    /// # Errors
    /// If the ledger was not opened.
    fn next_wake(&mut self) -> Result<Option<Timestamp>, EngineError>;

    /// The version of the JSON Schema that the payloads follow.
    ///
    /// # Errors
    /// If the engine has broken down.
    fn schema_version(&mut self) -> Result<String, EngineError>;

    /// The total fuel of all calls so far. `None` if the engine does not count fuel, or counts it
    /// differently from wasmtime's Cranelift. All engines that return a number return the same one.
    fn fuel_spent(&self) -> Option<u64> {
        None
    }
}
