//! A real agent: a model behind an endpoint, processes, people at a terminal, and the scheduler
//! that decides what comes next.
//!
//! One thread owns the agent: its ledger, its engine, and everything that runs for it ([`Agent`]).
//! Turns, commands and children run on other threads and send requests to it. Between requests the
//! scheduler decides, and the owner carries out the effects. So decisions do not depend on the
//! timing of threads.

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
    fact::{Fact, context::TranscriptAppended},
    id::{AgentId, TimerId},
    json::RawJson,
    ladder::owed,
    record::{
        continuation::ClosureOutcome,
        control::{AgentDescribed, AgentKind, AgentOwnership, AgentVisibility},
        turn::TurnTerminalKind,
    },
    state::State,
    time::Timestamp,
};
use wakeful_host::{
    driver::{DriveError, Takeover},
    ledger::{Own, OwningError, StoreError},
};

use crate::{
    actor::Actor,
    confine::ConfineError,
    context::{Context, Setup},
    gc::Collector,
    handle::{Handle, Mailbox},
    supervision::parent_of,
};

/// How often an agent at rest looks for entries of other processes.
const POLL: Duration = Duration::from_millis(50);

/// The same for an agent in a store, which many others ask too.
const POLL_STORE: Duration = Duration::from_millis(250);

/// When [`Agent::live`] returns without a request from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Only when it is told to.
    Told,
    /// When the agent rests, and only repeating timers, offers of resting items and the next day of
    /// a budget would wake it.
    Rest,
    /// When nothing runs and nothing is due now, whatever would wake it later. This is for a host
    /// of many agents, which keeps in memory only those that work. It opens the agent again at the
    /// instant of [`Agent::next_wake`], or when something is said to it; that is not a restart.
    /// What is said at the very end gets [`Ended`](crate::Ended): say it again then.
    Idle,
    /// When the agent has done what it was asked, and only offers of resting items and the next day
    /// of a budget would wake it. This is for a child.
    Done,
}

/// How an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It rests.
    Rested,
    /// It rests, and only because its last turn failed: it waits for nothing.
    Failed,
    /// It was shut down, and can be opened again.
    ShutDown,
    /// It was stopped and nothing starts it again. This happens to a child.
    Stopped,
}

