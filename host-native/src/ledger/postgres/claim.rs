//! One agent that a worker drives: its fenced ledger, what came for it, and how it is given back.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use wakeful_core::{AgentId, LedgerError, Timestamp};

use super::{
    PostgresError, PostgresLedger,
    append::Epoch,
    worker::{Held, Term, Worker},
};

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

/// An agent that this process drives, until it is given back or its lease ends. Dropping it does
/// not give it back, because the agent may be in the middle of something: the next driver in this
/// process must restart it.
#[derive(Debug)]
#[must_use = "the agent stays this worker's own until it is given back"]
pub struct Claim {
    worker: Worker,
    agent: AgentId,
    /// Which claim of this process it is. A later one of the same agent is not its to end.
    number: u64,
    pub(super) term: Term,
    taking: Arc<Taking>,
    /// The number of the inbox when it was last found to be empty.
    seen: AtomicI64,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // One that waits stays known as such.
        self.becomes(None);
    }
}

/// What became of a fact from the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was appended.
    Recorded,
    /// The agent knows it already.
    Known,
    /// The agent refuses it, and why.
    Refused(String),
}

/// The facts of one look into the inbox.
const PAGE: u32 = 64;

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
    pub(super) fn new(worker: Worker, agent: AgentId, term: Term, number: u64) -> Self {
        let seen = term.seen.into();
        Self { worker, agent, number, term, taking: Arc::default(), seen }
    }

    /// The process has the agent otherwise from now on, or no more.
    fn becomes(&self, otherwise: Option<Held>) {
        let mut held = self.worker.held();
        match held.get(&self.agent) {
            Some(Held::IsDriven(number)) if *number == self.number => match otherwise {
                Some(otherwise) => drop(held.insert(self.agent.clone(), otherwise)),
                None => drop(held.remove(&self.agent)),
            },
            _ => {}
        }
    }

    fn term(&self) -> Term {
        Term { seen: self.seen.load(Ordering::Relaxed), ..self.term.clone() }
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Counts the claims of this agent.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.term.epoch
    }

    /// Whether the agent must be taken over with a restart: its last driver did not come to rest.
    #[must_use]
    pub fn is_restart(&self) -> bool {
        self.term.is_restart
    }

    /// Whether the agent is certainly this worker's own still. If not, its turns must end, because
    /// another worker may drive it soon.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.worker.id() == self.term.worker && self.worker.is_sure()
    }

    /// The ledger, whose appends wait while the lease is in doubt, and are refused once the claim
    /// is lost.
    #[must_use]
    pub fn ledger(&self) -> PostgresLedger {
        let epoch = Epoch { worker: Arc::clone(&self.term.worker), number: self.term.epoch };
        let taking = Arc::clone(&self.taking);
        self.worker.store().ledger(&self.agent).under(self.worker.clone(), epoch, taking)
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

    /// Records all that came for the agent, in order. `record` appends a fact, which is JSON, and
    /// says what became of it. One that is refused is set aside, with the reason.
    ///
    /// # Errors
    /// That of `record`, and if the store cannot be used. The facts from there on are left.
    pub fn receive<E: From<LedgerError>>(
        &self,
        mut record: impl FnMut(&str) -> Result<Fate, E>,
    ) -> Result<(), E> {
        loop {
            let arrived = self.arrived(PAGE).map_err(LedgerError::from)?;
            if arrived.is_empty() {
                return Ok(());
            }
            for arrived in &arrived {
                match self.recording(arrived, || record(&arrived.fact))? {
                    Fate::Recorded => {}
                    Fate::Known => self.forget(arrived).map_err(LedgerError::from)?,
                    Fate::Refused(because) => {
                        self.set_aside(arrived, &because).map_err(LedgerError::from)?;
                    }
                }
            }
        }
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

    /// Nothing here drives the agent now, and it stays this worker's own. The next driver in this
    /// process gets this claim again.
    pub fn wait(self) {
        self.becomes(Some(Held::Waits(self.term())));
    }

    /// As [`Claim::wait`], after the agent came to rest: its next driver in this process need not
    /// restart it.
    pub fn wait_at_rest(mut self) {
        self.term.is_restart = false;
        self.wait();
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
        self.worker.give_back(&self.agent, &self.term(), due, is_rested)
    }
}
