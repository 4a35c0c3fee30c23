//! One agent of a family: its scheduler while its process lives, and what its host knows beside the
//! ledger.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;
use wakeful_core::{
    host::{Clock, LedgerError, Remedy, Scheduler, SchedulerError, Steady},
    id::{AgentId, RunId, Seq, TaskId},
    machine::{OpenError, Options},
    record::{
        edition::Edition,
        effect::{Effect, TurnRequest},
    },
    state::State,
    time::Timestamp,
};
use wakeful_host::clock::VirtualClock;

use super::faults::{Asked, Fate, Store};

/// A turn that is being executed.
pub(super) struct Turn {
    pub(super) run: RunId,
    /// The number of steps that it still takes.
    pub(super) left: u64,
    pub(super) round: u64,
    /// It was asked to yield, so it ends with its next step.
    pub(super) yields: bool,
    /// What of its prompt the provider refuses to read, to be reported with its next step.
    pub(super) refuses: Option<Vec<String>>,
}

/// An agent and its host.
pub(super) struct Member {
    pub(super) id: AgentId,
    pub(super) store: Store,
    pub(super) clock: VirtualClock,
    pub(super) asked: Asked,
    fate: Fate,
    options: Options,
    /// `None` while no process drives it.
    pub(super) scheduler: Option<Scheduler<Store, VirtualClock, Asked>>,
    pub(super) turn: Option<Turn>,
    /// Facts that the ledger has not accepted yet, in order.
    pub(super) unsaid: VecDeque<Value>,
    /// When its commands end. They belong to its process, so they die with it.
    pub(super) commands: BTreeMap<TaskId, u64>,
    /// Its children by the tasks that supervise them. They have their own ledgers, so they outlive
    /// its process.
    pub(super) children: BTreeMap<TaskId, usize>,
    pub(super) parent: Option<(usize, TaskId)>,
    /// How far its clock is ahead of the world's, in milliseconds.
    pub(super) ahead_ms: i64,
    /// Its clock flaps: at every second look it is ahead by this much more.
    pub(super) flaps_ms: Option<i64>,
    looks: u64,
    /// How long its machine was suspended, in milliseconds. Its monotonic clock stood still.
    pub(super) suspended_ms: u64,
    /// Until when its machine is suspended.
    pub(super) suspended_until: u64,
    /// Its driver's time, which passes also while its clock is behind the ledger.
    steady: Option<Steady>,
    /// Whether its operator vouches for its clock.
    trusts_clock: bool,
    /// When the newest entry was appended or read, by the monotonic clock.
    newest: (Seq, u64),
    /// The calls of its model that were executed.
    pub(super) executed: BTreeSet<String>,
    pub(super) turns: u64,
    pub(super) messages: Vec<String>,
}

impl Member {
    pub(super) fn new(
        id: AgentId,
        edition: Edition,
        fate: &Fate,
        parent: Option<(usize, TaskId)>,
    ) -> Self {
        let mut options = Options::new(id.clone());
        options.edition = edition;
        Self {
            id,
            store: Store::new(fate),
            clock: VirtualClock::at(Timestamp::from_nanos(0)),
            asked: Asked::new(fate),
            fate: fate.clone(),
            options,
            scheduler: None,
            turn: None,
            unsaid: VecDeque::new(),
            commands: BTreeMap::new(),
            children: BTreeMap::new(),
            parent,
            ahead_ms: 0,
            flaps_ms: None,
            looks: 0,
            suspended_ms: 0,
            suspended_until: 0,
            steady: None,
            trusts_clock: fate.below(2) == 0,
            newest: (Seq(0), 0),
            executed: BTreeSet::new(),
            turns: 0,
            messages: Vec::new(),
        }
    }

    /// Passes the state that its ledger gives.
    pub(super) fn look<T>(&self, at: impl FnOnce(&State) -> T) -> T {
        self.store.watched.look(at)
    }

    /// Starts a process for it; returns whether the process is running.
    pub(super) fn start(&mut self) -> bool {
        self.store.is_dying.set(false);
        self.store.restore();
        self.turn = None;
        self.commands.clear();
        self.asked.forget(self.children.keys().cloned().collect());
        let opened = Scheduler::drive(
            self.options.clone(),
            self.store.clone(),
            self.clock.clone(),
            self.asked.clone(),
        );
        self.scheduler = opened.ok();
        self.steady = None;
        if self.scheduler.is_none() {
            self.fate.count("openings that failed");
        }
        self.bury();
        self.scheduler.is_some()
    }

    /// Ends its process if it must die; returns whether it did.
    fn bury(&mut self) -> bool {
        let dies = self.store.is_dying.get();
        if dies {
            self.kill();
        }
        dies
    }

    /// Ends its process if the ledger was set back; the operator puts the right one in its place.
    /// Returns whether the process has ended.
    fn ends_after(&mut self, why: &SchedulerError) -> bool {
        if matches!(why, SchedulerError::Open(OpenError::SetBack { .. })) {
            self.fate.count("processes that ended because their ledger was replaced");
            self.kill();
            self.store.restore();
            return true;
        }
        self.bury()
    }

    /// Its process dies, with its turn and its commands.
    pub(super) fn kill(&mut self) {
        self.scheduler = None;
        self.turn = None;
        self.commands.clear();
        self.asked.forget(Vec::new());
    }

    /// Reports a fact. If the ledger does not accept it, it is reported again later, because a host
    /// must not lose a fact.
    pub(super) fn say(&mut self, fact: Value) {
        self.unsaid.push_back(fact);
        self.say_unsaid();
    }

