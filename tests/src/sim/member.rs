//! One agent of a family: its scheduler while its process lives, and what its host knows beside the
//! ledger.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use wakeful_core::{
    host::{Clock, LedgerError, Scheduler, SchedulerError},
    id::{AgentId, RunId, TaskId},
    machine::Options,
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
                    if scheduler.catch_up().is_err() {
                        self.bury();
                        return;
                    }
                }
                // The ledger failed. The fact stays first in the queue and is reported again.
                Err(_) => {
                    self.bury();
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
            let decided = scheduler.run_until_rest();
            let conflicts =
                matches!(decided, Err(SchedulerError::Ledger(LedgerError::Conflict { .. })));
            let failed = decided.is_err() && !(conflicts && scheduler.catch_up().is_ok());
            if self.bury() {
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

    /// Its next wake, by the world's clock in milliseconds.
    pub(super) fn wakes_at(&mut self) -> Option<u64> {
        let ahead = self.ahead_ms;
        let wake = self.scheduler.as_mut()?.next_wake()?;
        u64::try_from(wake.as_nanos().div_euclid(1_000_000) + 1 - ahead).ok()
    }

    /// Sets its clock to that of the world, plus what it is ahead.
    pub(super) fn set_clock(&mut self, now_ms: u64) {
        let said = i64::try_from(now_ms).unwrap_or(i64::MAX) + self.ahead_ms;
        self.clock.set(Timestamp::from_nanos(said.saturating_mul(1_000_000)));
    }

    /// Now, by its own clock.
    pub(super) fn now(&mut self) -> Timestamp {
        self.clock.now()
    }
}
