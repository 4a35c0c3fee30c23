//! Clocks of a host: system, recorded and virtual.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    path::Path,
    rc::Rc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use wakeful_core::{Clock, Entry, Record, Remedy, Seq, Steady, Timestamp};

/// The clock of this machine, in UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// The current time; an instant outside the range becomes the nearest one inside it.
    fn now(&mut self) -> Timestamp {
        let nanos = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |nanos| -nanos)
            }
        };
        Timestamp::from_nanos(nanos)
    }
}

/// The clock of a driver: this machine's, but time also passes while that one is behind the ledger
/// (contract 1.3). Clones share it.
#[derive(Clone)]
pub struct SteadyClock(Rc<RefCell<Kept>>);

struct Kept {
    host: Box<dyn FnMut() -> Timestamp>,
    steady: Steady,
    started: Instant,
    is_vouched_for: bool,
    /// Whether the clock shows the host's own time, as while the ledger is set back.
    shows_host: bool,
}

impl Kept {
    fn monotonic(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The file that systemd-timesyncd keeps while the clock is synchronised.
const SYNCHRONISED: &str = "/run/systemd/timesync/synchronized";

impl SteadyClock {
    /// The clock of a driver whose newest entry has this time. `is_vouched_for` is the operator's
    /// word that the clock of this machine is right.
    #[must_use]
    pub fn new(at: Timestamp, is_vouched_for: bool) -> Self {
        Self::over(Box::new(|| SystemClock.now()), at, is_vouched_for)
    }

    /// As [`SteadyClock::new`], over another clock than that of this machine.
    #[must_use]
    pub fn over(host: Box<dyn FnMut() -> Timestamp>, at: Timestamp, is_vouched_for: bool) -> Self {
        Self(Rc::new(RefCell::new(Kept {
            host,
            steady: Steady::new(at, 0),
            started: Instant::now(),
            is_vouched_for,
            shows_host: false,
        })))
    }

    /// The host's own time.
    #[must_use]
    pub fn host_now(&self) -> Timestamp {
        (self.0.borrow_mut().host)()
    }

    /// What the driver must do about the clock now. `at` is the time of the newest entry.
    pub(crate) fn remedy(&self, at: Timestamp) -> Option<Remedy> {
        let host = self.host_now();
        let mut kept = self.0.borrow_mut();
        let monotonic = kept.monotonic();
        kept.steady.recorded(at, monotonic);
        let is_trusted = kept.is_vouched_for || Path::new(SYNCHRONISED).exists();
        kept.steady.remedy(host, monotonic, is_trusted)
    }

    /// Shows the host's own time from now on, or no longer.
    pub fn show_host(&self, shows_host: bool) {
        self.0.borrow_mut().shows_host = shows_host;
    }

    /// The ledger was set back to this time.
    pub(crate) fn corrected(&self, at: Timestamp) {
        let mut kept = self.0.borrow_mut();
        let monotonic = kept.monotonic();
        kept.steady.corrected(at, monotonic);
    }
}

impl Clock for SteadyClock {
    fn now(&mut self) -> Timestamp {
        let host = self.host_now();
        let mut kept = self.0.borrow_mut();
        let monotonic = kept.monotonic();
        if kept.shows_host { host } else { kept.steady.now(host, monotonic) }
    }
}

/// The instants of an earlier ledger: what its clock showed when each entry was made.
///
/// A host that repeats the same calls at these instants makes the same entries, byte for byte.
#[derive(Clone, Debug, Default)]
pub struct RecordedClock {
    instants: Vec<Timestamp>,
    /// What the clock showed when it was behind the ledger. The entry itself has the later of the
    /// two times (contract 1.3).
    behind: BTreeMap<Seq, Timestamp>,
}

impl RecordedClock {
    /// The instants of these entries, which begin with entry 1.
    #[must_use]
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut clock = Self::default();
        for entry in entries {
            clock.instants.push(entry.at);
            if let Record::Event(event) = &entry.record {
                clock.behind.extend(wakeful_core::clock_behind_at(event).map(|at| (entry.seq, at)));
            }
        }
        clock
    }

    /// What the clock showed at this entry, if the entry reports that the clock was behind the
    /// ledger; else `None`.
    #[must_use]
    pub fn behind_at(&self, seq: Seq) -> Option<Timestamp> {
        self.behind.get(&seq).copied()
    }

    /// What the clock showed when the entry at this position was made; `None` beyond the last
    /// entry.
    #[must_use]
    pub fn at(&self, seq: Seq) -> Option<Timestamp> {
        let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
        self.instants.get(index).copied()
    }
}

/// A clock that moves only when it is set. Clones show the same time.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    now: Rc<Cell<Timestamp>>,
}

impl VirtualClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self { now: Rc::new(Cell::new(now)) }
    }

    /// Sets the clock.
    pub fn set(&self, now: Timestamp) {
        self.now.set(now);
    }
}

impl Clock for VirtualClock {
    fn now(&mut self) -> Timestamp {
        self.now.get()
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::{Boundary, ControlRecord, EntryBytes, Head, Machine, Marker, Options};

    use super::*;

    #[test]
    fn the_system_clock_goes_forward_and_stands_in_this_century() {
        let mut clock = SystemClock;
        let (first, second) = (clock.now(), clock.now());
        assert!(first <= second);
        assert!(first > Timestamp::parse("2024-01-01T00:00:00Z").expect("an instant"), "{first}");
    }

    #[test]
    fn a_recorded_clock_says_what_it_said_at_each_entry() {
        let record = || vec![Record::Control(ControlRecord::StartRequested(Marker {}))];
        let (mut entries, _) =
            wakeful_core::seal_all(Head::START, Timestamp::from_nanos(5), record());
        let head = entries[0].head();
        entries.extend(wakeful_core::seal_all(head, Timestamp::from_nanos(9), record()).0);
        let clock = RecordedClock::from_entries(&entries);
        let said = [0, 1, 2, 3].map(|seq| clock.at(Seq(seq)).map(Timestamp::as_nanos));
        assert_eq!(said, [None, Some(5), Some(9), None]);
    }

    #[test]
    fn a_recorded_clock_says_where_it_was_behind_the_ledger() {
        let mut machine = Machine::new(Options::new("a".into()));
        let (now, past) = (
            Timestamp::from_nanos(1_780_000_000_000_000_000),
            Timestamp::from_nanos(1_700_000_000_123_456_789),
        );
        let mut batches =
            vec![machine.begin(now).expect("a fresh ledger").expect("a first entry").batch];
        machine.committed();
        batches.push(
            machine.propose_json(r#"{"fact":"runtime_restarted"}"#, now).expect("a proposal").batch,
        );
        machine.committed();
        batches.push(
            machine.step(Boundary::RunLoop, past).expect("a step").expect("a diagnostic").batch,
        );
        let mut head = Head::START;
        let open = |bytes: &EntryBytes| {
            let entry = bytes.open(&head).expect("a sealed entry");
            head = entry.head();
            entry
        };
        let entries: Vec<_> = batches.concat().iter().map(open).collect();
        let clock = RecordedClock::from_entries(&entries);
        assert_eq!(
            [1, 2, 3].map(|seq| clock.at(Seq(seq))),
            [Some(now); 3],
            "the entry has the later time"
        );
        assert_eq!(
            [1, 2, 3, 4].map(|seq| clock.behind_at(Seq(seq))),
            [None, None, Some(past), None]
        );
    }
}
