//! A live agent: the loop over a ledger, a clock and a scripted provider, beside which other processes write.
//!
//! The loop does one thing at a time, and the first that there is to do: what the open run does next, what the scheduler decides, what the
//! story brings from outside. Where there is nothing to do it waits until something is due, and looks meanwhile for what others have
//! appended. Where another writer was first, it reads what is new and says the same again (contract 3.2).

mod time;

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::Duration,
};

use wakeful_core::{
    derive::obligation::{self, ObligationKind},
    entry::{Entry, EntryBytes, EntryError, Head, Record},
    host::{Clock, Ledger, LedgerError, Scheduler, SchedulerError},
    id::{RunId, Seq, TimerId},
    json::RawJson,
    ladder::Boundary,
    machine::{Options, ProposeError},
    plane::{control::ControlRecord, turn::AbortReason},
    state::State,
    story::{Act, Player, Recall, Request, Story},
    time::Timestamp,
};

pub use self::time::Time;
use crate::{clock::VirtualClock, provider::ScriptedProvider};

/// How often an agent at rest looks for what other processes have appended.
const POLL: Duration = Duration::from_millis(50);

/// How many entries are read at once.
const PAGE: u32 = 1024;

/// Who watches a live agent.
pub trait Watcher {
    /// An entry was appended, by this process or another.
    fn entry(&mut self, entry: &Entry, bytes: &EntryBytes);

    /// A fact of the story cannot be taken; nothing was appended.
    fn refused(&mut self, fact: &RawJson, why: &ProposeError);

    /// How many lines of the script are done, of how many.
    fn progress(&mut self, done: u64, of: u64, now: Timestamp);
}

/// When a live agent ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is told to.
    Told,
    /// When its story is over and it rests, and nothing but timers that repeat and offers of resting items would wake it.
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

/// Why a live agent cannot go on. Its ledger is consistent.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scheduler cannot go on.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The ledger is damaged.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There are two drivers.
    #[error("another process took the ledger over with entry {0}: let one of them drive the agent")]
    TakenOver(Seq),
}

/// A live agent.
pub struct Run<L, W> {
    scheduler: Scheduler<L, VirtualClock, ScriptedProvider>,
    entries: L,
    clock: VirtualClock,
    time: Time,
    provider: ScriptedProvider,
    signals: Receiver<()>,
    told: Head,
    /// Where the newest line about the open run stands: whether it may be interrupted there.
    safe_point: Option<Boundary>,
    watcher: W,
}

impl<L: Ledger + Clone, W: Watcher> Run<L, W> {
    /// Takes over the ledger of an agent, and goes on in the story where the ledger says that it stands. Each signal asks for shutdown.
    ///
    /// # Errors
    /// Where the ledger cannot be read, or is damaged, newer, or another agent's.
    pub fn open(
        options: &Options,
        mut ledger: L,
        story: Story,
        mut time: Time,
        signals: Receiver<()>,
        watcher: W,
    ) -> Result<Self, RunError> {
        let starts_at = story.starts_at;
        let mut recall = Recall::new(Player::live(story));
        let (told, at) = read(&mut ledger, Head::START, |entry, _| recall.read(entry))?;
        time.begin(at.map_or(starts_at, |at| at.max(starts_at)));
        let clock = VirtualClock::at(time.now(told.seq.next()));
        let provider = ScriptedProvider::playing(recall.done());
        let scheduler = loop {
            match Scheduler::drive(options.clone(), ledger.clone(), clock.clone(), provider.clone()) {
                // Somebody said something in between: it is read with the rest.
                Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => {}
                opened => break opened?,
            }
        };
        let mut run = Self { scheduler, entries: ledger, clock, time, provider, signals, told, safe_point: None, watcher };
        run.tell()?;
        Ok(run)
    }

    /// Lives until something ends it.
    ///
    /// # Errors
    /// Where the ledger fails, or another driver takes over.
    pub fn live(&mut self, until: Until) -> Result<Ending, RunError> {
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
        self.scheduler.state()
    }

    /// Does the first thing that there is to do, or waits for one.
    fn act(&mut self, until: Until) -> Result<Option<Ending>, RunError> {
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
        if self.step()? {
            return Ok(None);
        }
        let marker = self.provider.player().marker();
        if let Some(marker) = marker {
            self.propose(&marker)?;
            return Ok(None);
        }
        let state = self.scheduler.state();
        if state.control.closing.is_some() {
            return Ok(state.turns.run.is_none().then_some(Ending::ShutDown));
        }
        let next_wake = self.scheduler.next_wake();
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
        let now = self.time.now(self.scheduler.state().next_seq());
        self.clock.set(now);
        let mut player = self.provider.player();
        player.set_now(now.max(self.scheduler.state().at));
        let (done, of) = player.lines();
        self.watcher.progress(done, of, now);
    }

    /// Breaks the open run off where somebody else stopped the agent or asked for shutdown: the effect of that went to whoever said so.
    fn break_off(&mut self) {
        let state = self.scheduler.state();
        let reason = match (&state.control.closing, &state.control.stopped) {
            (Some(_), _) => AbortReason::DaemonShutdown,
            (None, Some(_)) => AbortReason::AgentStopped,
            (None, None) => return,
        };
        if let Some(run) = state.turns.run.as_ref().map(|run| run.run_id.clone()) {
            self.abort(&run, reason);
        }
    }

    fn abort(&mut self, run: &RunId, reason: AbortReason) {
        self.provider.player().abort_turn(run, &reason.to_string());
    }

    /// Lets the scheduler decide until it rests; whether there was anything to say.
    fn step(&mut self) -> Result<bool, RunError> {
        let before = self.scheduler.state().head;
        self.insist(|scheduler| scheduler.run_until_rest().map(drop))?;
        Ok(self.scheduler.state().head != before)
    }

