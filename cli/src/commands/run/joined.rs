//! The place of a running agent: a file, or a store in PostgreSQL, of which this process becomes a
//! worker.

use std::{collections::BTreeSet, sync::Arc, thread, time::Duration};

use wakeful_core::{id::AgentId, time::Timestamp};
use wakeful_host::ledger::{Patience, PostgresStore, SqliteFile, Store, WorkerOptions};

use super::super::{CliError, ledger::Place};

/// The time between two looks at the lease, which costs nothing.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_millis(50);

/// Opens the place of an agent for its driver. `patience` is how long a file is waited for.
pub(super) fn join(place: &Place, patience: Arc<dyn Patience>) -> Result<Store, CliError> {
    match place {
        Place::File(path) => Ok(SqliteFile::open_patiently(path, patience)?.into()),
        Place::Store(address) => {
            // It drives the agent that was named, and claims no other.
            let options = WorkerOptions { kinds: BTreeSet::new(), ..WorkerOptions::default() };
            Ok(Store::Postgres(PostgresStore::open(address)?).join(&options)?)
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

/// Gives the agents of a store back. The one that was named is due at `due`; a child is driven by
/// its parent. What did not come to rest is due at once.
pub(super) fn leave(store: &Store, named: &AgentId, due: Option<Timestamp>) {
    let Some(worker) = store.worker() else { return };
    for agent in worker.waiting() {
        let due = due.filter(|_| agent == *named);
        let Ok(claim) = worker.claim(&agent) else { continue };
        // What is not given back is due when the worker has left, and if it cannot leave, after
        // its lease.
        drop(if claim.is_restart() { claim.hand_over() } else { claim.rest(due) });
    }
    drop(worker.clone().leave());
}
