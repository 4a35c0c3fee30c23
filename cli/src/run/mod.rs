//! A running agent: the loop over a ledger, a clock and a scripted provider. Other processes may
//! write to the same ledger.
//!
//! The loop does one thing at a time. First comes what the open run does next, then what the
//! scheduler decides, then what the story brings from outside. If there is nothing to do, it waits
//! until something is due, and meanwhile looks for entries of other processes. If another writer
//! appended first, it reads the new entries and repeats its own call (contract 3.2).

mod time;

use std::{
    borrow::Cow,
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use wakeful_core::{
    derive::obligation::ObligationKind,
    host::{Clock, ErrorReport, Ledger},
    id::{RunId, TimerId},
    json::RawJson,
    ladder::owed,
    machine::Options,
    record::{chain::Head, decision::Boundary, turn::AbortReason},
    state::State,
    story::{Act, Player, Recall, Request, Story},
    time::Timestamp,
};
use wakeful_host::{
    clock::VirtualClock,
    driver::{self, DriveError, Driver, Takeover, Watcher},
    engine::Engines,
    ledger::Own,
};

pub use self::time::Time;
use crate::provider::ScriptedProvider;

/// How often an agent at rest looks for entries of other processes.
const POLL: Duration = Duration::from_millis(50);

/// Observes an agent that plays a story.
pub trait Audience: Watcher {
    /// Called when a fact of the story was refused. Nothing was appended.
    fn refused(&mut self, fact: &RawJson, why: &ErrorReport);

    /// Called with the number of finished lines of the script, and the number of all lines.
    fn progress(&mut self, done: u64, of: u64, now: Timestamp);
}

/// When a running agent ends on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Only at a request for shutdown.
    Told,
    /// When its story is over and it rests, and only repeating timers, offers of resting items and
    /// the next day of a budget would wake it.
    Rest,
}

/// How a running agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The story is over and the agent rests.
    Rested,
    /// The agent was shut down.
    ShutDown,
    /// The story demands a crash of the process here.
    Crashed,
}

/// A running agent.
pub struct Run<L, W> {
    driver: Driver<L, W>,
    clock: VirtualClock,
    time: Time,
    provider: ScriptedProvider,
    signals: Receiver<()>,
    /// That this process drives the agent, if the caller said so.
    own: Option<Own>,
    /// The safe point that the open run has reached; `None` if it must not be interrupted now.
    safe_point: Option<Boundary>,
}

