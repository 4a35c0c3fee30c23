//! The doctor: reads a whole ledger and reports what is wrong with it. It repairs nothing and
//! appends nothing.

use std::path::PathBuf;

use serde::Serialize;
use wakeful_core::{
    AgentId, Diagnostic, Entry, EntryBytes, EntryError, EventKind, Head, Ledger, LedgerError,
    Machine, Obligation, OpenError, Options, Record, Seq, Snapshot, SnapshotIgnored, State,
    Timestamp,
};

#[cfg(feature = "postgres")]
use crate::ledger::StoreLedger;
use crate::ledger::{Anchor, SqliteError, SqliteLedger};

/// Entries per read.
const PAGE: u32 = 512;

/// A check looks at the whole state, so checking every batch takes quadratic time. To keep the time
/// linear, the gaps grow with the position. A batch is checked if the entries since the last check
/// are at least a hundredth of all entries before it.
const SPREAD: u64 = 100;

/// The number of newest entries whose batches are all checked, in a ledger of any length.
const NEWEST: u64 = 50;

/// Which batches are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoroughness {
    /// All batches in the first few hundred entries and among the newest, and fewer in between. The
    /// time is linear in the length of the ledger.
    Spread,
    /// Every batch. The time is quadratic in the length of the ledger.
    Each,
}

/// A ledger that the doctor can examine.
pub trait Examined: Ledger {
    /// The newest entry; [`Head::START`] if there is none.
    ///
    /// # Errors
    /// If the place cannot be read.
    fn head(&mut self) -> Result<Head, LedgerError>;

    /// Reads entries as [`Ledger::read`] does, each with the position of the first entry of its
    /// batch (contract 1.1).
    ///
    /// # Errors
    /// If the place cannot be read.
    fn read_with_batches(
        &mut self,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<(EntryBytes, Seq)>, LedgerError>;

    /// The entry after which the ledger begins, if its old entries were moved into an archive file.
    ///
    /// # Errors
    /// If the place cannot be read.
    fn anchor(&mut self) -> Result<Option<Anchor>, LedgerError>;

    /// Why the old entries of an anchor cannot be read; `None` if they can.
    fn missing(&mut self, anchor: &Anchor) -> Option<SqliteError>;

    /// The file or store in which the ledger goes on; `None` if it does so here.
    ///
    /// # Errors
    /// If the place cannot be read.
    fn goes_on_in(&mut self) -> Result<Option<PathBuf>, LedgerError>;

    /// What is stored beside the entries and does not fit them, such as the head that a store keeps
    /// of the agent; `None` if there is nothing.
    ///
    /// # Errors
    /// If the place cannot be read.
    fn astray(&mut self) -> Result<Option<String>, LedgerError>;
}

/// Has the trait's methods from the ledger's own.
macro_rules! examined {
    ($ledger:ty) => {
        impl Examined for $ledger {
            fn head(&mut self) -> Result<Head, LedgerError> {
                Self::head(self)
            }

            fn read_with_batches(
                &mut self,
                after: Seq,
                limit: u32,
            ) -> Result<Vec<(EntryBytes, Seq)>, LedgerError> {
                Self::read_with_batches(self, after, limit)
            }

            fn anchor(&mut self) -> Result<Option<Anchor>, LedgerError> {
                Self::anchor(self)
            }

            fn missing(&mut self, anchor: &Anchor) -> Option<SqliteError> {
                Self::missing(self, anchor)
            }

            fn goes_on_in(&mut self) -> Result<Option<PathBuf>, LedgerError> {
                Ok(Self::goes_on_in(self)?.map(PathBuf::from))
            }

            fn astray(&mut self) -> Result<Option<String>, LedgerError> {
                Self::astray(self)
            }
        }
    };
}

examined!(SqliteLedger);
#[cfg(feature = "postgres")]
examined!(StoreLedger);

/// The result of examining a ledger.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// The agent that the ledger belongs to.
    pub agent_id: AgentId,
    /// The newest sound entry. All other fields describe the ledger up to this entry.
    pub head: Head,
    /// The number of batches.
    pub batches: u64,
    /// The number of batches checked against the invariants. The chain is verified over all of
    /// them.
    pub checked: u64,
    /// Why the ledger cannot be read any further (contract 3.4); `None` if it is sound.
    pub damage: Option<String>,
    /// Whether its beginning was archived, and whether the archive can be read.
    pub archive: ArchiveFound,
    /// Whether its newest snapshot can be used.
    pub snapshot: SnapshotFound,
    /// Invariants that a batch violated (contract 14).
    pub breaches: Vec<Broken>,
    /// What is owed now (contract 9.1).
    pub obligations: Vec<Obligation>,
    /// What looks wrong now (contract 11.3).
    pub diagnostics: Vec<Odd>,
    /// What looked wrong at some time and was recorded.
    pub recorded: Vec<Recorded>,
}

