//! One agent that a worker drives: its fenced ledger, what came for it, and how it is given back.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use wakeful_core::{AgentId, Timestamp};

use super::{PostgresError, PostgresLedger, append::Epoch, worker::Worker};

/// The row of the inbox that the next append of a ledger turns into entries; 0 if there is none.
#[derive(Debug, Default)]
pub(super) struct Taking(AtomicI64);

impl Taking {
    pub(super) fn row(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Acquire)).filter(|row| *row > 0)
    }

    pub(super) fn done(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// An agent that this process drives, until it is released or its lease ends. Dropping it does not
/// release it, because the agent may be in the middle of something.
#[derive(Debug)]
#[must_use = "the agent stays this worker's own until it is released"]
pub struct Claim {
    worker: Worker,
    agent: AgentId,
    epoch: i64,
    is_restart: bool,
    taking: Arc<Taking>,
    /// The number of the inbox when it was last found to be empty.
    seen: AtomicI64,
}

/// A fact from the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its place in the inbox of the agent.
    pub at: i64,
    /// The key under which it was sent.
    pub key: String,
    /// The fact, as JSON.
    pub fact: String,
}

impl Claim {
    pub(super) fn new(worker: Worker, agent: AgentId, epoch: i64, is_restart: bool) -> Self {
        let (taking, seen) = (Arc::default(), AtomicI64::new(0));
        Self { worker, agent, epoch, is_restart, taking, seen }
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Counts the claims of this agent.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Whether the agent must be taken over with a restart: its last driver did not come to rest.
    #[must_use]
    pub fn is_restart(&self) -> bool {
        self.is_restart
    }

    /// The ledger, whose appends are refused once the claim is lost.
    #[must_use]
    pub fn ledger(&self) -> PostgresLedger {
        let epoch = Epoch { worker: self.worker.shared_id(), number: self.epoch };
        self.worker.store().ledger(&self.agent).under(epoch, Arc::clone(&self.taking))
    }

    /// What came for the agent, in order, up to `most` facts. Ask until there is nothing: an agent
    /// that is given back before is due at once.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn arrived(&self, most: u32) -> Result<Vec<Arrived>, PostgresError> {
        let (number, arrived) = self.worker.store().arrived(&self.agent, most)?;
        if arrived.is_empty() {
            self.seen.store(number, Ordering::Relaxed);
        }
        Ok(arrived)
    }

    /// Records a fact from the inbox: the append inside `record` deletes its row in the same
    /// statement, so that the fact is neither lost nor recorded twice. If `record` appends nothing,
    /// the row stays: [`Claim::set_aside`] is for a fact that is refused, and [`Claim::forget`] for
    /// one that is known.
    pub fn recording<T>(&self, arrived: &Arrived, record: impl FnOnce() -> T) -> T {
        self.taking.0.store(arrived.at, Ordering::Release);
        let done = record();
        self.taking.done();
        done
    }

    /// Takes a fact out of the way that the agent refuses. It stays in the store with the reason.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn set_aside(&self, arrived: &Arrived, because: &str) -> Result<(), PostgresError> {
        self.worker.store().set_aside(&self.agent, arrived.at, because)
    }

    /// Forgets a fact that the agent knows already, so that recording it appended nothing.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn forget(&self, arrived: &Arrived) -> Result<(), PostgresError> {
        self.worker.store().forget_arrived(&self.agent, arrived.at)
    }

    /// Gives the agent back after it came to rest. A worker claims it again at `due`, or at once if
    /// something came for it meanwhile.
    ///
    /// # Errors
    /// If the store cannot be written. Then the agent stays this worker's own.
    pub fn rest(self, due: Option<Timestamp>) -> Result<(), PostgresError> {
        self.give_back(due, true)
    }

    /// Gives the agent back as it is, so that the next driver restarts it at once.
    ///
    /// # Errors
    /// If the store cannot be written. Then the agent stays this worker's own.
    pub fn hand_over(self) -> Result<(), PostgresError> {
        self.give_back(Some(Timestamp::from_nanos(0)), false)
    }

    fn give_back(&self, due: Option<Timestamp>, is_rested: bool) -> Result<(), PostgresError> {
        let seen = self.seen.load(Ordering::Relaxed);
        self.worker.give_back(&self.agent, self.epoch, seen, due, is_rested)
    }
}
