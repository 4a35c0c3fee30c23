//! A real agent: a model behind an endpoint, processes, people at a terminal, and the scheduler
//! that decides what is next.
//!
//! One thread owns the agent: its ledger, its engine, and what runs for it ([`Agent`]). Turns,
//! commands and children run beside it and send it requests. Between requests the scheduler
//! decides; what that asks for is carried out. So what is decided does not depend on threads.

use std::{
    fs, io,
    path::PathBuf,
    sync::{Arc, mpsc::RecvTimeoutError},
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
use wakeful_host::driver::DriveError;

use crate::{
    actor::Actor,
    confine::ConfineError,
    context::{Context, Setup},
    handle::{Handle, Mailbox},
};

/// How often an agent at rest looks for what other processes have appended.
const POLL: Duration = Duration::from_millis(50);

/// When an agent ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is told to.
    Told,
    /// When it rests, and nothing but timers that repeat and offers of resting items would wake it.
    Rest,
    /// When it has done what it was asked, and nothing but offers of resting items would wake it: a
    /// child.
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
    actor: Actor,
    mailbox: Mailbox,
}

impl Agent {
    /// Takes over the ledger of an agent. What an earlier life of this host left running is ended,
    /// or gone on with where that is possible.
    ///
    /// # Errors
    /// Where the ledger cannot be driven, or the agent's folder cannot be made.
    pub fn open(setup: Setup) -> Result<Self, AgentError> {
        Self::open_at(setup, false, Handle::new())
    }

    /// Likewise, for a child, whose handle its parent has made.
    pub(crate) fn open_child(setup: Setup, handle: (Handle, Mailbox)) -> Result<Self, AgentError> {
        Self::open_at(setup, true, handle)
    }

    fn open_at(
        setup: Setup,
        is_child: bool,
        (handle, mailbox): (Handle, Mailbox),
    ) -> Result<Self, AgentError> {
        let made = ["output", "tmp"]
            .iter()
            .try_for_each(|folder| fs::create_dir_all(setup.home.join(folder)));
        made.map_err(|why| AgentError::Home { path: setup.home.clone(), why })?;
        let context = Arc::new(Context::new(setup, is_child)?);
        context.sweep();
        if !is_child {
            context
                .confinement
                .describe()
                .iter()
                .for_each(|missing| context.audience.notice(&context.agent_id, missing));
        }
        Ok(Self { actor: Actor::open(context, handle)?, mailbox })
    }

    /// Where others send requests to it.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.actor.handle.clone()
    }

    /// The state after its newest entry.
    #[must_use]
    pub fn state(&self) -> &State {
        self.actor.state()
    }

    /// Says something to it as the operator; what becomes of it the audience is told.
    pub fn prompt(&mut self, text: &str) {
        drop(self.actor.prompt(text));
    }

    /// Says a fact to it.
    pub(crate) fn say(&mut self, fact: &Fact) {
        // Where it is not taken the actor has said why.
        drop(self.actor.propose(fact));
    }

    /// Lives until something ends it.
    ///
    /// # Errors
    /// Where the ledger fails, or another driver takes over.
    pub fn live(&mut self, until: Until) -> Result<Ending, AgentError> {
        let ending = self.live_on(until);
        self.actor.close(&self.mailbox);
        ending
    }

    fn live_on(&mut self, until: Until) -> Result<Ending, AgentError> {
        loop {
            self.actor.go_on()?;
            let state = self.actor.state();
            if state.control().closing.is_some() && state.turns().run.is_none() {
                return Ok(Ending::ShutDown);
            }
            if until == Until::Done
                && state.control().stopped.is_some()
                && state.turns().run.is_none()
            {
                return Ok(Ending::Stopped);
            }
            if has_ended(state, until) {
                return Ok(Ending::Rested);
            }
            self.wait()?;
        }
    }

    /// Waits for a request, for another process, or until something is due.
    fn wait(&mut self) -> Result<(), AgentError> {
        let now = self.actor.now();
        let left = self.actor.next_wake()?.map_or(POLL, |due| duration(now, due).min(POLL));
        match self.mailbox.recv_timeout(left) {
            Ok(request) => request(&mut self.actor),
            Err(RecvTimeoutError::Timeout) => self.actor.catch_up()?,
            // The actor itself has a handle, so the mailbox stays open.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left),
        }
        Ok(())
    }

    /// What it said last, and whether it failed.
    pub(crate) fn last_words(&self) -> Words {
        let ended = self.actor.last_turn();
        let failed = self
            .actor
            .state()
            .turns()
            .last_terminal
            .is_some_and(|last| last.kind != TurnTerminalKind::Completed);
        let said = ended
            .and_then(|turn| turn.last_assistant_message.clone().or_else(|| turn.reason.clone()));
        Words { text: said.unwrap_or_else(|| "It said nothing.".to_owned()), failed }
    }
}

/// Whether an agent comes to its end here.
fn has_ended(state: &State, until: Until) -> bool {
    let repeats = |id: &str| {
        state.waiting().timers.get(&TimerId::from(id)).is_some_and(|timer| timer.record.repeat)
    };
    let is_offer = |owed: &Obligation| owed.kind == ObligationKind::RunnableItem;
    let is_repeated = |owed: &Obligation| owed.kind == ObligationKind::Timer && repeats(&owed.id);
    let owes = |passes: &dyn Fn(&Obligation) -> bool| {
        owed::all(state).iter().any(|owed| owed.enabled_at.is_some() && !passes(owed))
    };
    let is_busy = state.turns().run.is_some() || !state.tasks().active.is_empty();
    let waits = !state.waiting().conditions.is_empty() || !state.waiting().intents.is_empty();
    match until {
        Until::Told => false,
        Until::Rest => {
            !is_busy
                && (state.control().stopped.is_some()
                    || !owes(&|owed| is_offer(owed) || is_repeated(owed)))
        }
        Until::Done => {
            // A child that leaves an item as it is has said all that it will say of itself.
            let is_done =
                closure::decide(&Facts::from_state(state)).outcome != ClosureOutcome::Waiting;
            !is_busy && !waits && state.turns().turn_index > 0 && is_done && !owes(&is_offer)
        }
    }
}

fn duration(now: Timestamp, due: Timestamp) -> Duration {
    let nanos = due.as_nanos().saturating_sub(now.as_nanos());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