/// The place of the beginning of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "archive", rename_all = "snake_case")]
pub enum ArchiveFound {
    /// In the ledger itself.
    None,
    /// In the ledger itself, which is an archive, or was moved, and continues in another place.
    IsOne {
        /// The file or store in which it continues.
        goes_on_in: PathBuf,
    },
    /// In another file, from which it was read.
    Read {
        /// The newest entry in the archive.
        seq: Seq,
        /// The archive.
        path: PathBuf,
    },
    /// In another file, which cannot be read. The examination is about the rest, from its snapshot
    /// on.
    Missing {
        /// The newest entry in the archive.
        seq: Seq,
        /// The archive.
        path: PathBuf,
        /// Why it cannot be read.
        why: String,
    },
}

/// Whether the newest snapshot can be used (contract 3.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "snapshot", rename_all = "snake_case")]
pub enum SnapshotFound {
    /// There is no snapshot.
    None,
    /// The snapshot equals the state that the log gives.
    Good {
        /// The entry of the snapshot.
        seq: Seq,
    },
    /// The rest of the ledger begins with the snapshot. It was compared with the log when the
    /// entries before it were archived.
    Begins {
        /// The entry of the snapshot.
        seq: Seq,
    },
    /// Another version made the snapshot. The next snapshot replaces it.
    OtherVersion {
        /// Which version made it.
        why: String,
    },
    /// The snapshot is damaged, or differs from the log.
    Bad {
        /// What is wrong with it.
        why: String,
    },
}

/// An invariant that a batch violated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// The number of the invariant in contract 14.
    pub id: &'static str,
    /// What is wrong, in a sentence.
    pub says: String,
    /// The entry that violates it, or the first entry of the batch that does.
    pub seq: Seq,
}

/// Something that looks wrong, and the entry that it concerns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Odd {
    /// What looks wrong.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
    /// The newest entry of the item, intent or condition that it is about; `None` if it is about
    /// the agent.
    pub seq: Option<Seq>,
}

/// A diagnostic that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// The entry that records it.
    pub seq: Seq,
    /// The time of the entry.
    pub at: Timestamp,
    /// What looked wrong.
    pub message: String,
}

impl Examination {
    /// Whether nothing is wrong: the ledger is sound, its snapshot is usable or will be replaced,
    /// every invariant held, and nothing looks wrong now. In an archive, what looks wrong does not
    /// count, because the ledger may have mended it since.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let snapshot = !matches!(self.snapshot, SnapshotFound::Bad { .. });
        let looks_well =
            self.diagnostics.is_empty() || matches!(self.archive, ArchiveFound::IsOne { .. });
        self.damage.is_none() && snapshot && self.breaches.is_empty() && looks_well
    }
}

