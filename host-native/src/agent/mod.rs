//! A real agent: a model behind an endpoint, processes, people at a terminal, and the scheduler that decides what is next.
//!
//! One thread owns the agent: its ledger, its engine, and what runs for it ([`Agent`]). Turns, commands and children run beside it and leave
//! errands for it. Between errands the scheduler decides; what that asks for is carried out. So what is decided does not depend on threads.

mod child;
mod cut;
mod desk;
mod effects;
mod history;
mod jobs;
mod kit;
mod office;
mod prompt;
mod rounds;
mod tools;
mod turn;

use std::{
    fs, io,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use wakeful_core::{
    derive::{
        closure::{self, Facts},
        obligation::{Obligation, ObligationKind},
    },
    fact::Fact,
    id::TimerId,
    ladder::owed,
    record::{continuation::ClosureOutcome, turn::TurnTerminalKind},
    state::State,
    time::Timestamp,
};

use self::{desk::Errand, office::Office};
pub use self::{
    desk::{Desk, Ended},
    kit::{Audience, Setup},
};
use crate::{confine::ConfineError, driver::DriveError};

/// How often an agent at rest looks for what other processes have appended.
const POLL: Duration = Duration::from_millis(50);

/// When an agent ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is told to.
    Told,
    /// When it rests, and nothing but timers that repeat and offers of resting items would wake it.
    Rest,
    /// When it has done what it was asked, and nothing but offers of resting items would wake it: a child.
    Done,
}

/// How an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It rests.
    Rested,
    /// It was shut down; it can go on.
    ShutDown,
    /// It was stopped, and nobody starts it again: a child.
    Stopped,
}

/// Why an agent cannot live, or go on. Its ledger is consistent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Its ledger cannot be driven.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Its commands cannot be confined.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// It has no folder of its own.
    #[error("the agent's folder `{}` cannot be made: {why}; name another with --home", path.display())]
    Home {
        /// The folder.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
}

/// What an agent said last.
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) failed: bool,
}

/// A live agent.
pub struct Agent {
    office: Office,
    errands: Receiver<Errand>,
}

impl Agent {
    /// Takes over the ledger of an agent. What an earlier life of this host left running is ended, or gone on with where that is possible.
    ///
    /// # Errors
    /// Where the ledger cannot be driven, or the agent's folder cannot be made.
    pub fn open(setup: Setup) -> Result<Self, AgentError> {
        Self::open_at(setup, false, Desk::open())
    }

    /// Likewise, for a child, whose desk its parent has made.
    fn open_child(setup: Setup, desk: (Desk, Receiver<Errand>)) -> Result<Self, AgentError> {
        Self::open_at(setup, true, desk)
    }

    fn open_at(setup: Setup, is_child: bool, (desk, errands): (Desk, Receiver<Errand>)) -> Result<Self, AgentError> {
        let made = ["output", "tmp"].iter().try_for_each(|folder| fs::create_dir_all(setup.home.join(folder)));
        made.map_err(|why| AgentError::Home { path: setup.home.clone(), why })?;
        let kit = Arc::new(kit::Kit::new(setup, is_child)?);
        kit.sweep();
        if !is_child {
            kit.confinement.describe().iter().for_each(|missing| kit.audience.notice(&kit.agent_id, missing));
        }
        Ok(Self { office: Office::open(kit, desk)?, errands })
    }

    /// Where others leave errands for it.
    #[must_use]
    pub fn desk(&self) -> Desk {
        self.office.desk.clone()
    }

    /// The state after its newest entry.
    #[must_use]
    pub fn state(&self) -> &State {
        self.office.state()
    }

    /// Says something to it as the operator; what becomes of it the audience is told.
    pub fn prompt(&mut self, text: &str) {
        drop(self.office.prompt(text));
    }

    /// Says a fact to it.
    fn say(&mut self, fact: &Fact) {
        // Where it is not taken the office has said why.
        drop(self.office.propose(fact));
    }

    /// Lives until something ends it.
    ///
    /// # Errors
    /// Where the ledger fails, or another driver takes over.
    pub fn live(&mut self, until: Until) -> Result<Ending, AgentError> {
        let ending = self.live_on(until);
        self.office.close(&self.errands);
        ending
    }

    fn live_on(&mut self, until: Until) -> Result<Ending, AgentError> {
        loop {
            self.office.go_on()?;
            let state = self.office.state();
            if state.control.closing.is_some() && state.turns.run.is_none() {
                return Ok(Ending::ShutDown);
            }
            if until == Until::Done && state.control.stopped.is_some() && state.turns.run.is_none() {
                return Ok(Ending::Stopped);
            }
            if has_ended(state, until) {
                return Ok(Ending::Rested);
            }
            self.wait()?;
        }
    }

    /// Waits for an errand, for another process, or until something is due.
    fn wait(&mut self) -> Result<(), AgentError> {
        let now = self.office.now();
        let left = self.office.next_wake()?.map_or(POLL, |due| duration(now, due).min(POLL));
        match self.errands.recv_timeout(left) {
            Ok(errand) => errand(&mut self.office),
            Err(RecvTimeoutError::Timeout) => self.office.catch_up()?,
            // The office itself has a desk, so somebody can always send.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left),
        }
        Ok(())
    }

    /// What it said last, and whether it failed.
    fn last_words(&self) -> Words {
        let ended = self.office.last_turn();
        let failed = self.office.state().turns.last_terminal.is_some_and(|last| last.kind != TurnTerminalKind::Completed);
        let said = ended.and_then(|turn| turn.last_assistant_message.clone().or_else(|| turn.reason.clone()));
        Words { text: said.unwrap_or_else(|| "It said nothing.".to_owned()), failed }
    }
}

/// Whether an agent comes to its end here.
fn has_ended(state: &State, until: Until) -> bool {
    let repeats = |id: &str| state.waiting.timers.get(&TimerId::from(id)).is_some_and(|timer| timer.record.repeat);
    let is_offer = |owed: &Obligation| owed.kind == ObligationKind::RunnableItem;
    let is_repeated = |owed: &Obligation| owed.kind == ObligationKind::Timer && repeats(&owed.id);
    let owes = |passes: &dyn Fn(&Obligation) -> bool| owed::all(state).iter().any(|owed| owed.enabled_at.is_some() && !passes(owed));
    let is_busy = state.turns.run.is_some() || !state.tasks.active.is_empty();
    let waits = !state.waiting.conditions.is_empty() || !state.waiting.intents.is_empty();
    match until {
        Until::Told => false,
        Until::Rest => !is_busy && (state.control.stopped.is_some() || !owes(&|owed| is_offer(owed) || is_repeated(owed))),
        Until::Done => {
            // A child that leaves an item as it is has said all that it will say of itself.
            let is_done = closure::decide(&Facts::of(state)).outcome != ClosureOutcome::Waiting;
            !is_busy && !waits && state.turns.turn_index > 0 && is_done && !owes(&is_offer)
        }
    }
}

fn duration(now: Timestamp, due: Timestamp) -> Duration {
    let nanos = due.as_nanos().saturating_sub(now.as_nanos());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
