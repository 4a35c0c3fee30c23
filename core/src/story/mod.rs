//! Stories: a scripted provider and a script of what happens outside, played the same by every
//! host.
//!
//! A [`Story`] is data. The [`Player`] plays it and is pure: it says what the host does next, and
//! takes what the scheduler asks of the provider. The command line, the engines of the cross-check
//! and the page all play through it. `docs/stories.md` has the format.

mod adversary;
mod cast;
mod fields;
mod line;
mod moves;
mod player;
mod recall;
pub mod said;
mod steps;
mod turn;

use alloc::{string::String, vec::Vec};
use core::num::NonZeroU64;

pub use self::{
    adversary::Adversary,
    line::{Line, Request},
    moves::{Call, Move, TaskPlan, WaitFor, Waker},
    player::{Act, Command, Player},
    recall::{Recall, is_marker},
    turn::{Cue, Does, Turn, When},
};
use crate::{id::AgentId, time::Timestamp};
use wakeful_json::{self as json, JsonError, Readable};

/// Stands for the run's id in the facts of a turn.
pub const RUN: &str = "$run";

/// Stands for the id of the message that started the turn, in its facts.
pub const MESSAGE: &str = "$message";

/// A story: what happens outside, and what the provider does in each turn.
#[derive(Clone, Debug, PartialEq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// Its name.
    pub story: String,
    /// What it shows, in a sentence.
    pub shows: String,
    /// The agent.
    pub agent_id: AgentId,
    /// What the clock says at its beginning; a live agent with the system's clock begins when it
    /// begins.
    pub starts_at: Timestamp,
    /// What happens outside, in order.
    #[serde(default)]
    pub script: Vec<Line>,
    /// What the provider does in its turns. A turn that none of them fits completes at once.
    #[serde(default)]
    pub turns: Vec<Turn>,
    /// Who plays the turns that none of [`Story::turns`] fits.
    #[serde(default)]
    pub provider: Option<Understudy>,
}

/// Who plays the turns that the story does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Understudy {
    /// What it does wrong.
    pub adversary: Adversary,
    /// For how many turns; after them its turns complete at once. For ever, where nothing is said.
    #[serde(default)]
    pub turns: Option<NonZeroU64>,
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