/// Why an agent cannot be opened or continue. Its ledger is consistent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Another one drives the agent, or its owner cannot be recorded.
    #[error(transparent)]
    Own(#[from] OwningError),
    /// The agent cannot be given up.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ledger cannot be driven.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The commands cannot be confined.
    #[error(transparent)]
    Confine(#[from] ConfineError),
    /// The agent's folder cannot be created.
    #[error("cannot create the agent's folder `{}`: {why}; name another one with `--home`", path.display())]
    Home {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// Another worker of the store drives the agent, or may do so soon.
    #[error("this process no longer drives the agent `{agent}`: another one goes on ({why})")]
    Lost {
        /// The agent.
        agent: AgentId,
        /// How that was found.
        why: Box<Self>,
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
    collector: Collector,
    /// The claim to the agent, until its life has ended.
    owned: Option<Own>,
}

impl Agent {
    /// Owns an agent and takes its ledger up. What an earlier process left running is resumed if
    /// possible, and ended otherwise. If the agent has come to rest in this process, through the
    /// same [`Store`](wakeful_host::ledger::Store), it goes on from there, and nothing is
    /// recorded.
    ///
    /// # Errors
    /// If another one drives the agent, the ledger cannot be driven, the commands cannot be
    /// confined, or the agent's folder cannot be created.
    pub fn open(setup: Setup) -> Result<Self, AgentError> {
        Self::open_at(setup, false, Handle::new())
    }

    /// As [`Agent::open`], for a child. Its parent has made the handle.
    pub(crate) fn open_child(setup: Setup, handle: (Handle, Mailbox)) -> Result<Self, AgentError> {
        Self::open_at(setup, true, handle)
    }

    fn open_at(
        setup: Setup,
        is_child: bool,
        (handle, mailbox): (Handle, Mailbox),
    ) -> Result<Self, AgentError> {
        // First of all: what runs for the agent belongs to its owner.
        let owned = setup.store.own(&setup.agent_id)?;
        let takeover = if owned.is_restart() { Takeover::Restart } else { Takeover::Resume };
        // Then the folders: the confinement leaves out paths that do not exist, and `tmp`
        // must be writable.
        let made = ["output", "tmp"]
            .iter()
            .try_for_each(|folder| fs::create_dir_all(setup.home.join(folder)));
        made.map_err(|why| AgentError::Home { path: setup.home.clone(), why })?;
        let context = Arc::new(Context::new(setup, is_child)?);
        if takeover == Takeover::Restart {
            // Before anything starts: the sweep ends every process that carries a mark of this
            // agent.
            context.sweep();
        }
        let actor = Actor::open(Arc::clone(&context), owned.ledger(), handle, takeover)?;
        let collector = Collector::default();
        let mut agent = Self { actor, mailbox, collector, owned: Some(owned) };
        agent.say_wall(takeover);
        agent.describe();
        Ok(agent)
    }

    /// Says and records which wall holds. An agent that goes on says it only if that is new.
    fn say_wall(&mut self, takeover: Takeover) {
        let context = Arc::clone(&self.actor.context);
        let not_enforced = context.confinement.describe();
        let data = RawJson::from_value(&context.confinement.holds(&not_enforced));
        if takeover == Takeover::Resume && self.actor.says_wall(&data) {
            return;
        }
        // A child has the policy and the kernel of its parent, which has said all of this already.
        if !context.is_child {
            not_enforced
                .iter()
                .for_each(|missing| context.audience.not_enforced(&context.agent_id, missing));
        }
        self.say(&Fact::TranscriptAppended(TranscriptAppended { run_id: None, data }));
    }

    /// Records what the agent is and what it works with, if that is new (contract 15.7).
    fn describe(&mut self) {
        let context = &self.actor.context;
        let id = &context.agent_id;
        let parent_agent_id = parent_of(id).filter(|_| context.is_child);
        let (kind, visibility, ownership, profile) = if context.is_child {
            let ownership = AgentOwnership::ParentSupervised;
            (AgentKind::Child, AgentVisibility::Private, ownership, "private_child")
        } else {
            let is_default = id.as_str() == "default";
            let kind = if is_default { AgentKind::Default } else { AgentKind::Named };
            (kind, AgentVisibility::Public, AgentOwnership::SelfOwned, "public_named")
        };
        let root = context.workspace.root().display().to_string();
        let described = AgentDescribed {
            kind,
            visibility,
            ownership,
            profile_preset: Some(profile.to_owned()),
            parent_agent_id,
            model: Some(context.endpoint.options().model.clone()),
            working_directory: Some(root.clone()),
            workspace: Some(root),
        };
        let before = self.actor.state().control().described.as_ref();
        if before.is_none_or(|(before, _)| *before != described) {
            self.say(&Fact::AgentDescribed(described));
        }
    }

    /// The handle for sending requests to the agent.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.actor.handle.clone()
    }

    /// The state after the newest entry.
    #[must_use]
    pub fn state(&self) -> &State {
        self.actor.state()
    }

    /// Sends the agent a prompt of the operator. The audience sees what becomes of it.
    pub fn prompt(&mut self, text: &str) {
        drop(self.actor.prompt(text, None));
    }

    /// Proposes a fact to the agent.
    pub(crate) fn say(&mut self, fact: &Fact) {
        // If it is not accepted, the actor has told the audience why.
        drop(self.actor.propose(fact));
    }

    /// When the scheduler next has something to do; `None` if only something that is said to the
    /// agent can change anything.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn next_wake(&mut self) -> Result<Option<Timestamp>, AgentError> {
        Ok(self.actor.next_wake()?)
    }

    /// Lives until something ends the agent. An agent that came to rest stays this process's own,
    /// and one that was shut down is free for others. To let it live again, open it again.
    ///
    /// # Errors
    /// If the ledger fails, or another driver takes over. [`AgentError::Lost`] if that is another
    /// worker of the store.
    pub fn live(&mut self, until: Until) -> Result<Ending, AgentError> {
        let ending = self.live_on(until);
        // Also after a failure: nothing that runs for an agent may outlive it.
        self.actor.close(&self.mailbox);
        self.collector.stop();
        let owned = self.owned.take();
        let is_lost = owned.as_ref().is_some_and(|owned| !owned.is_sure());
        let ending = ending.map_err(|why| match is_lost {
            true => {
                AgentError::Lost { agent: self.actor.context.agent_id.clone(), why: Box::new(why) }
            }
            false => why,
        })?;
        let Some(owned) = owned else { return Ok(ending) };
        match ending {
            Ending::ShutDown => owned.release()?,
            // What is cut off here is interrupted by the restart of the next opening.
            _ if is_busy(self.actor.state()) => drop(owned),
            Ending::Rested | Ending::Failed | Ending::Stopped => owned.rest(),
        }
        Ok(ending)
    }

    fn live_on(&mut self, until: Until) -> Result<Ending, AgentError> {
        loop {
            self.actor.go_on()?;
            let state = self.actor.state();
            // The shutdown is complete only when the run is interrupted. Otherwise its message
            // would not replay.
            if state.control().closing.is_some() && state.turns().run.is_none() {
                return Ok(Ending::ShutDown);
            }
            // Nothing starts a stopped child again, so its thread must not wait for that.
            if until == Until::Done
                && state.control().stopped.is_some()
                && state.turns().run.is_none()
            {
                return Ok(Ending::Stopped);
            }
            let has_ended = match until {
                Until::Idle => self.is_idle()?,
                // What came through a store while nobody drove the agent may not be heard yet.
                _ => has_ended(state, until) && !self.hear()?,
            };
            if has_ended {
                return Ok(self.rested());
            }
            if self.actor.state().turns().run.is_none() {
                self.collector.collect(&self.actor.context);
            }
            self.wait()?;
        }
    }

    /// Whether nothing runs, nothing is due, and nothing new was said.
    fn is_idle(&mut self) -> Result<bool, AgentError> {
        if is_busy(self.actor.state()) || self.actor.has_jobs() {
            return Ok(false);
        }
        let now = self.actor.now();
        if self.actor.next_wake()?.is_some_and(|due| due <= now) || self.hear()? {
            return Ok(false);
        }
        // The last look, because a request that is still in the mailbox at the end is lost.
        let Ok(request) = self.mailbox.try_recv() else { return Ok(true) };
        request(&mut self.actor);
        Ok(false)
    }

    /// Reads what other processes said to the agent: they append to its file, or send to its inbox
    /// in a store. Returns whether there was anything.
    fn hear(&mut self) -> Result<bool, AgentError> {
        match &self.owned {
            Some(Own::Worker(claim)) => Ok(self.actor.receive(claim)?),
            _ => Ok(self.actor.catch_up()?),
        }
    }

    /// How an agent ends that rests.
    fn rested(&self) -> Ending {
        if self.failure().is_some() { Ending::Failed } else { Ending::Rested }
    }

    /// Waits for a request, for another process, or until something is due.
    fn wait(&mut self) -> Result<(), AgentError> {
        let now = self.actor.now();
        let poll = match &self.owned {
            Some(Own::Worker(_)) => POLL_STORE,
            _ => POLL,
        };
        let left = self.actor.next_wake()?.map_or(poll, |due| due.duration_since(now).min(poll));
        match self.mailbox.recv_timeout(left) {
            Ok(request) => request(&mut self.actor),
            // Nothing announces what another process says, so each timeout looks for it.
            Err(RecvTimeoutError::Timeout) => drop(self.hear()?),
            // The actor itself has a handle, so the mailbox stays open.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left),
        }
        Ok(())
    }

    /// Why the agent rests, if it does only because its last turn failed.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        let state = self.actor.state();
        let waits = !state.waiting().conditions.is_empty() || !state.waiting().intents.is_empty();
        if waits || state.control().stopped.is_some() {
            return None;
        }
        let ended = self.actor.last_turn()?;
        let failed = ended.kind.filter(|kind| kind.is_failure())?;
        Some(ended.reason.as_deref().unwrap_or(failed.as_str()))
    }

    /// What the agent said last, and whether its last turn failed.
    pub(crate) fn last_words(&self) -> Words {
        let ended = self.actor.last_turn();
        let failed = self
            .actor
            .state()
            .turns()
            .last_terminal
            .is_some_and(|last| last.kind != TurnTerminalKind::Completed);
        let said = ended
            // A failed turn may have no words. Then its reason is what the parent needs to know.
            .and_then(|turn| turn.last_assistant_message.clone().or_else(|| turn.reason.clone()));
        Words { text: said.unwrap_or_else(|| "It said nothing.".to_owned()), failed }
    }
}

