//! The past of a ledger: the machine at any entry, folded again from the nearest kept state.
//!
//! States are kept at multiples of a grain. The grain is finer near the position that was asked for
//! last. So a move by one entry folds next to nothing, and a jump folds a bounded part of the log.
//! The machine of the last answer goes on by itself, because a copy of a long life's state takes as
//! long as hundreds of entries.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::ops::RangeInclusive;

use serde::Serialize;

use crate::{
    explain::{Oddity, oddity::Watch},
    host::{SchedulerError, imports::Ledger, opening::PAGE},
    id::Seq,
    machine::{Machine, OpenError, Options},
    record::{
        decision::DecisionKind,
        edition::Edition,
        entry::{Entry, EntryBytes},
    },
    state::State,
};
use wakeful_json::Map;

/// The coarsest grain, in entries, of a log that is at most [`COARSE`] times as long.
const GRAIN: u64 = 256;

/// The finest grain, in entries.
const FINEST: u64 = 16;

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

/// What happened in a part of a ledger's past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct History {
    /// The decision after the first entry, and each later one that differs from the one before.
    pub decisions: Vec<DecisionFrom>,
    /// What is odd. A burst that began in an earlier part is here again, with its first entry.
    pub oddities: Vec<Oddity>,
}

/// The kept states of one ledger's past.
#[derive(Default)]
pub struct Past {
    kept: Map<Seq, State>,
    /// The entry that was asked for last. The next question is likely near it.
    near: Seq,
    /// The machine of the last answer.
    asked: Option<Machine>,
    /// The machines after the last entries of the newest histories: of the ledger's own edition,
    /// and of a supposed one. A comparison of both asks in turns.
    stands: [Option<Machine>; 2],
    /// The watch of the ledger's own history.
    watch: Option<Box<Watch>>,
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
    ) -> Result<&Machine, SchedulerError> {
        self.near = asked;
        let kept = self.kept.at_or_before(&asked).map_or(Seq::default(), |(seq, _)| *seq);
        let last = self.asked.take();
        let goes_on = last.filter(|machine| (kept..=asked).contains(&machine.head().seq));
        let machine = goes_on.unwrap_or_else(|| self.nearest(options, asked));
        let machine = self.walk(machine, ledger, asked..=asked, &mut Nobody)?;
        Ok(self.asked.insert(machine))
    }

    /// The decisions after these entries, each at the entry's instant and the loop's next boundary;
    /// and what is odd in these entries.
    ///
    /// The decisions have the first entry, and every entry after which kind, rule or reason change.
    /// If an edition is given, they are made as if it were set. Then nothing is odd, because the
    /// history is another one's.
    ///
    /// # Errors
    /// As [`Past::at`].
    pub fn history(
        &mut self,
        options: &Options,
        ledger: &mut impl Ledger,
        entries: RangeInclusive<Seq>,
        edition: Option<Edition>,
    ) -> Result<History, SchedulerError> {
        if entries.is_empty() {
            return Ok(History::default());
        }
        // A call that continues the previous one goes on with its machine and its watch. Nothing is
        // copied then, so that the parts of a long history cost what their entries cost.
        let before = Seq(entries.start().0.saturating_sub(1));
        let which = usize::from(edition.is_some());
        let stood = self.stands[which].take().filter(|machine| machine.head().seq == before);
        let mut watch = None;
        if edition.is_none() {
            let kept = self.watch.take().filter(|_| stood.is_some());
            watch = Some(kept.unwrap_or_default());
        }
        let machine = stood.unwrap_or_else(|| self.nearest(options, before));
        let mut pass = Pass { decisions: Vec::new(), edition, watch };
        self.stands[which] = Some(self.walk(machine, ledger, entries, &mut pass)?);
        let oddities = pass.watch.as_mut().map_or_else(Vec::new, |watch| watch.take());
        if pass.watch.is_some() {
            self.watch = pass.watch;
        }
        Ok(History { decisions: pass.decisions, oddities })
    }

    /// A machine with the nearest kept state at or before an entry.
    fn nearest(&self, options: &Options, asked: Seq) -> Machine {
        match self.kept.at_or_before(&asked) {
            Some((_, state)) => Machine::standing(options.clone(), state.copied()),
            None => Machine::new(options.clone()),
        }
    }

    /// Folds the entries after this machine up to the last one, and shows these to a visitor.
    /// Returns the machine after the last one.
    fn walk(
        &mut self,
        mut machine: Machine,
        ledger: &mut impl Ledger,
        entries: RangeInclusive<Seq>,
        visitor: &mut impl Visitor,
    ) -> Result<Machine, SchedulerError> {
        let (first, last) = entries.into_inner();
        let mut coarsest = GRAIN;
        while last.0 / coarsest > COARSE {
            coarsest *= 2;
        }
        let near = self.near;
        let is_kept = |seq: Seq| seq.0.is_multiple_of(grain(seq.0.abs_diff(near.0), coarsest));
        self.kept.retain(|seq, _| is_kept(*seq));
        each_entry(ledger, machine.head().seq, last, |bytes| {
            let entry = bytes.open(&machine.head()).map_err(OpenError::from)?;
            if entry.seq >= first {
                visitor.before(machine.state(), &entry);
            }
            machine.take(&entry)?;
            if is_kept(entry.seq) {
                self.kept.insert(entry.seq, machine.state().copied());
            }
            if entry.seq >= first {
                visitor.after(machine.state(), &entry);
                visitor.stands(&machine);
            }
            Ok(())
        })?;
        Ok(machine)
    }
}

/// What sees entries while they are folded.
trait Visitor {
    /// Sees an entry and the state before it.
    fn before(&mut self, _state: &State, _entry: &Entry) {}
    /// Sees an entry and the state after it.
    fn after(&mut self, _state: &State, _entry: &Entry) {}
    /// Sees the machine after an entry.
    fn stands(&mut self, machine: &Machine);
}

/// Sees nothing: only the machine at the end counts.
struct Nobody;

impl Visitor for Nobody {
    fn stands(&mut self, _machine: &Machine) {}
}

/// One pass over a part of the past.
struct Pass {
    decisions: Vec<DecisionFrom>,
    edition: Option<Edition>,
    /// `None` under another edition.
    watch: Option<Box<Watch>>,
}

impl Visitor for Pass {
    fn before(&mut self, state: &State, entry: &Entry) {
        if let Some(watch) = &mut self.watch {
            watch.before(state, entry);
        }
    }

    fn after(&mut self, state: &State, entry: &Entry) {
        if let Some(watch) = &mut self.watch {
            watch.after(state, entry);
        }
    }

    fn stands(&mut self, machine: &Machine) {
        let found = machine.decision_under(self.edition);
        let is_news = self.decisions.last().is_none_or(|last| {
            (last.decision, &last.rule, &last.reason) != (found.kind, &found.rule, &found.reason)
        });
        if is_news {
            self.decisions.push(DecisionFrom {
                seq: machine.head().seq,
                decision: found.kind,
                rule: found.rule,
                reason: found.reason,
            });
        }
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

/// The grain at this distance from the entry that was asked for: about half the distance, between
/// the finest and the coarsest.
fn grain(distance: u64, coarsest: u64) -> u64 {
    let power = distance.checked_ilog2().unwrap_or_default();
    (1 << power.saturating_sub(1)).clamp(FINEST, coarsest)
}
