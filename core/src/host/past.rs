//! The past of a ledger: the machine as it stood at any entry, folded again from the nearest state
//! that is kept.
//!
//! States are kept at positions that are multiples of a grain, and the grain is finer the nearer
//! the position is to the one asked for last. So to go on or back by one entry folds next to
//! nothing, and to jump anywhere folds a bounded part of the log.

use alloc::{string::String, vec::Vec};
use core::ops::RangeInclusive;

use serde::Serialize;

use crate::{
    host::{SchedulerError, imports::Ledger, opening::PAGE},
    id::Seq,
    machine::{Machine, Options},
    record::{decision::DecisionKind, edition::Edition, entry::EntryBytes},
    state::State,
};
use wakeful_json::Map;

/// The coarsest grain of a log that is shorter than its square.
const GRAIN: u64 = 256;

/// How many states at most are kept at the coarsest grain; a longer log has a coarser one.
const COARSE: u64 = 64;

/// What would be decided after an entry, and after those that follow it, up to the next of its
/// list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionFrom {
    /// The entry.
    pub seq: Seq,
    /// What would be decided.
    pub decision: DecisionKind,
    /// The rule that fires.
    pub rule: String,
    /// Why, as one code.
    pub reason: String,
}

/// The states that are kept of one ledger's past.
#[derive(Default)]
pub struct Past {
    kept: Map<Seq, State>,
}

impl Past {
    /// The machine as it stood at an entry, verified from the first entry on.
    ///
    /// # Errors
    /// Where there is no such entry, or the ledger cannot be read or is damaged before it.
    pub fn at(
        &mut self,
        options: &Options,
        ledger: &mut impl Ledger,
        asked: Seq,
    ) -> Result<Machine, SchedulerError> {
        self.walk(options, ledger, asked..=asked, |_| ())
    }

    /// What would be decided after each of these entries, at its instant and at the boundary at
    /// which a loop would take its next step: the entries after which kind, rule or reason are
    /// others than after the one before, and the first. With an edition, as if it were set.
    ///
    /// # Errors
    /// As [`Past::at`].
    pub fn decisions_in(
        &mut self,
        options: &Options,
        ledger: &mut impl Ledger,
        entries: RangeInclusive<Seq>,
        edition: Option<Edition>,
    ) -> Result<Vec<DecisionFrom>, SchedulerError> {
        let mut decisions: Vec<DecisionFrom> = Vec::new();
        if entries.is_empty() {
            return Ok(decisions);
        }
        self.walk(options, ledger, entries, |machine| {
            let found = machine.decision_under(edition);
            let found = DecisionFrom {
                seq: machine.head().seq,
                decision: found.kind,
                rule: found.rule,
                reason: found.reason,
            };
            if decisions.last().is_none_or(|last| {
                (last.decision, &last.rule, &last.reason)
                    != (found.decision, &found.rule, &found.reason)
            }) {
                decisions.push(found);
            }
        })?;
        Ok(decisions)
    }

    /// Goes through these entries, each folded once, and shows the machine after each; gives it as
    /// it stands after the last.
    fn walk(
        &mut self,
        options: &Options,
        ledger: &mut impl Ledger,
        entries: RangeInclusive<Seq>,
        mut show: impl FnMut(&mut Machine),
    ) -> Result<Machine, SchedulerError> {
        let (first, last) = entries.into_inner();
        let mut coarsest = GRAIN;
        while last.0 / coarsest > COARSE {
            coarsest *= 2;
        }
        let is_kept = |seq: Seq| seq.0.is_multiple_of(grain(seq.0.abs_diff(last.0), coarsest));
        let mut machine = match self.kept.at_or_before(&first) {
            Some((_, state)) => Machine::standing(options.clone(), state.copied()),
            None => Machine::new(options.clone()),
        };
        self.kept.retain(|seq, _| is_kept(*seq));
        if machine.head().seq == first {
            show(&mut machine);
        }
        each_entry(ledger, machine.head().seq, last, |bytes| {
            machine.load(bytes)?;
            let seq = machine.head().seq;
            if is_kept(seq) {
                self.kept.insert(seq, machine.state().copied());
            }
            if seq >= first {
                show(&mut machine);
            }
            Ok(())
        })?;
        Ok(machine)
    }
}

/// Reads the entries after one up to another, a page at a time.
///
/// # Errors
/// Where the ledger cannot be read, or ends before; and whatever `take` says.
pub(crate) fn each_entry(
    ledger: &mut impl Ledger,
    after: Seq,
    last: Seq,
    mut take: impl FnMut(&EntryBytes) -> Result<(), SchedulerError>,
) -> Result<(), SchedulerError> {
    let mut reached = after;
    while reached < last {
        let wanted = (last.0 - reached.0).min(u64::from(PAGE)) as u32;
        let page = ledger.read(reached, wanted)?;
        if page.is_empty() {
            return Err(SchedulerError::NoSuchEntry { asked: last, ends: reached });
        }
        for bytes in page.iter().take(wanted as usize) {
            take(bytes)?;
            reached = Seq(reached.0 + 1);
        }
    }
    Ok(())
}

/// At which multiples states are kept that are so far away from the entry asked for.
fn grain(distance: u64, coarsest: u64) -> u64 {
    let power = distance.checked_ilog2().unwrap_or_default();
    (1 << power.saturating_sub(1)).min(coarsest)
}
