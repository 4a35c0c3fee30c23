//! Archiving: moves the beginning of a ledger into another file. Everything before the newest
//! snapshot moves, and the rest begins with that snapshot (contract 3.5).
//!
//! From then on the snapshot replaces the entries that it was folded from. So nothing moves until
//! the whole ledger has been read and the snapshot equals the state that the log gives. A later
//! version of the program ignores the snapshot and reads the archive file that the ledger names.
//!
//! In a store the beginning moves into another table, from which it is read as before.

use std::path::Path;

use serde::Serialize;
use wakeful_core::{AgentId, Head, Ledger, LedgerError, Options, SchedulerError, Seq};
#[cfg(feature = "postgres")]
use wakeful_core::{Snapshot, SnapshotIgnored};

#[cfg(feature = "postgres")]
use crate::ledger::{PostgresError, PostgresStore};
use crate::{
    doctor::{self, Examination, SnapshotFound, Thoroughness},
    driver::{self, DriveError},
    ledger::{Anchor, ArchiveError, SqliteLedger},
};

/// The result of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// The agent that the ledger belongs to.
    pub agent_id: AgentId,
    /// The number of entries moved by this call; 0 if everything before the snapshot was moved
    /// earlier.
    pub moved: u64,
    /// The newest entry in the archive; `None` if nothing was ever moved.
    pub anchor: Option<Head>,
    /// The entry of the snapshot with which the rest begins.
    pub snapshot: Seq,
    /// The number of entries that stay.
    pub left: u64,
}

/// Why nothing was moved. The ledger is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no snapshot for the rest to begin with.
    #[error(
        "the ledger has no snapshot yet (the first is stored at entry 256): store one now with \
         `--before-now`"
    )]
    NoSnapshot,
    /// Another version made the snapshot.
    #[error("{0}: it cannot replace the entries before it; store one now with `--before-now`")]
    OtherVersion(String),
    /// The ledger is damaged, or its snapshot is wrong.
    #[error("{0}: run `wakeful doctor` for details")]
    Unsound(String),
    /// The ledger cannot be read.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Read(#[from] DriveError),
    /// The entries cannot be moved.
    #[error(transparent)]
    Move(#[from] ArchiveError),
    /// The store cannot move them. What it moved is read where it is now.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Store(#[from] PostgresError),
}

impl From<LedgerError> for Refusal {
    fn from(why: LedgerError) -> Self {
        Self::Scheduler(why.into())
    }
}

/// Checks that `to` may become the archive of this ledger, and that earlier archived entries can be
/// read. Creates and stores nothing. Returns where the earlier entries are, if any were moved.
///
/// # Errors
/// If the file cannot be the archive, or the earlier archive cannot be read.
pub fn may_be_archive(ledger: &mut SqliteLedger, to: &Path) -> Result<Option<Anchor>, Refusal> {
    let before = ledger.anchor()?;
    ledger.may_be_archive(before.as_ref(), to)?;
    // Without the earlier entries nothing shows that the snapshot is right.
    if let Some(anchor) = &before {
        ledger.archive(anchor).map_err(LedgerError::from)?;
    }
    Ok(before)
}

/// Stores a snapshot at the newest entry.
///
/// # Errors
/// If the ledger cannot be read or written.
pub fn store_snapshot(agent: &AgentId, ledger: &mut impl Ledger) -> Result<(), Refusal> {
    let (machine, _) = wakeful_core::open(&Options::new(agent.clone()), ledger)?;
    Ok(ledger.store_snapshot(&machine.head(), &|| machine.snapshot())?)
}

/// Moves everything before the newest snapshot into the archive, batch by batch. Calls `done` for
/// each entry that is read, then for each entry that is copied.
///
/// # Errors
/// If the ledger is damaged, or its snapshot differs from the log. If the archive holds other
/// entries of the agent, or one of the files cannot be used.
pub fn archive(
    agent: &AgentId,
    ledger: &mut SqliteLedger,
    to: &Path,
    mut done: impl FnMut(Seq),
) -> Result<Archived, Refusal> {
    // Before the long examination, and before anything is created or stored.
    let before = may_be_archive(ledger, to)?;
    let snapshot = sound(doctor::examine(agent, ledger, Thoroughness::Spread, &mut done)?)?;
    // A batch is appended whole, so the cut falls before the batch that holds the snapshot's entry.
    let batch = ledger
        .read_with_batches(Seq(snapshot.0 - 1), 1)?
        .first()
        .map_or(snapshot, |(_, batch)| *batch);
    let anchor = driver::head_at(ledger, Seq(batch.0 - 1))?;
    let begins = before.as_ref().map_or(Seq(0), |anchor| anchor.head.seq);
    // Everything before the snapshot may have been moved by an earlier call. That is not an error.
    let (moved, anchor) = if anchor.seq > begins {
        (ledger.move_out(anchor, to, &mut done)?, Some(anchor))
    } else {
        (0, before.map(|anchor| anchor.head))
    };
    let end = ledger.head()?.seq;
    Ok(Archived {
        agent_id: agent.clone(),
        moved,
        anchor,
        snapshot,
        left: end.0 - anchor.map_or(0, |anchor| anchor.seq.0),
    })
}

/// Moves everything before the newest snapshot of an agent of a store into the table for old
/// entries, batch by batch. Calls `done` for the entries that are moved. Nothing depends on the
/// snapshot afterwards, so it need not equal the log.
///
/// # Errors
/// If there is no snapshot of this version, or the store cannot be used.
#[cfg(feature = "postgres")]
pub fn archive_in_store(
    agent: &AgentId,
    store: &PostgresStore,
    done: impl FnMut(Seq),
) -> Result<Archived, Refusal> {
    let mut ledger = store.ledger(agent);
    let Some(text) = ledger.load_snapshot()? else { return Err(Refusal::NoSnapshot) };
    let snapshot = match Snapshot::open(&text) {
        Ok(state) => state.head().seq,
        Err(why @ SnapshotIgnored::OtherVersion { .. }) => {
            return Err(Refusal::OtherVersion(why.to_string()));
        }
        Err(why) => return Err(Refusal::Unsound(why.to_string())),
    };
    // A batch is appended whole, so the cut falls before the batch that holds the snapshot's entry.
    let batch = ledger
        .read_with_batches(Seq(snapshot.0.saturating_sub(1)), 1)?
        .first()
        .map_or(snapshot, |(_, batch)| *batch);
    let last = Seq(batch.0.saturating_sub(1));
    let moved = store.archive(agent, last, done)?;
    let anchor = (last.0 > 0).then(|| driver::head_at(&mut ledger, last)).transpose()?;
    let left = ledger.head()?.seq.0 - last.0;
    Ok(Archived { agent_id: agent.clone(), moved, anchor, snapshot, left })
}

/// The entry of the snapshot, if the examination found the ledger and the snapshot sound.
fn sound(found: Examination) -> Result<Seq, Refusal> {
    if let Some(damage) = found.damage {
        return Err(Refusal::Unsound(damage));
    }
    match found.snapshot {
        SnapshotFound::Good { seq } => Ok(seq),
        SnapshotFound::None => Err(Refusal::NoSnapshot),
        SnapshotFound::OtherVersion { why } => Err(Refusal::OtherVersion(why)),
        SnapshotFound::Bad { why } => Err(Refusal::Unsound(why)),
        // The earlier archive is missing, so the snapshot cannot be compared with the entries
        // behind it.
        SnapshotFound::Begins { seq } => Err(Refusal::Unsound(format!(
            "the snapshot at entry {seq} cannot be checked against the log"
        ))),
    }
}
