//! The past of a ledger: the machine as it stood at any entry, folded again from the nearest state that is kept.
//!
//! States are kept at positions that are multiples of a grain, and the grain is finer the nearer the position is to the one asked for last.
//! So to go on or back by one entry folds next to nothing, and to jump anywhere folds a bounded part of the log.

use alloc::collections::BTreeMap;

use crate::{
    host::{Ledger, SchedulerError},
    id::Seq,
    machine::{Machine, Options},
    opening::PAGE,
    state::State,
};

/// The coarsest grain of a log that is shorter than its square.
const GRAIN: u64 = 256;

/// How many states at most are kept at the coarsest grain; a longer log has a coarser one.
const COARSE: u64 = 64;

/// The states that are kept of one ledger's past.
#[derive(Default)]
pub(crate) struct Past {
    kept: BTreeMap<Seq, State>,
}

impl Past {
    /// The machine as it stood at an entry, verified from the first entry on.
    ///
    /// # Errors
    /// Where there is no such entry, or the ledger cannot be read or is damaged before it.
    pub(crate) fn at(&mut self, options: &Options, ledger: &mut impl Ledger, asked: Seq) -> Result<Machine, SchedulerError> {
        let mut machine = match self.kept.range(..=asked).next_back() {
            Some((_, state)) => Machine::standing(options.clone(), state.clone()),
            None => Machine::new(options.clone()),
        };
        let mut coarsest = GRAIN;
        while asked.0 / coarsest > COARSE {
            coarsest *= 2;
        }
        let is_kept = |seq: Seq| seq.0.is_multiple_of(grain(seq.0.abs_diff(asked.0), coarsest));
        self.kept.retain(|seq, _| is_kept(*seq));
        while machine.head().seq < asked {
            let reached = machine.head().seq;
            let wanted = (asked.0 - reached.0).min(u64::from(PAGE)) as u32;
            let page = ledger.read(reached, wanted)?;
            if page.is_empty() {
                return Err(SchedulerError::NoSuchEntry { asked, ends: reached });
            }
            for bytes in page.iter().take(wanted as usize) {
                machine.load(bytes)?;
                if is_kept(machine.head().seq) {
                    self.kept.insert(machine.head().seq, machine.state().clone());
                }
            }
        }
        Ok(machine)
    }
}

/// At which multiples states are kept that are so far away from the entry asked for.
fn grain(distance: u64, coarsest: u64) -> u64 {
    let power = distance.checked_ilog2().unwrap_or_default();
    (1 << power.saturating_sub(1)).min(coarsest)
}
