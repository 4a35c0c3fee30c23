//! The invariants of contract 14, as one list: each a function over a state, the batch that was
//! appended to it, and the state after.
//!
//! Tests run them after every step; a doctor runs them over a whole ledger, a model checker over
//! every state that it reaches. What other runtimes wrote keeps to no rule but the fold's (contract
//! 2.4), so what is said about records is said about those of a driver.

mod decisions;
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
    /// Its number in contract 14.
    pub id: &'static str,
    /// What is wrong, in a sentence.
    pub says: String,
    /// The entry that breaks it, where one does.
    pub seq: Option<Seq>,
}

/// One invariant.
#[derive(Clone, Copy, Debug)]
pub struct Invariant {
    /// Its number in contract 14.
    pub id: &'static str,
    /// What holds, in a sentence.
    pub says: &'static str,
    /// Checks it.
    pub check: Check,
}

/// What a check takes: the state before, the batch, the state after.
pub type Check = fn(&State, &[Entry], &State) -> Result<(), Breach>;

macro_rules! invariants {
    ($($id:literal $module:ident::$function:ident $says:literal)*) => {
        /// All of them, in order.
        pub const ALL: &[Invariant] = &[$(Invariant { id: $id, says: $says, check: $module::$function }),*];
    };
}

invariants! {
    "I1" lifecycle::i01 "while stopped or closing nothing is dequeued, ticked or started"
    "I2" lifecycle::i02 "at most one run is open, and a run id names no other"
    "I3" records::i03 "a terminal status absorbs: nothing is recorded against one"
    "I4" records::i04 "a terminal task is never active"
    "I5" records::i05 "a task's end is recorded before its result"
    "I6" records::i06 "a completed item is never runnable or current"
    "I7" records::i07 "the focus changes only by pick, completion or clear"
    "I8" decisions::i08 "an item that needs input is not offered to the model"
    "I9" decisions::i09 "a key gives one tick"
    "I10" decisions::i10 "a pending wake hint goes before the ticks of work"
    "I11" waits::i11 "a mismatched trigger ends no wait and leaves a record"
    "I12" waits::i12 "a wait is consumed at most once"
    "I13" waits::i13 "no trigger ends a wait for the operator"
    "I14" records::i14 "a turn-end commit stands with the terminal of its run"
    "I15" history::i15 "compaction changes nothing that is decided on"
    "I16" history::i16 "the state is the fold of the entries"
    "I17" decisions::i17 "a recorded decision is the ladder's, and the ladder answers alike twice"
    "I18" records::i18 "a message is queued when it is recorded, and is not lost before its terminal status"
    "I19" decisions::i19 "a rest is recorded only with no enabled obligation"
    "I20" lifecycle::i20 "a tool call is recorded in the run that made it, never by a restart"
    "I21" history::i21 "what was not appended changes nothing"
    "I22" decisions::i22 "the evidence of a decision names entries before it"
    "I23" history::i23 "the same records give the same bytes and the same chain"
    "I24" history::i24 "what has ended leaves the state that is decided on"
    "I25" lifecycle::i25 "a restart after any entry keeps every obligation"
}

/// Every invariant that this step breaks.
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

/// Asks each entry of a batch that a driver recorded, with the state that it met.
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
        // A copy of the state is dear, and no entry meets what the last one makes.
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
