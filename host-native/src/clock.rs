//! Clocks: what time a host says it is.

use std::{
    cell::Cell,
    collections::BTreeMap,
    rc::Rc,
    time::{SystemTime, UNIX_EPOCH},
};

use wakeful_core::{Clock, Entry, Record, Seq, Timestamp};

/// The clock of this machine, in UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    /// Now; an instant that does not fit is the nearest that does.
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

/// The instants of an earlier ledger: what its clock said when each of its entries was made.
///
/// A host that does the same again at these instants makes the same entries, to the byte.
#[derive(Clone, Debug, Default)]
pub struct RecordedClock {
    instants: Vec<Timestamp>,
    /// What the clock said where it was behind the ledger, which goes by the later of the two
    /// (contract 1.3).
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

    /// What the clock said when the entry at this position told that it was behind the ledger; none
    /// where it does not.
    #[must_use]
    pub fn behind_at(&self, seq: Seq) -> Option<Timestamp> {
        self.behind.get(&seq).copied()
    }

    /// What the clock said when the entry at this position was made; none beyond the last.
    #[must_use]
    pub fn at(&self, seq: Seq) -> Option<Timestamp> {
        let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
        self.instants.get(index).copied()
    }
}

/// A clock that stands until it is set. Clones show the same time.
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
            "the ledger's time stands"
        );
        assert_eq!(
            [1, 2, 3, 4].map(|seq| clock.behind_at(Seq(seq))),
            [None, None, Some(past), None]
        );
    }
}