/// Whether a turn or a task runs.
fn is_busy(state: &State) -> bool {
    state.turns().run.is_some() || !state.tasks().active.is_empty()
}

/// Whether the agent ends in this state.
fn has_ended(state: &State, until: Until) -> bool {
    let repeats = |id: &str| {
        state.waiting().timers.get(&TimerId::from(id)).is_some_and(|timer| timer.record.repeat)
    };
    let is_repeated = |owed: &Obligation| owed.kind == ObligationKind::Timer && repeats(&owed.id);
    let owes = |passes: &dyn Fn(&Obligation) -> bool| {
        owed::all(state).iter().any(|owed| owed.enabled_at.is_some() && !passes(owed))
    };
    let waits = !state.waiting().conditions.is_empty() || !state.waiting().intents.is_empty();
    match until {
        // Its end depends on the jobs and on the clock too.
        Until::Told | Until::Idle => false,
        Until::Rest => {
            !is_busy(state)
                // Nothing is dequeued, ticked or woken while the agent is stopped (contract 4.2),
                // so what it owes does not keep it alive.
                && (state.control().stopped.is_some()
                    || !owes(&|owed| owed.recurs() || is_repeated(owed)))
        }
        Until::Done => {
            // A child that leaves its item unchanged has reported everything that it will report on
            // its own.
            let is_done =
                closure::decide(&Facts::from_state(state)).outcome != ClosureOutcome::Waiting;
            !is_busy(state)
                && !waits
                && state.turns().turn_index > 0
                && is_done
                && !owes(&Obligation::recurs)
        }
    }
}