/// Reads a ledger from its first entry, verifies and folds it, and checks its batches. Calls `done`
/// for each entry. Archived entries are read from the archive. If the archive is missing, the
/// examination starts at the snapshot.
///
/// # Errors
/// If the place cannot be read, or the archive is missing and no snapshot can replace it. What is
/// wrong with the entries themselves is in the examination.
pub fn examine(
    agent_id: &AgentId,
    ledger: &mut impl Examined,
    thoroughness: Thoroughness,
    mut done: impl FnMut(Seq),
) -> Result<Examination, LedgerError> {
    // Kept as a result: a snapshot that cannot be read is a finding, and the log is examined
    // anyway.
    let kept = ledger.load_snapshot().map(|text| text.map(|text| Snapshot::open(&text)));
    let (machine, archive, mut damage) = begin(agent_id, ledger, &kept)?;
    let mut fold = Fold {
        machine,
        due: Due { thoroughness, newest: ledger.head()?.seq.0.saturating_sub(NEWEST), last: 0 },
        first: None,
        batch: None,
        batches: 0,
        checked: 0,
        breaches: Vec::new(),
        recorded: Vec::new(),
    };
    // If the archive is missing, `begin` has checked that the chain leads from the anchor to the
    // snapshot.
    let begins = matches!(archive, ArchiveFound::Missing { .. }) && damage.is_none();
    let mut at_snapshot = begins.then_some(true);
    while damage.is_none() {
        let page = ledger.read_with_batches(fold.machine.head().seq, PAGE)?;
        if page.is_empty() {
            break;
        }
        let read = page.iter().try_for_each(|(bytes, batch)| {
            fold.load(bytes, *batch)?;
            done(fold.machine.head().seq);
            if let Ok(Some(Ok(state))) = &kept
                && state.head().seq == fold.machine.head().seq
            {
                at_snapshot = Some(state == fold.machine.state());
            }
            Ok::<(), Damage>(())
        });
        if let Err(why) = read {
            // The agent was never in a state that includes half a batch.
            fold.first = None;
            fold.batch = None;
            damage = Some(why.to_string());
        }
    }
    // Nothing follows the last batch that would end it.
    fold.end_batch();
    if damage.is_none() {
        damage = ledger.astray()?;
    }
    let state = fold.machine.state();
    Ok(Examination {
        agent_id: agent_id.clone(),
        head: state.head(),
        batches: fold.batches,
        checked: fold.checked,
        snapshot: match snapshot_found(kept, at_snapshot, damage.is_some()) {
            SnapshotFound::Good { seq } if begins => SnapshotFound::Begins { seq },
            found => found,
        },
        archive,
        damage,
        obligations: state.obligations(),
        diagnostics: state
            .diagnostics()
            .into_iter()
            .map(|diagnostic| Odd { seq: state.subject_of(&diagnostic), diagnostic })
            .collect(),
        breaches: fold.breaches,
        recorded: fold.recorded,
    })
}

/// The machine that folds the ledger: empty, or at the snapshot if the archive is missing. In that
/// case also what is wrong between the anchor and the snapshot.
fn begin(
    agent_id: &AgentId,
    ledger: &mut impl Examined,
    kept: &Kept,
) -> Result<(Machine, ArchiveFound, Option<String>), LedgerError> {
    let options = Options::new(agent_id.clone());
    let Some(anchor) = ledger.anchor()? else {
        let is_one = |goes_on_in| ArchiveFound::IsOne { goes_on_in };
        return Ok((
            Machine::new(options),
            ledger.goes_on_in()?.map_or(ArchiveFound::None, is_one),
            None,
        ));
    };
    let Anchor { head, archive: path } = anchor.clone();
    let Some(missing) = ledger.missing(&anchor) else {
        return Ok((Machine::new(options), ArchiveFound::Read { seq: head.seq, path }, None));
    };
    // Without the archive the examination can only start at the snapshot.
    let Ok(Some(Ok(state))) = kept else { return Err(missing.into()) };
    let damage = match reaches(ledger, head, state.head())? {
        Ok(true) => None,
        Ok(false) => {
            Some(format!("entry {} is not the one that the snapshot was made at", state.head().seq))
        }
        Err(why) => Some(why.to_string()),
    };
    let archive = ArchiveFound::Missing { seq: head.seq, path, why: missing.to_string() };
    Ok((Machine::standing(options, state.clone()), archive, damage))
}

/// Whether the chain leads from one head to the other.
fn reaches(
    ledger: &mut impl Examined,
    from: Head,
    to: Head,
) -> Result<Result<bool, EntryError>, LedgerError> {
    let mut at = from;
    while at.seq < to.seq {
        // Not beyond `to`: the entries after the snapshot are verified when they are folded.
        let limit = u32::try_from(to.seq.0 - at.seq.0).map_or(PAGE, |left| left.min(PAGE));
        let page = ledger.read_with_batches(at.seq, limit)?;
        if page.is_empty() {
            return Ok(Ok(false));
        }
        for (bytes, _) in page {
            match bytes.open(&at) {
                Ok(entry) => at = entry.head(),
                Err(why) => return Ok(Err(why)),
            }
        }
    }
    Ok(Ok(at == to))
}

/// The stored snapshot as it opened, if there is one.
type Kept = Result<Option<Result<State, SnapshotIgnored>>, LedgerError>;

/// `equal` says whether the snapshot equals the log at its entry; `None` if the log does not reach
/// that entry.
fn snapshot_found(kept: Kept, equal: Option<bool>, is_damaged: bool) -> SnapshotFound {
    let bad = |why: String| SnapshotFound::Bad { why };
    let state = match kept {
        Ok(None) => return SnapshotFound::None,
        Ok(Some(Ok(state))) => state,
        Ok(Some(Err(why @ SnapshotIgnored::OtherVersion { .. }))) => {
            return SnapshotFound::OtherVersion { why: why.to_string() };
        }
        Ok(Some(Err(why))) => return bad(why.to_string()),
        Err(why) => return bad(why.to_string()),
    };
    let seq = state.head().seq;
    match equal {
        Some(true) => SnapshotFound::Good { seq },
        Some(false) => bad(format!("the snapshot at entry {seq} differs from what the log gives")),
        None if is_damaged => bad(format!(
            "the snapshot at entry {seq} lies beyond the damage, so it cannot be compared with the \
             log"
        )),
        None => bad(OpenError::HeadBelowSnapshot { snapshot: seq }.to_string()),
    }
}

