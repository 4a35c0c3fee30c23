//! Opening a stored ledger: from its snapshot and the entries after it if the snapshot can be used,
//! else from the first entry (contract 3.5).

use alloc::{boxed::Box, string::ToString};

use crate::{
    host::{SchedulerError, imports::Ledger},
    id::Seq,
    machine::{Machine, OpenError, Options},
    state::snapshot::SnapshotIgnored,
};

/// The most entries that are read at once. A body may have 256 KiB, so a page of a store that does
/// not end its pages early has 32 MiB: it fits into a guest, and below the limits of its host.
pub(crate) const PAGE: u32 = 128;

/// How a ledger was opened, for hosts that show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opening {
    /// The position of the snapshot that was used; `None` if the whole log was folded.
    pub snapshot: Option<Seq>,
    /// Why the newest snapshot was not used, if there was one.
    pub ignored: Option<SnapshotIgnored>,
    /// The number of entries that were read and verified.
    pub verified: u64,
    /// The length of the snapshot that was used; 0 without one.
    pub(super) snapshot_bytes: usize,
}

/// The machine of a ledger, and how it was opened. Appends nothing, not even the first entry, so
/// readers can use it.
///
/// # Errors
/// If the ledger cannot be read, is damaged, has a newer format, belongs to another agent, or ends
/// before its snapshot.
pub fn open(
    options: &Options,
    ledger: &mut impl Ledger,
) -> Result<(Machine, Opening), SchedulerError> {
    let (mut machine, mut opening) = match resume(options, ledger)? {
        Resumed::At(machine, snapshot_bytes) => {
            let snapshot = Some(machine.head().seq);
            (*machine, Opening { snapshot, snapshot_bytes, ..Opening::default() })
        }
        Resumed::Not(ignored) => {
            (Machine::new(options.clone()), Opening { ignored, ..Opening::default() })
        }
    };
    opening.verified = load_tail(&mut machine, ledger)?;
    Ok((machine, opening))
}

/// Loads the entries after the machine's head, and returns their number.
///
/// # Errors
/// If the ledger cannot be read, is damaged, or has another history than the machine.
pub fn load_tail(machine: &mut Machine, ledger: &mut impl Ledger) -> Result<u64, SchedulerError> {
    let mut loaded = 0;
    loop {
        let page = ledger.read(machine.head().seq, PAGE)?;
        if page.is_empty() {
            return Ok(loaded);
        }
        for bytes in &page {
            machine.load(bytes)?;
            loaded += 1;
        }
    }
}

/// Checks that the ledger still has the machine's newest entry. An empty page after that entry does
/// not show this.
///
/// # Errors
/// If it has not, or cannot be read.
pub(crate) fn require_head(
    machine: &Machine,
    ledger: &mut impl Ledger,
) -> Result<(), SchedulerError> {
    let head = machine.head().seq;
    let Some(before) = head.0.checked_sub(1) else { return Ok(()) };
    let stands = ledger.read(Seq(before), 1)?.first().is_some_and(|entry| machine.stands_at(entry));
    if stands { Ok(()) } else { Err(OpenError::SetBack { head }.into()) }
}

/// The use of the newest snapshot.
enum Resumed {
    /// The machine has the state of the snapshot, whose length in bytes this is.
    At(Box<Machine>, usize),
    /// The snapshot is not used, and why; `None` if there is no snapshot.
    Not(Option<SnapshotIgnored>),
}

fn resume(options: &Options, ledger: &mut impl Ledger) -> Result<Resumed, SchedulerError> {
    let stored = match ledger.load_snapshot() {
        Ok(None) => return Ok(Resumed::Not(None)),
        Ok(Some(stored)) => stored,
        // The log has everything that the snapshot has, so a failure here is not fatal.
        Err(why) => return Ok(Resumed::Not(Some(SnapshotIgnored::Unreadable(why.to_string())))),
    };
    let machine = match Machine::resume(options.clone(), &stored) {
        Ok(machine) => machine,
        Err(why) => return Ok(Resumed::Not(Some(why))),
    };
    let seq = machine.head().seq;
    // `read` gives what comes after a position, so this gives the entry of the snapshot.
    let before = Seq(seq.0.saturating_sub(1));
    match ledger.read(before, 1)?.first() {
        // contract 3.4: the agent has already acted on entries that are gone.
        None => Err(OpenError::HeadBelowSnapshot { snapshot: seq }.into()),
        Some(entry) if machine.stands_at(entry) => Ok(Resumed::At(Box::new(machine), stored.len())),
        Some(_) => Ok(Resumed::Not(Some(SnapshotIgnored::OtherHistory { seq }))),
    }
}
