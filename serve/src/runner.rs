//! Turns that are run in this process: what a runner, such as an agent with a model, and the server
//! say to each other.

use std::sync::Arc;

use wakeful_core::{
    fact::outcome::Answer,
    host::ErrorReport,
    id::{AgentId, Seq},
    record::chain::Head,
};

/// Runs the turns of agents in this process.
pub trait Runner: Send + Sync + 'static {
    /// Drives an agent until it rests: no run and no task is open, and nothing is due. It blocks,
    /// and is called on a thread of its own. Returns the head at which the agent rests.
    ///
    /// # Errors
    /// If the agent cannot be driven now. The server tries again later.
    fn live(&self, agent: &AgentId, watch: Arc<dyn Watch>) -> Result<Head, RunnerError>;
}

/// What a runner tells the server about the agent that it drives, and about its children.
pub trait Watch: Send + Sync {
    /// An entry was appended.
    fn appended(&self, agent: &AgentId, seq: Seq);

    /// The model has said this much more. It is not in the ledger yet.
    fn text(&self, agent: &AgentId, delta: &str);

    /// A message for the people who run the server, which no entry records.
    fn notice(&self, agent: &AgentId, notice: &str);

    /// How to shut the agent down: an open turn is interrupted, and goes on after the next start.
    fn ends_by(&self, end: Box<dyn Fn() + Send + Sync>);

    /// How to break off at once what runs for the agent, without recording anything: this process
    /// may no longer own it.
    fn cut_by(&self, cut: Box<dyn Fn() + Send + Sync>);

    /// How a fact reaches the agent while it lives. In a store that servers share, only its driver
    /// records one.
    fn hears_by(&self, hear: Arc<Hear>);
}

/// Has a living agent record a fact, which is JSON. `None` if the agent has ended.
pub type Hear = dyn Fn(&str) -> Option<Result<(Answer, Head), ErrorReport>> + Send + Sync;

/// Why a runner cannot drive an agent now.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// Another process drives it.
    #[error("{0}")]
    Driven(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
}
