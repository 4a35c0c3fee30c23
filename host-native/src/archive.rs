//! Moving the beginning of a ledger out: what is before its newest snapshot goes into another file,
//! and the rest begins with the snapshot (contract 3.5).
//!
//! From then on the snapshot stands for what it was folded from. So nothing moves before the whole
//! ledger was read, and the snapshot found to say what the log says. A later version of the program
//! does not use it and reads the archive, where the ledger names it.

use std::path::Path;

use serde::Serialize;
use wakeful_core::{AgentId, Head, Ledger, LedgerError, Options, SchedulerError, Seq};

use crate::{
    doctor::{self, Examination, SnapshotFound, Thoroughness},
    driver::{self, DriveError},
    ledger::{Anchor, ArchiveError, SqliteLedger},
};

/// What was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// Whose ledger it is.
    pub agent_id: AgentId,
    /// How many entries were moved now; none where all that can be was moved before.
    pub moved: u64,
    /// The newest entry in the archive; none where nothing was ever moved.
    pub anchor: Option<Head>,
    /// Where the snapshot stands with which the rest begins.
    pub snapshot: Seq,
    /// How many entries stay.
    pub left: u64,
}

/// Why nothing was moved. The ledger is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Nothing to begin the rest with.
    #[error(
        "the ledger has no snapshot yet, the first comes with entry 256: store one now \
         (--before-now)"
    )]
    NoSnapshot,
    /// The snapshot is another version's.
    #[error(
        "{0}: nothing would say what the entries before it add up to; store one now (--before-now)"
    )]
    OtherVersion(String),
    /// Something is wrong with the ledger.
    #[error("{0}: `wakeful doctor` says more")]
    Unsound(String),
    /// The ledger cannot be read.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Read(#[from] DriveError),
    /// It cannot be moved.
    #[error(transparent)]
    Move(#[from] ArchiveError),
}

impl From<LedgerError> for Refusal {
    fn from(why: LedgerError) -> Self {
        Self::Scheduler(why.into())
    }
}

/// Whether this file may get the beginning of the ledger, and what was moved before is there;
/// before anything is made or stored. Says where it is.
///
/// # Errors
/// Why not.
pub fn may_be_archive(ledger: &mut SqliteLedger, to: &Path) -> Result<Option<Anchor>, Refusal> {
    let before = ledger.anchor()?;
    ledger.may_be_archive(before.as_ref(), to)?;
    if let Some(anchor) = &before {
        ledger.archive(anchor).map_err(LedgerError::from)?;
    }
    Ok(before)
}

/// Stores a snapshot at the newest entry.
///
/// # Errors
/// Where the ledger cannot be read or written.
pub fn store_snapshot(agent: &AgentId, ledger: &mut SqliteLedger) -> Result<(), Refusal> {
    let (machine, _) = wakeful_core::open(&Options::new(agent.clone()), ledger)?;
    Ok(ledger.store_snapshot(&machine.head(), &|| machine.snapshot())?)
}

/// Moves what is before the newest snapshot into the archive, batch for batch. Tells of each entry
/// that is read, then of each that is copied.
///
/// # Errors
/// Where the ledger is not whole or has no snapshot that says what the log says, the archive has
/// something else of the agent, or one of the files cannot be used.
pub fn archive(
    agent: &AgentId,
    ledger: &mut SqliteLedger,
    to: &Path,
    mut done: impl FnMut(Seq),
) -> Result<Archived, Refusal> {
    let before = may_be_archive(ledger, to)?;
    let snapshot = sound(doctor::examine(agent, ledger, Thoroughness::Spread, &mut done)?)?;
    // The batch in which the snapshot stands stays whole.
    let batch = ledger
        .read_with_batches(Seq(snapshot.0 - 1), 1)?
        .first()
        .map_or(snapshot, |(_, batch)| *batch);
    let anchor = driver::head_at(ledger, Seq(batch.0 - 1))?;
    let begins = before.as_ref().map_or(Seq(0), |anchor| anchor.head.seq);
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

/// Where the snapshot stands, which says what the log says.
fn sound(found: Examination) -> Result<Seq, Refusal> {
    if let Some(damage) = found.damage {
        return Err(Refusal::Unsound(damage));
    }
    match found.snapshot {
        SnapshotFound::Good { seq } => Ok(seq),
        SnapshotFound::None => Err(Refusal::NoSnapshot),
        SnapshotFound::OtherVersion { why } => Err(Refusal::OtherVersion(why)),
        SnapshotFound::Bad { why } => Err(Refusal::Unsound(why)),
        SnapshotFound::Begins { seq } => {
            Err(Refusal::Unsound(format!("nothing proves the snapshot at entry {seq}")))
        }
    }
}
