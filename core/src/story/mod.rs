//! Stories: a scripted provider, and a script of what happens outside. Every host plays them the
//! same way.
//!
//! A [`Story`] is data. The [`Player`] plays it and is pure: it tells the host what to do next, and
//! takes the effects for the provider. The command line, the engines of the cross-check and the
//! workbench all use it. `docs/stories.md` has the format.

mod adversary;
mod cast;
mod external;
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
    line::{Line, More, Request},
    moves::{Call, Move, TaskPlan, Used, WaitFor, Waker},
    player::{Act, Command, Player},
    recall::{Recall, is_marker},
    turn::{Cue, Does, Turn, When},
};
use crate::{id::AgentId, time::Timestamp};
use wakeful_json::{self as json, JsonError, Readable};

/// The placeholder for the id of the run in the facts of a turn.
pub const RUN: &str = "$run";

/// The placeholder for the id of the turn's message in the facts of a turn.
pub const MESSAGE: &str = "$message";

/// A story: what happens outside, and what the provider does in each turn.
#[derive(Clone, Debug, PartialEq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// The name of the story.
    pub story: String,
    /// What it shows, in a sentence.
    pub shows: String,
    /// The agent that plays it.
    pub agent_id: AgentId,
    /// The time of the clock at the start. A live agent with the system's clock ignores it.
    pub starts_at: Timestamp,
    /// What happens outside, in order.
    #[serde(default)]
    pub script: Vec<Line>,
    /// What the provider does in its turns. If none of them fits, the turn completes at once.
    #[serde(default)]
    pub turns: Vec<Turn>,
    /// The adversary for turns that none of [`Story::turns`] fits.
    #[serde(default)]
    pub provider: Option<Understudy>,
}

/// The adversary that plays the turns for which the story has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Readable)]
#[serde(deny_unknown_fields)]
pub struct Understudy {
    /// What the provider does wrong.
    pub adversary: Adversary,
    /// The number of turns that it plays; later ones complete at once. Absent means no limit.
    #[serde(default)]
    pub turns: Option<NonZeroU64>,
}

impl Story {
    /// Reads a story from JSON text.
    ///
    /// # Errors
    /// If the text is not a story; the error has the place.
    pub fn read(text: &str) -> Result<Self, JsonError> {
        json::read(text)
    }
}
