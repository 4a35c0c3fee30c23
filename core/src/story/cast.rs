//! The cast: which turn of a story a message plays. It is the first turn that fits and was not
//! played yet, else a turn of the adversary, else none.

use alloc::{collections::BTreeMap, vec::Vec};
use core::num::NonZeroU64;

use super::{
    Story,
    adversary::Adversary,
    external,
    moves::{Move, TaskPlan},
    steps::{self, Step},
    turn::{Cue, Does, Turn},
};
use crate::{
    id::{ExternalTriggerId, MessageId, TaskId},
    time::Timestamp,
};

/// The part of the story that a message plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The turn of the story with this index.
    Turn(usize),
    /// The turn of the adversary with this number, from 1.
    Adversary(Adversary, u64),
    /// None: the turn completes at once.
    Nobody,
}

/// Gives each message its part. A message keeps its part, so that a replay after an interrupted run
/// plays the same turn.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    turns: Vec<Turn>,
    is_played: Vec<bool>,
    adversary: Option<(Adversary, u64)>,
    adversary_turns: u64,
    parts: BTreeMap<MessageId, Part>,
}

impl Cast {
    pub(super) fn from_story(story: &Story) -> Self {
        Self {
            turns: story.turns.clone(),
            is_played: story.turns.iter().map(|_| false).collect(),
            adversary: story.provider.map(|understudy| {
                (understudy.adversary, understudy.turns.map_or(u64::MAX, NonZeroU64::get))
            }),
            adversary_turns: 0,
            parts: BTreeMap::new(),
        }
    }

    /// The steps of the turn that starts now.
    pub(super) fn steps(&mut self, cue: &Cue, now: Timestamp) -> Vec<Step> {
        match self.part(cue) {
            Part::Turn(number) => match self.turns.get(number).map(|turn| &turn.does) {
                Some(Does::Facts(facts)) => steps::of_facts(facts, cue),
                Some(Does::Moves(moves)) => steps::of_moves(moves, cue, now),
                None => steps::of_moves(&[], cue, now),
            },
            Part::Adversary(adversary, number) => {
                steps::of_moves(&adversary.moves(cue, number), cue, now)
            }
            Part::Nobody => steps::of_moves(&[], cue, now),
        }
    }

    fn part(&mut self, cue: &Cue) -> Part {
        if let Some(part) = self.parts.get(&cue.message_id) {
            return *part;
        }
        let free = self
            .turns
            .iter()
            .zip(&self.is_played)
            .position(|(turn, played)| (turn.repeat || !played) && turn.fits(cue));
        let part = match (free, self.adversary) {
            (Some(number), _) => {
                if let Some(played) = self.is_played.get_mut(number) {
                    *played = true;
                }
                Part::Turn(number)
            }
            (None, Some((adversary, turns))) if self.adversary_turns < turns => {
                self.adversary_turns += 1;
                Part::Adversary(adversary, self.adversary_turns)
            }
            (None, _) => Part::Nobody,
        };
        self.parts.insert(cue.message_id.clone(), part);
        part
    }

    /// Whether a turn of the story makes this external trigger.
    pub(super) fn makes(&self, id: &ExternalTriggerId) -> bool {
        self.moves().any(|one| match one {
            Move::Operation(fact) => external::made(fact) == Some(id),
            _ => false,
        })
    }

    /// The task of this id, if a turn of the story starts it.
    pub(super) fn task(&self, id: &TaskId) -> Option<&TaskPlan> {
        self.moves().find_map(|one| match one {
            Move::StartTask(task) if task.id == *id => Some(task),
            _ => None,
        })
    }

    fn moves(&self) -> impl Iterator<Item = &Move> {
        let moves = self.turns.iter().filter_map(|turn| match &turn.does {
            Does::Moves(moves) => Some(moves),
            Does::Facts(_) => None,
        });
        moves.flatten()
    }
}
