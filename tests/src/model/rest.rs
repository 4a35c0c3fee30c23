//! Liveness as bounded response (contract 9.2). From every state and with every kind of provider
//! answer, the loop reaches rest. Then it owes nothing that is enabled, and waits for nothing that
//! cannot come.
//!
//! Each turn on the way completes, owes a retry, or fails and owes nothing. Answers that differ
//! from these only in how the message settles are moves of the search. Even so there are many more
//! ways than states. The edge of a search has ten states for each state that was looked at. From
//! these the way ends if the provider must answer, and its batches are not checked.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use wakeful_core::{
    derive::obligation,
    ladder::owed,
    record::waiting::{WaitConditionKind, WakeSource},
    state::State,
};

use super::{
    adversary::Adversary,
    cast::{self, Input},
    process::{self, Asks, Broken, Move, Stored},
};

/// More steps than this without rest count as a spin.
pub const LIMIT: usize = 64;

/// The end of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Rest, with every kind of provider answer.
    Rest,
    /// Rest, or the first state in which the provider must answer.
    Provider,
}

/// The longest way to rest of each shape that was walked, in appends.
#[derive(Default)]
pub struct Rests {
    steps: Mutex<HashMap<u64, usize>>,
    /// The same for shapes from which the way was walked only to the provider.
    to_provider: Mutex<HashMap<u64, usize>>,
    longest: AtomicUsize,
}

/// A way on which an agent does not rest as it must.
pub struct Restless {
    /// The moves of the way.
    pub moves: Vec<Move>,
    /// What is wrong at its end.
    pub broken: Broken,
}

impl Rests {
    /// The longest way to rest that was found, in appends.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.longest.load(Ordering::Relaxed)
    }

    /// The number of shapes from which the way to rest was walked, and of others from which it was
    /// walked to the provider.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let count =
            |steps: &Mutex<HashMap<u64, usize>>| steps.lock().map_or(0, |steps| steps.len());
        (count(&self.steps), count(&self.to_provider))
    }

    /// The length of the longest way to the end, in appends.
    ///
    /// # Errors
    /// A way that does not lead there, and why.
    pub fn from(
        &self,
        stored: &Stored,
        until: Until,
        inputs: &[Input],
        adversary: Option<Adversary>,
    ) -> Result<usize, Restless> {
        let walk = Walk { rests: self, until, inputs, adversary };
        let steps = walk.below(stored, &mut Vec::new())?;
        self.longest.fetch_max(steps, Ordering::Relaxed);
        Ok(steps)
    }
}

/// A walk to rest.
struct Walk<'a> {
    rests: &'a Rests,
    until: Until,
    inputs: &'a [Input],
    adversary: Option<Adversary>,
}

impl Walk<'_> {
    fn below(&self, stored: &Stored, way: &mut Vec<Move>) -> Result<usize, Restless> {
        // Ways from equal shapes are equal, so each shape is walked once.
        if let Some(steps) = self.known(stored.shape) {
            return Ok(steps);
        }
        let wrong = |says: String, way: &[Move]| Restless {
            moves: way.to_vec(),
            broken: Broken { name: "9.2".into(), says },
        };
        if way.len() >= LIMIT {
            return Err(wrong(format!("{LIMIT} steps do not lead to rest"), way));
        }
        let state = &stored.state;
        let asks = if self.until == Until::Rest { Asks::Batch } else { Asks::Nothing(None) };
        let after = |what| {
            process::moved(stored, what, self.inputs, self.adversary, asks).map(|next| (what, next))
        };
        let step = after(Move::Step(process::boundary(state)));
        let nexts: Vec<_> = match step {
            Some(next) => vec![next],
            None => match owed(state).or_else(|| vain(state)) {
                Some(says) => return Err(wrong(says, way)),
                // The provider must answer, and the walk follows each kind of answer.
                None if state.turns().run.is_some() && self.until == Until::Rest => {
                    cast::KINDS_OF_ANSWERS.into_iter().map(Move::Say).filter_map(after).collect()
                }
                None => Vec::new(),
            },
        };
        let mut steps = 0;
        for (what, next) in nexts {
            way.push(what);
            if let Some(broken) = next.broken {
                return Err(Restless { moves: way.clone(), broken: (*broken).clone() });
            }
            steps = steps.max(1 + self.below(&next, way)?);
            way.pop();
        }
        let known =
            if self.until == Until::Rest { &self.rests.steps } else { &self.rests.to_provider };
        if let Ok(mut known) = known.lock() {
            known.insert(stored.shape, steps);
        }
        Ok(steps)
    }

    fn known(&self, shape: u64) -> Option<usize> {
        let whole = self.rests.steps.lock().ok()?.get(&shape).copied();
        whole.or_else(|| {
            self.rests
                .to_provider
                .lock()
                .ok()?
                .get(&shape)
                .copied()
                .filter(|_| self.until == Until::Provider)
        })
    }
}

/// An obligation that is enabled although the agent rests, if there is one.
fn owed(state: &State) -> Option<String> {
    // A stopped or closing agent, or one with an open run, may owe something and rest.
    let is_free = state.control().stopped.is_none()
        && state.control().closing.is_none()
        && state.turns().run.is_none();
    let is_enabled = |owed: &obligation::Obligation| {
        owed.held_by.is_none() && owed.enabled_at.is_none_or(|at| at <= state.at())
    };
    let owed = owed::all(state).into_iter().find(|owed| is_free && is_enabled(owed))?;
    Some(format!("the agent rests, and owes {owed:?}"))
}

/// contract 5.17: a wait for a task that has ended, without an open message that reports the end.
fn vain(state: &State) -> Option<String> {
    if state.turns().run.is_some() || state.queue().open().next().is_some() {
        return None;
    }
    let tasks = |source: &WakeSource| match source {
        WakeSource::TaskResult { task_id } => state.tasks().ended.contains_key(task_id),
        _ => false,
    };
    let waits = state
        .waiting()
        .conditions
        .values()
        .filter(|wait| wait.record.kind == WaitConditionKind::Task);
    let vain = waits
        .map(|wait| &wait.record)
        .find(|wait| wait.expires_at.is_none() && wait.wake_sources.iter().all(tasks))?;
    Some(format!("condition {} waits for a task that has ended", vain.id))
}
