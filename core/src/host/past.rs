//! The past of a ledger: the machine at any entry, folded again from the nearest kept state.
//!
//! States are kept at multiples of a grain. The grain is finer near the position that was asked for
//! last. So a move by one entry folds next to nothing, and a jump folds a bounded part of the log.

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

/// The coarsest grain, in entries, of a log that is at most [`COARSE`] times as long.
const GRAIN: u64 = 256;

/// The most states that are kept at the coarsest grain. The grain of a longer log is coarser.
const COARSE: u64 = 64;

/// The decision after an entry, and after the following ones up to the next item of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionFrom {
    /// The first entry after which it holds.
    pub seq: Seq,
    /// The kind of the decision.
    pub decision: DecisionKind,
    /// The rule that fires.
    pub rule: String,
    /// The reason code.
    pub reason: String,
}

/// The kept states of one ledger's past.
#[derive(Default)]
pub struct Past {
    kept: Map<Seq, State>,
}

impl Past {
    /// The machine at an entry, verified from the first entry on.
    ///
    /// # Errors
    /// If there is no such entry, or the ledger cannot be read or is damaged before it.
    pub fn at(
        &mut self,
        options: &Options,
        ledger: &mut impl Ledger,
        asked: Seq,
    ) -> Result<Machine, SchedulerError> {
        self.walk(options, ledger, asked..=asked, |_| ())
    }

    /// The decisions after these entries, each at the entry's instant and the loop's next boundary.
    /// The list has the first entry, and every entry after which kind, rule or reason change. If an
    /// edition is given, the decisions are made as if it were set.
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

    /// Folds these entries once each, and shows the machine after each. Returns the machine after
    /// the last one.
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
        // Distances count from the last entry, because the next question is likely near it.
        let is_kept = |seq: Seq| seq.0.is_multiple_of(grain(seq.0.abs_diff(last.0), coarsest));
        // Before the next line forgets states that are too fine now.
        let mut machine = match self.kept.at_or_before(&first) {
            Some((_, state)) => Machine::standing(options.clone(), state.copied()),
            None => Machine::new(options.clone()),
        };
        self.kept.retain(|seq, _| is_kept(*seq));
        // Then no entry that is still to be read leads to `first`.
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

/// Reads the entries after `after` up to `last`, a page at a time.
///
/// # Errors
/// If the ledger cannot be read or ends before `last`, or if `take` fails.
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
        // A ledger that gives more than it was asked for must not lead past `last`.
        for bytes in page.iter().take(wanted as usize) {
            take(bytes)?;
            reached = Seq(reached.0 + 1);
        }
    }
    Ok(())
}

/// The grain at this distance from the entry that was asked for: about half the distance, up to the
/// coarsest.
fn grain(distance: u64, coarsest: u64) -> u64 {
    let power = distance.checked_ilog2().unwrap_or_default();
    (1 << power.saturating_sub(1)).min(coarsest)
}