    /// Reports the facts that the ledger has not accepted yet, in order.
    pub(super) fn say_unsaid(&mut self) {
        while let Some(fact) = self.unsaid.front() {
            let text = fact.to_string();
            let Some(scheduler) = self.scheduler.as_mut() else { return };
            match scheduler.propose(&text) {
                Ok(_) | Err(SchedulerError::Propose(_)) => drop(self.unsaid.pop_front()),
                Err(SchedulerError::Ledger(LedgerError::Conflict { .. })) => {
                    if let Err(why) = scheduler.catch_up() {
                        self.ends_after(&why);
                        return;
                    }
                }
                // The ledger failed. The fact stays first in the queue and is reported again.
                Err(why) => {
                    self.ends_after(&why);
                    return;
                }
            }
            if self.bury() {
                return;
            }
        }
    }

    /// Lets it decide until it rests. Returns the turns to start, and whether it rests.
    pub(super) fn decide(&mut self) -> (Vec<TurnRequest>, bool) {
        let mut started = Vec::new();
        let mut rests = false;
        // Faults may prevent rest for a while, so the attempts are limited.
        for _ in 0..64 {
            let Some(scheduler) = self.scheduler.as_mut() else { break };
            let decided = scheduler.run_until_rest().map(drop);
            let conflicts =
                matches!(decided, Err(SchedulerError::Ledger(LedgerError::Conflict { .. })));
            let stands = if conflicts { scheduler.catch_up().map(drop) } else { decided };
            let failed = stands.is_err();
            if self.bury() || stands.is_err_and(|why| self.ends_after(&why)) {
                break;
            }
            let asked = self.carry_out(&mut started);
            if failed {
                break;
            }
            if !conflicts && !asked && self.unsaid.is_empty() {
                rests = true;
                break;
            }
            self.say_unsaid();
        }
        (started, rests)
    }

    /// Does what the scheduler asked for, except that turns to start are collected. Returns whether
    /// there was anything.
    fn carry_out(&mut self, started: &mut Vec<TurnRequest>) -> bool {
        let mut any = false;
        while let Some(effect) = self.asked.take() {
            any = true;
            match effect {
                Effect::StartTurn(request) => started.push(request),
                Effect::YieldTurn { run_id } => {
                    if let Some(turn) = self.turn.as_mut().filter(|turn| turn.run == run_id) {
                        turn.yields = true;
                    }
                }
                Effect::AbortTurn { run_id, reason } => {
                    if self.turn.as_ref().is_some_and(|turn| turn.run == run_id) {
                        self.turn = None;
                    }
                    let reason = reason.to_string();
                    self.unsaid.push_back(serde_json::json!({ "fact": "turn_aborted", "run_id": run_id, "reason": reason }));
                }
                Effect::Interject { .. } => {}
                Effect::Release => self.commands.clear(),
            }
        }
        any
    }

    /// The time from now to its next wake, in milliseconds.
    pub(super) fn wakes_in(&mut self) -> Option<u64> {
        let now = self.clock.now();
        let wake = self.scheduler.as_mut()?.next_wake()?;
        u64::try_from(wake.nanos_since(now).div_euclid(1_000_000) + 1).ok()
    }

    /// What its machine's own clock says: that of the world, plus what it is ahead.
    fn host_now(&self, now_ms: u64) -> Timestamp {
        let flaps = self.flaps_ms.filter(|_| self.looks % 2 == 1).unwrap_or(0);
        let said = i64::try_from(now_ms).unwrap_or(i64::MAX) + self.ahead_ms + flaps;
        Timestamp::from_nanos(said.saturating_mul(1_000_000))
    }

    /// Shows its driver the time, and does what is due about a clock that is behind (contract 1.3).
    pub(super) fn keep_time(&mut self, now_ms: u64) {
        self.looks += 1;
        let (host, monotonic) = (self.host_now(now_ms), now_ms - self.suspended_ms);
        let (at, seq) = self.look(|state| (state.at(), state.head().seq));
        if self.newest.0 != seq {
            self.newest = (seq, monotonic);
        }
        let steady = self.steady.get_or_insert_with(|| Steady::new(at, monotonic));
        steady.recorded(at, monotonic);
        let remedy = steady.remedy(host, monotonic, self.trusts_clock);
        let shown = steady.now(host, monotonic);
        let Some(remedy) = remedy.filter(|_| self.scheduler.is_some()) else {
            return self.clock.set(shown);
        };
        self.clock.set(host);
        if remedy == Remedy::Correct {
            self.fate.count("clocks that were corrected");
            let elapsed_ms = monotonic - self.newest.1;
            self.unsaid.push_front(
                serde_json::json!({ "fact": "clock_corrected", "elapsed_ms": elapsed_ms }),
            );
            self.say_unsaid();
            let at = self.look(State::at);
            if let Some(steady) = &mut self.steady {
                steady.corrected(at, monotonic);
            }
        } else {
            self.fate.count("clocks that were reported");
            if let Some(scheduler) = self.scheduler.as_mut() {
                // Whether it fails or not, the clock is as it is.
                drop(scheduler.run_until_rest());
            }
            self.bury();
        }
        let at = self.look(State::at);
        let steady = self.steady.get_or_insert_with(|| Steady::new(at, monotonic));
        steady.recorded(at, monotonic);
        let shown = steady.now(host, monotonic);
        self.clock.set(shown);
    }

    /// Now, by its own clock.
    pub(super) fn now(&mut self) -> Timestamp {
        self.clock.now()
    }
}
