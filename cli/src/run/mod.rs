//! A live agent: the loop over a ledger, a clock and a scripted provider, beside which other
//! processes write.
//!
//! The loop does one thing at a time, and the first that there is to do: what the open run does
//! next, what the scheduler decides, what the story brings from outside. Where there is nothing to
//! do it waits until something is due, and looks meanwhile for what others have appended. Where
//! another writer was first, it reads what is new and says the same again (contract 3.2).

mod time;

use std::{
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
    driver::{self, DriveError, Driver, Watcher},
    engine::Engines,
};

pub use self::time::Time;
use crate::provider::ScriptedProvider;

/// How often an agent at rest looks for what other processes have appended.
const POLL: Duration = Duration::from_millis(50);

/// Who watches an agent that plays a story.
pub trait Audience: Watcher {
    /// A fact of the story cannot be taken; nothing was appended.
    fn refused(&mut self, fact: &RawJson, why: &ErrorReport);

    /// How many lines of the script are done, of how many.
    fn progress(&mut self, done: u64, of: u64, now: Timestamp);
}

/// When a live agent ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is told to.
    Told,
    /// When its story is over and it rests, and nothing but timers that repeat and offers of
    /// resting items would wake it.
    Rest,
}

/// How a live agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The story is over and the agent rests.
    Rested,
    /// It was shut down.
    ShutDown,
    /// The story says that the process ends here.
    Crashed,
}

/// A live agent.
pub struct Run<L, W> {
    driver: Driver<L, W>,
    clock: VirtualClock,
    time: Time,
    provider: ScriptedProvider,
    signals: Receiver<()>,
    /// Where the newest line about the open run stands: whether it may be interrupted there.
    safe_point: Option<Boundary>,
}

impl<L: Ledger + Clone + 'static, W: Audience> Run<L, W> {
    /// Takes over the ledger of an agent, and goes on in the story where the ledger says that it
    /// stands. Each signal asks for shutdown.
    ///
    /// # Errors
    /// Where the ledger cannot be read, or is damaged, newer, or another agent's, or the engine
    /// cannot be started.
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
        time.begin(at.map_or(starts_at, |at| at.max(starts_at)));
        let clock = VirtualClock::at(time.now(told.seq.next()));
        let provider = ScriptedProvider::playing(recall.done());
        let driver = Driver::open(
            options,
            engines,
            (ledger, clock.clone(), provider.clone()),
            state,
            watcher,
        )?;
        Ok(Self { driver, clock, time, provider, signals, safe_point: None })
    }

    /// Lives until something ends it.
    ///
    /// # Errors
    /// Where the ledger fails, or another driver takes over.
    pub fn live(&mut self, until: Until) -> Result<Ending, DriveError> {
        loop {
            self.tick();
            self.heed(Duration::ZERO)?;
            self.break_off();
            if let Some(ending) = self.act(until)? {
                return Ok(ending);
            }
        }
    }

    /// The state at the end.
    #[must_use]
    pub fn state(&self) -> &State {
        self.driver.state()
    }

    /// Does the first thing that there is to do, or waits for one.
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
        if state.control().closing.is_some() {
            return Ok(state.turns().run.is_none().then_some(Ending::ShutDown));
        }
        let next_wake = self.driver.next_wake()?;
        let outside = self.provider.player().outside(next_wake);
        if let Some(fact) = outside {
            self.propose(&fact)?;
            return Ok(None);
        }
        if until == Until::Rest && self.is_at_rest() {
            return Ok(Some(Ending::Rested));
        }
        self.wait(next_wake)?;
        Ok(None)
    }

    /// Reads the clock for what is done next.
    fn tick(&mut self) {
        let now = self.time.now(self.driver.state().next_seq());
        self.clock.set(now);
        let mut player = self.provider.player();
        player.set_now(now.max(self.driver.state().at()));
        let (done, of) = player.lines();
        drop(player);
        self.driver.watcher_mut().progress(done, of, now);
    }

    /// Breaks the open run off where somebody else stopped the agent or asked for shutdown: the
    /// effect of that went to whoever said so.
    fn break_off(&mut self) {
        let state = self.driver.state();
        let reason = match (&state.control().closing, &state.control().stopped) {
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

    /// Puts an operator's message into the open run, where it is at a safe point (contract 5.9).
    fn interject(&mut self) -> Result<(), DriveError> {
        self.safe_point.map_or(Ok(()), |boundary| self.driver.interject(boundary))
    }

    fn propose(&mut self, fact: &RawJson) -> Result<(), DriveError> {
        if let Err(why) = self.driver.propose(fact.as_str())? {
            self.driver.watcher_mut().refused(fact, &why);
        }
        Ok(())
    }

    /// Waits for a signal, for another process, or until something is due.
    fn wait(&mut self, next_wake: Option<Timestamp>) -> Result<(), DriveError> {
        let due = self.provider.player().due().into_iter().chain(next_wake).min();
        if due.is_some_and(|due| self.time.jump(due)) {
            return Ok(());
        }
        let left = due
            .filter(|_| matches!(self.time, Time::System))
            .map_or(POLL, |due| until(self.clock.now(), due).min(POLL));
        self.heed(left)?;
        self.driver.catch_up()?;
        if self.provider.player().is_in_turn() {
            self.safe_point = self.safe_point.or(Some(Boundary::BeforeProviderContinuation));
            self.interject()?;
        }
        Ok(())
    }

    /// Waits for a signal no longer than this; one asks for shutdown.
    fn heed(&mut self, patience: Duration) -> Result<(), DriveError> {
        match self.signals.recv_timeout(patience) {
            Ok(()) => {
                self.tick();
                self.propose(&RawJson::from_value(&Request::Shutdown.fact()))
            }
            Err(RecvTimeoutError::Timeout) => Ok(()),
            // Nobody can send any more: the time is still to be waited.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                Ok(())
            }
        }
    }

    /// Whether the story is over, and nothing but timers that repeat and offers of resting items
    /// would wake the agent.
    fn is_at_rest(&self) -> bool {
        let state = self.driver.state();
        let repeats = |id: &str| {
            state.waiting().timers.get(&TimerId::from(id)).is_some_and(|timer| timer.record.repeat)
        };
        let stopped = state.control().stopped.is_some();
        let owes = || {
            owed::all(state).iter().any(|owed| {
                owed.enabled_at.is_some()
                    && owed.kind != ObligationKind::RunnableItem
                    && !(owed.kind == ObligationKind::Timer && repeats(&owed.id))
            })
        };
        state.turns().run.is_none() && self.provider.player().is_over() && (stopped || !owes())
    }
}

/// Where a run stands after this fact, if a message may be inserted there.
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

/// How long it is from one instant to another.
fn until(now: Timestamp, due: Timestamp) -> Duration {
    let nanos = due.as_nanos().saturating_sub(now.as_nanos());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}