/// Why an entry cannot be taken into the examination.
#[derive(Debug, thiserror::Error)]
enum Damage {
    /// The entry itself is damaged.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The entry does not fit here.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The stored beginning of the entry's batch is impossible.
    #[error(
        "entry {seq} is stored as part of a batch that begins at entry {first}, which is impossible"
    )]
    Batch {
        /// The entry.
        seq: Seq,
        /// The stored beginning of its batch.
        first: Seq,
    },
}

/// A ledger as far as it was read.
struct Fold {
    machine: Machine,
    due: Due,
    /// The first entry of the batch that is being read.
    first: Option<Seq>,
    /// The batch that is being read, if it is due for a check.
    batch: Option<Batch>,
    batches: u64,
    checked: u64,
    breaches: Vec<Broken>,
    recorded: Vec<Recorded>,
}

/// Decides which batches are due for a check.
struct Due {
    thoroughness: Thoroughness,
    /// Every batch after this entry is due.
    newest: u64,
    /// The first entry of the batch that was checked last.
    last: u64,
}

impl Due {
    fn is(&mut self, first: Seq) -> bool {
        let Seq(first) = first;
        let is_due = self.thoroughness == Thoroughness::Each
            || first > self.newest
            || first.saturating_sub(self.last) >= first / SPREAD;
        if is_due {
            self.last = first;
        }
        is_due
    }
}

/// A batch, and the state before it.
struct Batch {
    first: Seq,
    before: State,
    entries: Vec<Entry>,
}

impl Fold {
    fn load(&mut self, bytes: &EntryBytes, first: Seq) -> Result<(), Damage> {
        let entry = bytes.open(&self.machine.head())?;
        // A batch begins at its own first entry and has no gaps.
        if first != entry.seq && self.first.is_none_or(|known| known != first) {
            return Err(Damage::Batch { seq: entry.seq, first });
        }
        if self.first != Some(first) {
            self.end_batch();
            self.first = Some(first);
            self.batch = self.due.is(first).then(|| Batch {
                first,
                before: self.machine.state().clone(),
                entries: Vec::new(),
            });
        }
        self.machine.load(bytes)?;
        self.recorded.extend(recorded(&entry));
        if let Some(batch) = &mut self.batch {
            batch.entries.push(entry);
        }
        Ok(())
    }

    /// Ends the batch that was being read, if any, and checks it if it is due.
    fn end_batch(&mut self) {
        self.batches += u64::from(self.first.take().is_some());
        let Some(batch) = self.batch.take() else { return };
        self.checked += 1;
        let broken = wakeful_core::breaches(&batch.before, &batch.entries, self.machine.state());
        self.breaches.extend(broken.into_iter().map(|breach| Broken {
            id: breach.id,
            says: breach.says,
            seq: breach.seq.unwrap_or(batch.first),
        }));
    }
}

fn recorded(entry: &Entry) -> Option<Recorded> {
    let Record::Event(event) = &entry.record else { return None };
    if event.kind != EventKind::SchedulerDiagnostic.as_str() {
        return None;
    }
    let message = event.data()?.field("message")?.read().ok()?;
    Some(Recorded { seq: entry.seq, at: entry.at, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_batches_that_are_checked_stand_further_apart_the_more_is_before_them() {
        let checked = |thoroughness, from: u64, to: u64| {
            let mut due = Due { thoroughness, newest: 1_000_000 - NEWEST, last: 0 };
            (1..=1_000_000)
                .filter(|first| due.is(Seq(*first)) && (from..to).contains(first))
                .count()
        };
        assert_eq!(checked(Thoroughness::Spread, 1, 200), 199);
        assert_eq!(checked(Thoroughness::Spread, 500_000, 510_000), 2);
        assert_eq!(checked(Thoroughness::Spread, 999_951, 1_000_001), 50);
        assert!((1_000..1_200).contains(&checked(Thoroughness::Spread, 1, 1_000_001)));
        assert_eq!(checked(Thoroughness::Each, 1, 1_000_001), 1_000_000);
    }
}