    /// Puts an operator's message into the open run, where it is at a safe point (contract 5.9).
    fn interject(&mut self) -> Result<(), RunError> {
        let Some(boundary) = self.safe_point else { return Ok(()) };
        while self.scheduler.state().turns.run.is_some() && self.scheduler.state().queue.interjection().is_some() {
            self.insist(|scheduler| scheduler.step(boundary).map(drop))?;
        }
        Ok(())
    }

    fn propose(&mut self, fact: &RawJson) -> Result<(), RunError> {
        match self.insist(|scheduler| scheduler.propose(fact.as_str()).map(drop)) {
            Err(RunError::Scheduler(SchedulerError::Propose(why))) => {
                self.watcher.refused(fact, &why);
                Ok(())
            }
            done => done,
        }
    }

    /// Says the same again after reading what another writer has said first.
    fn insist(
        &mut self,
        mut say: impl FnMut(&mut Scheduler<L, VirtualClock, ScriptedProvider>) -> Result<(), SchedulerError>,
    ) -> Result<(), RunError> {
        loop {
            match say(&mut self.scheduler) {
                Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => self.catch_up()?,
                said => {
                    self.tell()?;
                    return Ok(said?);
                }
            }
        }
    }

    /// Reads what other writers have appended.
    fn catch_up(&mut self) -> Result<(), RunError> {
        self.tell()?;
        if self.scheduler.catch_up()? == 0 {
            return Ok(());
        }
        let taken_over = self.tell()?;
        taken_over.map_or(Ok(()), |seq| Err(RunError::TakenOver(seq)))
    }

    /// Tells the watcher what is new up to the scheduler's head; where in it a driver took over.
    fn tell(&mut self) -> Result<Option<Seq>, RunError> {
        let mut driver = None;
        let upto = self.scheduler.state().head.seq;
        while self.told.seq < upto {
            let left = u32::try_from(upto.0 - self.told.seq.0).unwrap_or(u32::MAX);
            for bytes in self.entries.read(self.told.seq, left.min(PAGE))? {
                let entry = bytes.open(&self.told)?;
                self.told = entry.head();
                if matches!(entry.record, Record::Control(ControlRecord::RuntimeRestarted(_))) {
                    driver = Some(entry.seq);
                }
                self.watcher.entry(&entry, &bytes);
            }
        }
        Ok(driver)
    }

    /// Waits for a signal, for another process, or until something is due.
    fn wait(&mut self, next_wake: Option<Timestamp>) -> Result<(), RunError> {
        let due = self.provider.player().due().into_iter().chain(next_wake).min();
        if due.is_some_and(|due| self.time.jump(due)) {
            return Ok(());
        }
        let left = due.filter(|_| matches!(self.time, Time::System)).map_or(POLL, |due| until(self.clock.now(), due).min(POLL));
        self.heed(left)?;
        self.catch_up()?;
        if self.provider.player().is_in_turn() {
            self.safe_point = self.safe_point.or(Some(Boundary::BeforeProviderContinuation));
            self.interject()?;
        }
        Ok(())
    }

    /// Waits for a signal no longer than this; one asks for shutdown.
    fn heed(&mut self, patience: Duration) -> Result<(), RunError> {
        match self.signals.recv_timeout(patience) {
            Ok(()) => {
                self.tick();
                self.propose(&RawJson::of(&Request::Shutdown.fact()))
            }
            Err(RecvTimeoutError::Timeout) => Ok(()),
            // Nobody can send any more: the time is still to be waited.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                Ok(())
            }
        }
    }

    /// Whether the story is over, and nothing but timers that repeat and offers of resting items would wake the agent.
    fn is_at_rest(&self) -> bool {
        let state = self.scheduler.state();
        let repeats = |id: &str| state.waiting.timers.get(&TimerId::from(id)).is_some_and(|timer| timer.record.repeat);
        let stopped = state.control.stopped.is_some();
        let owes = || {
            obligation::all(state).iter().any(|owed| {
                owed.enabled_at.is_some()
                    && owed.kind != ObligationKind::RunnableItem
                    && !(owed.kind == ObligationKind::Timer && repeats(&owed.id))
            })
        };
        state.turns.run.is_none() && self.provider.player().is_over() && (stopped || !owes())
    }
}

/// Where a run stands after this fact, if a message may be inserted there.
fn safe_point(fact: &RawJson) -> Option<Boundary> {
    let name = fact.field("fact")?.read::<String>().ok()?;
    match name.as_str() {
        "provider_round_completed" | "assistant_round_recorded" => Some(Boundary::AfterProviderRound),
        "tool_round_completed" => Some(Boundary::AfterToolResults),
        _ => None,
    }
}

/// How long it is from one instant to another.
fn until(now: Timestamp, due: Timestamp) -> Duration {
    let nanos = due.as_nanos().saturating_sub(now.as_nanos());
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

/// Reads the entries after a head, verified; where the ledger then ends, and when its newest entry was made.
///
/// # Errors
/// Where the ledger cannot be read or is damaged.
pub fn read(
    ledger: &mut impl Ledger,
    mut head: Head,
    mut each: impl FnMut(&Entry, &EntryBytes),
) -> Result<(Head, Option<Timestamp>), RunError> {
    let mut at = None;
    loop {
        let page = ledger.read(head.seq, PAGE)?;
        if page.is_empty() {
            return Ok((head, at));
        }
        for bytes in &page {
            let entry = bytes.open(&head)?;
            head = entry.head();
            at = Some(entry.at);
            each(&entry, bytes);
        }
    }
}
