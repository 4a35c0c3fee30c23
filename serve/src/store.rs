//! The agents of a store. An agent that is asked for stays folded in memory, and each request reads
//! what others appended since.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use wakeful_core::{
    Options, Provider,
    host::{LedgerError, Receipt, Scheduler, SchedulerError},
    id::AgentId,
};
use wakeful_host::{
    clock::SystemClock,
    ledger::{SqliteFile, SqliteLedger},
    provider::Elsewhere,
};

use crate::problem::Problem;

/// An agent that this process only observes: whoever drives it carries its effects out.
pub(crate) type Observed = Scheduler<SqliteLedger, SystemClock, Elsewhere>;

/// A store of ledgers.
#[derive(Clone)]
pub(crate) struct Store {
    file: SqliteFile,
    resident: Arc<Mutex<HashMap<AgentId, Arc<Mutex<Observed>>>>>,
}

impl Store {
    pub(crate) fn new(file: SqliteFile) -> Self {
        Self { file, resident: Arc::default() }
    }

    /// The agents, by name.
    pub(crate) fn agents(&self) -> Result<Vec<AgentId>, Problem> {
        Ok(self.file.agents()?)
    }

    /// The stored entries of an agent.
    pub(crate) fn ledger(&self, agent: &AgentId) -> Result<SqliteLedger, Problem> {
        self.require(agent)?;
        Ok(self.file.ledger(agent))
    }

    /// Asks an agent, after what others appended was read. It blocks while the store does.
    pub(crate) fn with<T>(
        &self,
        agent: &AgentId,
        ask: impl FnOnce(&mut Observed) -> Result<T, SchedulerError>,
    ) -> Result<T, Problem> {
        let resident = self.resident(agent)?;
        let mut scheduler = locked(&resident);
        let answer = scheduler.catch_up().and_then(|_| ask(&mut scheduler));
        drop(scheduler);
        if answer.is_err() {
            // Its ledger may have been set back or replaced: the next request opens it again.
            locked(&self.resident).remove(agent);
        }
        Ok(answer?)
    }

    fn resident(&self, agent: &AgentId) -> Result<Arc<Mutex<Observed>>, Problem> {
        if let Some(resident) = locked(&self.resident).get(agent) {
            return Ok(Arc::clone(resident));
        }
        self.require(agent)?;
        // Opened outside the lock: other agents are asked meanwhile.
        let ledger = self.file.ledger(agent);
        let opened =
            Scheduler::observe(Options::new(agent.clone()), ledger, SystemClock, Elsewhere)?;
        let opened = Arc::new(Mutex::new(opened));
        Ok(Arc::clone(locked(&self.resident).entry(agent.clone()).or_insert(opened)))
    }

    /// Refuses an agent that the store does not have: to open it would begin its ledger.
    fn require(&self, agent: &AgentId) -> Result<(), Problem> {
        match self.agents()?.contains(agent) {
            true => Ok(()),
            false => Err(Problem::no_agent(agent.as_str())),
        }
    }
}

/// Proposes a fact. If another writer was first, what it appended is read, and the fact is proposed
/// again.
pub(crate) fn said<P: Provider>(
    scheduler: &mut Scheduler<SqliteLedger, SystemClock, P>,
    fact: &str,
) -> Result<Receipt, SchedulerError> {
    loop {
        match scheduler.propose(fact) {
            Err(SchedulerError::Ledger(LedgerError::Conflict { .. }))
                if scheduler.catch_up()? > 0 => {}
            said => return said,
        }
    }
}

/// A panic of another request leaves what is locked as it was: each call is whole or nothing.
fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
