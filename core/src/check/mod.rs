//! The invariants of contract 14 as one list. Each is a function of a state, the batch that was
//! appended to it, and the state after.
//!
//! Tests run them after every step, the doctor over a whole ledger, and the model checker over
//! every state that it reaches. Records of other runtimes obey only the rules of the fold (contract
//! 2.4), so invariants about records check only the records of a driver.

mod decisions;
mod heard;
mod history;
mod lifecycle;
mod records;
mod waits;

use alloc::{borrow::Cow, string::String, vec::Vec};

use crate::{
    id::Seq,
    record::{self, control::ControlRecord, entry::Entry},
    state::State,
};

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{id} is broken: {says}")]
#[non_exhaustive]
pub struct Breach {
    /// The number of the invariant in contract 14.
    pub id: &'static str,
    /// What is wrong, in a sentence.
    pub says: String,
    /// The entry that breaks it; `None` if no single entry does.
    pub seq: Option<Seq>,
}

/// One invariant.
#[derive(Clone, Copy, Debug)]
pub struct Invariant {
    /// The number in contract 14.
    pub id: &'static str,
    /// What always holds, in a sentence.
    pub says: &'static str,
    /// The function that finds a breach.
    pub check: Check,
}

/// A check of the state before, the batch, and the state after.
pub type Check = fn(&State, &[Entry], &State) -> Result<(), Breach>;

macro_rules! invariants {
    ($($id:literal $module:ident::$function:ident $says:literal)*) => {
        /// The invariants in the order of contract 14.
        pub const ALL: &[Invariant] =
            &[$(Invariant { id: $id, says: $says, check: $module::$function }),*];
    };
}

invariants! {
    "I1" lifecycle::i01 "while stopped or closing, nothing is dequeued, ticked or started"
    "I2" lifecycle::i02 "at most one run is open, and only its id ends it"
    "I3" records::i03 "a terminal status is final: no record contradicts it"
    "I4" records::i04 "a terminal task is never active"
    "I5" records::i05 "a task's end is recorded before its result"
    "I6" records::i06 "a completed item is never runnable or current"
    "I7" records::i07 "the focus changes only by pick, completion or clear"
    "I8" decisions::i08 "an item that needs input is not offered to the model"
    "I9" decisions::i09 "a key gives at most one tick"
    "I10" decisions::i10 "a pending wake hint goes before work ticks"
    "I11" waits::i11 "a mismatched trigger ends no wait and leaves a record"
    "I12" waits::i12 "a wait is consumed at most once"
    "I13" waits::i13 "no trigger ends a wait for the operator"
    "I14" records::i14 "a turn-end commit is in the batch of its run's terminal"
    "I15" history::i15 "compaction changes nothing that a decision reads"
    "I16" history::i16 "the state is the fold of the entries"
    "I17" decisions::i17 "a recorded decision is the ladder's, and the ladder repeats its answer"
    "I18" records::i18 "a recorded message is queued, and stays until its terminal status"
    "I19" decisions::i19 "a rest is recorded only if no obligation is enabled"
    "I20" lifecycle::i20 "a tool call is recorded in the run that made it, never by a restart"
    "I21" history::i21 "nothing changes without an append"
    "I22" decisions::i22 "the evidence of a decision names earlier entries"
    "I23" history::i23 "the same records give the same bytes and the same chain"
    "I24" history::i24 "what has ended leaves the state that decisions read"
    "I25" lifecycle::i25 "a restart after any entry keeps every obligation"
    "I26" heard::i26 "turns that fail three times in a row for one cause have a diagnostic"
    "I27" heard::i27 "a corrected clock makes nothing later than the bad clock did"
}

/// The breaches of this step, at most one per invariant.
#[must_use]
pub fn breaches(before: &State, batch: &[Entry], after: &State) -> Vec<Breach> {
    ALL.iter().filter_map(|invariant| (invariant.check)(before, batch, after).err()).collect()
}

fn hold(
    id: &'static str,
    holds: bool,
    seq: Option<Seq>,
    says: impl FnOnce() -> String,
) -> Result<(), Breach> {
    if holds { Ok(()) } else { Err(Breach { id, says: says(), seq }) }
}

/// Checks each entry of a batch that a driver recorded, with the state before that entry.
fn driven(
    before: &State,
    batch: &[Entry],
    mut ask: impl FnMut(&State, &Entry) -> Result<(), Breach>,
) -> Result<(), Breach> {
    let mut met = Cow::Borrowed(before);
    for (at, entry) in batch.iter().enumerate() {
        if met.control.live_from.is_some() && !is_import(entry) {
            ask(&met, entry)?;
        }
        // Copying the state is expensive, and nothing reads the state after the last entry.
        if at + 1 < batch.len() {
            met.to_mut().apply(entry);
        }
    }
    Ok(())
}

fn is_import(entry: &Entry) -> bool {
    matches!(
        &entry.record,
        record::Record::Control(ControlRecord::Genesis(_) | ControlRecord::AgentImported(_))
    )
}
