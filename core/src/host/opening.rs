//! Opening a stored ledger: from its snapshot and the entries after it where that can be used, else
//! from its first entry (contract 3.5).

use alloc::{boxed::Box, string::ToString};

use crate::{
    host::{SchedulerError, imports::Ledger},
    id::Seq,
    machine::{Machine, OpenError, Options},
    state::snapshot::SnapshotIgnored,
};

/// How many entries are read at once.
pub(crate) const PAGE: u32 = 1024;

/// How a ledger was opened, for hosts that show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opening {
    /// The entry of the snapshot from which it went on; none where the log was folded whole.
    pub snapshot: Option<Seq>,
    /// Why the newest snapshot was not used, where there was one.
    pub ignored: Option<SnapshotIgnored>,
    /// How many entries were read and verified.
    pub verified: u64,
}

/// The machine that a ledger gives, and how it came about. Appends nothing, not even the first
/// entry: for whoever only reads.
///
/// # Errors
/// Where the ledger cannot be read, or is damaged, newer, or another agent's, or ends before its
/// snapshot.
pub fn open(
    options: &Options,
    ledger: &mut impl Ledger,
) -> Result<(Machine, Opening), SchedulerError> {
    let (mut machine, mut opening) = match resume(options, ledger)? {
        Resumed::At(machine) => {
            let snapshot = Some(machine.head().seq);
            (*machine, Opening { snapshot, ..Opening::default() })
        }
        Resumed::Not(ignored) => {
            (Machine::new(options.clone()), Opening { ignored, ..Opening::default() })
        }
    };
    opening.verified = load_tail(&mut machine, ledger)?;
    Ok((machine, opening))
}

/// Loads what the ledger holds after the machine's head; says how many entries that were.
///
/// # Errors
/// Where the ledger cannot be read, is damaged, or is not the history that the machine has seen.
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

/// What became of the newest snapshot.
enum Resumed {
    /// The machine stands where it was made.
    At(Box<Machine>),
    /// It is not used, and why; there is none where nothing is said.
    Not(Option<SnapshotIgnored>),
}

fn resume(options: &Options, ledger: &mut impl Ledger) -> Result<Resumed, SchedulerError> {
    let stored = match ledger.load_snapshot() {
        Ok(None) => return Ok(Resumed::Not(None)),
        Ok(Some(stored)) => stored,
        // The log has all that the snapshot has; whether it can be read is seen next.
        Err(why) => return Ok(Resumed::Not(Some(SnapshotIgnored::Unreadable(why.to_string())))),
    };
    let machine = match Machine::resume(options.clone(), &stored) {
        Ok(machine) => machine,
        Err(why) => return Ok(Resumed::Not(Some(why))),
    };
    let seq = machine.head().seq;
    let before = Seq(seq.0.saturating_sub(1));
    match ledger.read(before, 1)?.first() {
        // contract 3.4: entries are gone on which this agent has already acted.
        None => Err(OpenError::HeadBelowSnapshot { snapshot: seq }.into()),
        Some(entry) if machine.stands_at(entry) => Ok(Resumed::At(Box::new(machine))),
        Some(_) => Ok(Resumed::Not(Some(SnapshotIgnored::OtherHistory { seq }))),
    }
}