impl<L: Ledger + Clone + 'static, W: Audience> Run<L, W> {
    /// Takes over the ledger of an agent, and continues the story from the position that the ledger
    /// records. Each signal is a request for shutdown.
    ///
    /// # Errors
    /// If the ledger cannot be read, is damaged, newer or another agent's, or if the engine cannot
    /// be started.
    pub fn open(
        options: &Options,
        engines: &Engines,
        mut ledger: L,
        story: Story,
        mut time: Time,
        signals: Receiver<()>,
        watcher: W,
    ) -> Result<Self, DriveError> {
        let starts_at = story.starts_at;
        let mut recall = Recall::new(Player::live(story));
        let mut state = State::default();
        let (told, at) = driver::read(&mut ledger, Head::START, |entry, _| {
            recall.read(entry);
            state.apply(entry);
        })?;
        // A virtual clock continues at the newest entry: time that has passed must not come back.
        time.begin(at.map_or(starts_at, |at| at.max(starts_at)));
        let clock = VirtualClock::at(time.now(told.seq.next()));
        let provider = ScriptedProvider::playing(recall.done());
        let driver = Driver::open(
            options,
            engines,
            (ledger, clock.clone(), provider.clone()),
            state,
            Takeover::Restart,
            watcher,
        )?;
        Ok(Self { driver, clock, time, provider, signals, own: None, safe_point: None })
    }

    /// The agent is this process's own, and what comes for it through its store is recorded.
    #[must_use]
    pub fn owning(mut self, own: Own) -> Self {
        self.own = Some(own);
        self
    }

    /// What [`Run::owning`] was given.
    pub fn give_up(&mut self) -> Option<Own> {
        self.own.take()
    }

    /// When the scheduler next has something to do.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn next_wake(&mut self) -> Result<Option<Timestamp>, DriveError> {
        self.driver.next_wake()
    }

    /// Runs until something ends the agent.
    ///
    /// # Errors
    /// If the ledger fails, or another driver takes over.
    pub fn live(&mut self, until: Until) -> Result<Ending, DriveError> {
        loop {
            self.tick();
            self.keep_time()?;
            // In each round and not only at rest: an agent that never rests must hear Ctrl-C too.
            self.heed(Duration::ZERO)?;
            // Before the run acts, because another process may have stopped the agent meanwhile.
            self.break_off();
            if let Some(ending) = self.act(until)? {
                return Ok(ending);
            }
        }
    }

    /// The state after the newest entry that was read.
    #[must_use]
    pub fn state(&self) -> &State {
        self.driver.state()
    }

    /// Does the next thing, or waits for one.
    fn act(&mut self, until: Until) -> Result<Option<Ending>, DriveError> {
        let due = self.provider.player().in_turn();
        match due {
            Some(Act::Crash) => return Ok(Some(Ending::Crashed)),
            Some(Act::Propose(fact)) => {
                self.propose(&fact)?;
                self.safe_point = safe_point(&fact);
                self.interject()?;
                return Ok(None);
            }
            None => {}
        }
        if self.driver.decide()? {
            return Ok(None);
        }
        let marker = self.provider.player().marker();
        if let Some(marker) = marker {
            self.propose(&marker)?;
            return Ok(None);
        }
        let state = self.driver.state();
        // A run that is open at a shutdown is interrupted first; `break_off` has asked for that.
        if state.control().closing.is_some() {
            return Ok(state.turns().run.is_none().then_some(Ending::ShutDown));
        }
        let next_wake = self.driver.next_wake()?;
        let outside = self.provider.player().outside(next_wake);
        if let Some(fact) = outside {
            self.propose(&fact)?;
            return Ok(None);
        }
        // The last look: what came through a store while nobody drove the agent is heard here.
        if until == Until::Rest && self.is_at_rest() && !self.hear()? {
            return Ok(Some(Ending::Rested));
        }
        self.wait(next_wake)?;
        Ok(None)
    }

    /// Reads the clock, once for everything that the next round of the loop does.
    fn tick(&mut self) {
        let now = self.time.now(self.driver.state().next_seq());
        self.clock.set(now);
        let mut player = self.provider.player();
        // The ledger may be ahead of this clock, and a story must not go back in time.
        player.set_now(now.max(self.driver.state().at()));
        let (done, of) = player.lines();
        drop(player);
        self.driver.watcher_mut().progress(done, of, now);
    }

    /// Does what is due about a system clock that is behind the ledger (contract 1.3).
    fn keep_time(&mut self) -> Result<(), DriveError> {
        let Time::System(steady) = &self.time else { return Ok(()) };
        let (steady, clock) = (steady.clone(), self.clock.clone());
        let show_host = |shows: bool| {
            let host = steady.host_now();
            clock.set(if shows { host } else { steady.clone().now() });
        };
        self.driver.keep_time(&steady, &show_host)?;
        Ok(())
    }

    /// Aborts the open run if another process stopped the agent or requested shutdown. The abort
    /// effect went to that process, not to this one.
    fn break_off(&mut self) {
        let state = self.driver.state();
        let reason = match (&state.control().closing, &state.control().stopped) {
            // A shutdown comes first: its turn is interrupted and replays, and does not settle
            // (contract 4.3).
            (Some(_), _) => AbortReason::DaemonShutdown,
            (None, Some(_)) => AbortReason::AgentStopped,
            (None, None) => return,
        };
        if let Some(run) = state.turns().run.as_ref().map(|run| run.run_id.clone()) {
            self.abort(&run, reason);
        }
    }

    fn abort(&mut self, run: &RunId, reason: AbortReason) {
        self.provider.player().abort_turn(run, &reason.to_string());
    }

    /// Inserts an operator's message into the open run, if that is at a safe point (contract 5.9).
    fn interject(&mut self) -> Result<(), DriveError> {
        self.safe_point.map_or(Ok(()), |boundary| self.driver.interject(boundary))
    }

    fn propose(&mut self, fact: &RawJson) -> Result<(), DriveError> {
        if let Err(why) = self.driver.propose(fact.as_str())? {
            self.driver.watcher_mut().refused(fact, &why);
        }
        Ok(())
    }

    /// Waits for a signal, for entries of another process, or until something is due.
    fn wait(&mut self, next_wake: Option<Timestamp>) -> Result<(), DriveError> {
        let due = self.provider.player().due().into_iter().chain(next_wake).min();
        if due.is_some_and(|due| self.time.jump(due)) {
            return Ok(());
        }
        // A clock that jumps has nothing to wait for here, except entries of other processes.
        let left = due
            .filter(|_| matches!(self.time, Time::System(_)))
            .map_or(POLL, |due| due.duration_since(self.clock.now()).min(POLL));
        self.heed(left)?;
        self.hear()?;
        // While the turn waits, a message from another process can be inserted here.
        if self.provider.player().is_in_turn() {
            self.safe_point = self.safe_point.or(Some(Boundary::BeforeProviderContinuation));
            self.interject()?;
        }
        Ok(())
    }

    /// Reads what other processes said to the agent: they append to its file, or send to its inbox
    /// in a store. Returns whether there was anything.
    fn hear(&mut self) -> Result<bool, DriveError> {
        match &self.own {
            Some(Own::Worker(claim)) => self.driver.receive(claim, |fact| Cow::Borrowed(fact)),
            _ => self.driver.catch_up(),
        }
    }

    /// Waits at most this long for a signal, and requests shutdown if one arrives.
    fn heed(&mut self, patience: Duration) -> Result<(), DriveError> {
        match self.signals.recv_timeout(patience) {
            // The signal may have come after a long wait, so the shutdown gets the time of now.
            Ok(()) => {
                self.tick();
                self.propose(&RawJson::from_value(&Request::Shutdown.fact()))
            }
            Err(RecvTimeoutError::Timeout) => Ok(()),
            // No sender is left. Still wait, so that the loop does not spin.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                Ok(())
            }
        }
    }

    /// Whether the story is over, and only what [`Until::Rest`] names would wake the agent.
    fn is_at_rest(&self) -> bool {
        let state = self.driver.state();
        let repeats = |id: &str| {
            state.waiting().timers.get(&TimerId::from(id)).is_some_and(|timer| timer.record.repeat)
        };
        let stopped = state.control().stopped.is_some();
        let owes = || {
            owed::all(state).iter().any(|owed| {
                owed.enabled_at.is_some()
                    && !owed.recurs()
                    && !(owed.kind == ObligationKind::Timer && repeats(&owed.id))
            })
        };
        state.turns().run.is_none() && self.provider.player().is_over() && (stopped || !owes())
    }
}

/// The safe point that a run reaches with this fact, if any.
fn safe_point(fact: &RawJson) -> Option<Boundary> {
    let name = fact.field("fact")?.read::<String>().ok()?;
    match name.as_str() {
        "provider_round_completed" | "assistant_round_recorded" => {
            Some(Boundary::AfterProviderRound)
        }
        "tool_round_completed" => Some(Boundary::AfterToolResults),
        _ => None,
    }
}
