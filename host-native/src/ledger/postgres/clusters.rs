//! The clusters of a fleet: stores that share nothing. Each agent lives in one of them.
//!
//! The home of an agent follows from its id and from the names of the stores: of all stores it is
//! the one whose name gives the highest hash with the id (rendezvous hashing). So one more store
//! takes its share from all others, and no agent goes from one of these to another.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use sha2::{Digest, Sha256};
use wakeful_core::{AgentId, Head};

use super::{Fault, PostgresError, PostgresStore, Worker, WorkerOptions};
use crate::token::hex;

/// The kind and the names of what a store keeps of itself.
const KEPT: &str = "store";
const NAME: &str = "name";
const CLUSTERS: &str = "clusters";

/// The stores of a fleet, of each of which this process is a worker.
#[derive(Clone)]
pub struct Clusters {
    shared: Arc<Shared>,
}

struct Shared {
    workers: Vec<Worker>,
    names: Vec<String>,
    /// The agents that were found to live elsewhere than their ids say: they were moved.
    moved: RwLock<HashMap<AgentId, usize>>,
}

impl fmt::Debug for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.shared.workers).finish()
    }
}

/// One who drives agents of one store only, whatever others its fleet has.
impl From<Worker> for Clusters {
    fn from(worker: Worker) -> Self {
        let (workers, names) = (vec![worker], vec![String::new()]);
        Self { shared: Arc::new(Shared { workers, names, moved: RwLock::default() }) }
    }
}

impl PostgresStore {
    /// The name of the store, which it keeps when its servers change. The first one who asks gives
    /// it.
    ///
    /// # Errors
    /// If the store cannot be used, or the system gives no random bytes.
    pub fn name(&self) -> Result<String, PostgresError> {
        if let Some(name) = self.kept_one(KEPT, NAME)? {
            return Ok(name);
        }
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|why| {
            let doing = "name the store";
            PostgresError::new(self.address(), Fault::Refused { doing, why: why.to_string() })
        })?;
        self.keep_first(KEPT, NAME, &hex(&bytes))
    }
}

/// Which of the stores with these names an agent lives in, by its id.
///
/// # Panics
/// If there is no store.
#[must_use]
pub fn home(agent: &AgentId, names: &[String]) -> usize {
    let weight = |name: &String| {
        Sha256::new().chain_update(name).chain_update([0]).chain_update(agent.as_str()).finalize()
    };
    let heaviest = names.iter().enumerate().max_by_key(|(_, name)| weight(name));
    heaviest.map_or_else(|| unreachable!("there is a store"), |(at, _)| at)
}

impl Clusters {
    /// Joins the workers of each store. There is at least one.
    ///
    /// # Errors
    /// If one of them cannot be written or is named twice, or if living workers of one have another
    /// list of stores: they would look for an agent elsewhere, and make it twice.
    pub fn join(stores: &[PostgresStore], options: &WorkerOptions) -> Result<Self, PostgresError> {
        let names: Vec<_> = stores.iter().map(PostgresStore::name).collect::<Result<_, _>>()?;
        let mut sorted = names.clone();
        sorted.sort_unstable();
        for (store, name) in stores.iter().zip(&names) {
            if names.iter().filter(|it| *it == name).count() > 1 {
                return Err(PostgresError::new(store.address(), Fault::SameStore));
            }
            let list = sorted.join(" ");
            let has_others = store.workers()?.iter().any(|worker| worker.lives);
            match store.kept_one(KEPT, CLUSTERS)? {
                Some(kept) if kept != list && has_others => {
                    let fault = Fault::OtherClusters { stores: kept.split(' ').count() };
                    return Err(PostgresError::new(store.address(), fault));
                }
                _ => store.keep(KEPT, CLUSTERS, &list)?,
            }
        }
        let workers: Result<_, _> = stores.iter().map(|store| store.join(options)).collect();
        let shared = Shared { workers: workers?, names, moved: RwLock::default() };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// This process in each of the stores, in the order in which they were named.
    #[must_use]
    pub fn workers(&self) -> &[Worker] {
        &self.shared.workers
    }

    /// This process in the store in which an agent lives, as far as is known.
    #[must_use]
    pub fn of(&self, agent: &AgentId) -> &Worker {
        &self.shared.workers[self.at(agent)]
    }

    /// The place in the list of the store in which an agent lives, as far as is known.
    #[must_use]
    pub fn at(&self, agent: &AgentId) -> usize {
        if self.shared.workers.len() == 1 {
            return 0;
        }
        let moved = self.shared.moved.read().unwrap_or_else(PoisonError::into_inner);
        moved.get(agent).copied().unwrap_or_else(|| home(agent, &self.shared.names))
    }

    /// An agent was found to live in the store at this place of the list.
    pub fn lives_at(&self, agent: &AgentId, at: usize) {
        if self.at(agent) == at {
            return;
        }
        let mut moved = self.shared.moved.write().unwrap_or_else(PoisonError::into_inner);
        match home(agent, &self.shared.names) == at {
            true => drop(moved.remove(agent)),
            false => drop(moved.insert(agent.clone(), at)),
        }
    }

    /// The newest entries of those of these agents that have entries. Each store is asked for those
    /// that were not found where they should be.
    ///
    /// # Errors
    /// If a store cannot be read.
    pub fn heads_of(&self, agents: &[AgentId]) -> Result<Vec<(AgentId, Head)>, PostgresError> {
        let workers = self.workers();
        if let [only] = workers {
            return only.store().heads_of(agents);
        }
        let mut found = Vec::new();
        for (at, worker) in workers.iter().enumerate() {
            let here: Vec<_> = agents.iter().filter(|it| self.at(it) == at).cloned().collect();
            found.extend(living(worker, &here)?);
        }
        for (at, worker) in workers.iter().enumerate() {
            let is_new = |agent: &&AgentId| found.iter().all(|(known, _)| known != *agent);
            let left: Vec<_> = agents.iter().filter(is_new).cloned().collect();
            for (agent, head) in living(worker, &left)? {
                self.lives_at(&agent, at);
                found.push((agent, head));
            }
        }
        Ok(found)
    }
}

fn living(worker: &Worker, agents: &[AgentId]) -> Result<Vec<(AgentId, Head)>, PostgresError> {
    if agents.is_empty() { Ok(Vec::new()) } else { worker.store().living_heads_of(agents) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_store_takes_its_share_and_moves_nobody_else() {
        let three: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let four = [three.clone(), vec!["d".to_owned()]].concat();
        let agents = (0..4_000).map(|number| AgentId::from(format!("agent-{number}")));
        let mut taken = 0;
        let mut counts = [0; 3];
        for agent in agents {
            let (before, after) = (home(&agent, &three), home(&agent, &four));
            counts[before] += 1;
            assert!(after == before || after == 3, "{agent}: from {before} to {after}");
            taken += u32::from(after == 3);
        }
        assert!((900..1_100).contains(&taken), "{taken} of 4000");
        assert!(counts.iter().all(|count| (1_200..1_470).contains(count)), "{counts:?}");
    }
}
