//! The place of a running agent: a file, or a store in PostgreSQL, of which this process becomes a
//! worker.

use std::{collections::BTreeSet, sync::Arc, thread, time::Duration};

use wakeful_core::{id::AgentId, time::Timestamp};
use wakeful_host::ledger::{Patience, PostgresStore, SqliteFile, Store, WorkerOptions};

use super::super::{CliError, ledger::Place};

/// The time between two looks at the lease, which costs nothing.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_millis(50);

/// A place whose agents this process may drive. When it is dropped, also after a failure, those of
/// a store are due at once, and nobody waits for the lease.
pub(super) struct Joined(pub(super) Store);

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(worker) = self.0.worker() {
            // If it cannot leave, its agents are claimed after its lease.
            drop(worker.clone().leave());
        }
    }
}

/// Opens the place of an agent for its driver. `patience` is how long a file is waited for.
pub(super) fn join(place: &Place, patience: Arc<dyn Patience>) -> Result<Joined, CliError> {
    match place {
        Place::File(path) => Ok(Joined(SqliteFile::open_patiently(path, patience)?.into())),
        Place::Store(address) => {
            // It drives the agent that was named, and claims no other.
            let options = WorkerOptions { kinds: BTreeSet::new(), ..WorkerOptions::default() };
            Ok(Joined(Store::Postgres(PostgresStore::open(address)?).join(&options)?))
        }
        Place::Server(_) => Err(CliError::NoPlace),
    }
}

/// Calls `lost` as soon as another worker may have the agent.
#[cfg(target_os = "linux")]
pub(super) fn guard(store: &Store, lost: impl Fn() + Send + 'static) {
    let Some(worker) = store.worker().cloned() else { return };
    let id = worker.id();
    thread::spawn(move || {
        while worker.is_sure() && worker.id() == id {
            thread::sleep(LOOK);
        }
        lost();
    });
}

/// Gives the agents of a store back that came to rest. The one that was named is due at `due`; a
/// child is driven by its parent.
pub(super) fn give_back(store: &Store, named: &AgentId, due: Option<Timestamp>) {
    let Some(worker) = store.worker() else { return };
    for agent in worker.waiting() {
        let due = due.filter(|_| agent == *named);
        let Ok(claim) = worker.claim(&agent) else { continue };
        // What is not given back here is due when the worker leaves.
        drop(if claim.is_restart() { claim.hand_over() } else { claim.rest(due) });
    }
}
