//! The time of a driver whose clock is behind its ledger (contract 1.3).
//!
//! A clock that was ahead leaves entries in the future. Once it is right again, no time would pass
//! by the ledger until the clock has caught up, and nothing would become due. So the driver lets
//! time pass from the newest entry on, by a clock that never jumps. If it knows that the host's
//! clock is right, it sets the ledger back to it.

use crate::{derive::arrival::CLOCK_SLACK_MS, time::Timestamp};

/// How long a difference must stand before the ledger is set back, in milliseconds. A clock that
/// flaps must not move instants each time.
const STANDS_MS: u64 = 60_000;

/// Lets time pass while the host's clock is behind.
///
/// `monotonic` is a number of milliseconds by a clock that never jumps, such as the uptime of the
/// machine; only differences count.
#[derive(Clone, Copy, Debug)]
pub struct Steady {
    /// The newest time that was shown or recorded, and when.
    at: Timestamp,
    since: u64,
    /// Since when the host's clock is behind.
    behind_since: Option<u64>,
    /// Since when it is right again.
    right_since: Option<u64>,
    is_reported: bool,
}

/// What a driver does about a clock that is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Take one step with the host's own time, so that the diagnostic `clock_behind` is recorded.
    Report,
    /// Propose the fact `clock_corrected` with the host's own time.
    Correct,
}

impl Steady {
    /// The time of a driver whose newest entry has this time.
    #[must_use]
    pub fn new(at: Timestamp, monotonic: u64) -> Self {
        Self { at, since: monotonic, behind_since: None, right_since: None, is_reported: false }
    }

    /// The time for the scheduler: the host's, unless it is more than a minute behind the time that
    /// has passed since the newest entry.
    pub fn now(&mut self, host: Timestamp, monotonic: u64) -> Timestamp {
        let steady = self.at.plus_ms(monotonic.saturating_sub(self.since));
        // A difference of less than a minute is left to the ledger, which stands still meanwhile.
        if host.plus_ms(CLOCK_SLACK_MS) >= steady {
            if host > steady {
                (self.at, self.since) = (host, monotonic);
            }
            self.behind_since = None;
            // A clock that flaps is reported once.
            let right_since = *self.right_since.get_or_insert(monotonic);
            self.is_reported &= monotonic.saturating_sub(right_since) < STANDS_MS;
            return host;
        }
        self.behind_since.get_or_insert(monotonic);
        self.right_since = None;
        steady
    }

    /// What to do about the clock now. `is_trusted` says that the host's clock is synchronised, or
    /// that the operator vouches for it.
    pub fn remedy(&mut self, host: Timestamp, monotonic: u64, is_trusted: bool) -> Option<Remedy> {
        self.now(host, monotonic);
        let since = self.behind_since?;
        if !self.is_reported {
            self.is_reported = true;
            return Some(Remedy::Report);
        }
        (is_trusted && monotonic.saturating_sub(since) >= STANDS_MS).then_some(Remedy::Correct)
    }

    /// The ledger was set back to this time.
    pub fn corrected(&mut self, at: Timestamp, monotonic: u64) {
        *self = Self::new(at, monotonic);
    }

    /// The newest entry has this time, and may be later than what was shown: another process may
    /// have appended it.
    pub fn recorded(&mut self, at: Timestamp, monotonic: u64) {
        let steady = self.at.plus_ms(monotonic.saturating_sub(self.since));
        if at > steady {
            (self.at, self.since) = (at, monotonic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000;
    const MINUTE: u64 = 60 * SECOND;
    const HOUR: u64 = 60 * MINUTE;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(1_780_000_000_000_000_000).plus_ms(ms)
    }

    #[test]
    fn a_clock_that_is_right_is_shown_as_it_is() {
        let mut steady = Steady::new(at(0), 7);
        for ms in [0, SECOND, HOUR, 30 * 24 * HOUR] {
            assert_eq!(steady.now(at(ms), 7 + ms), at(ms));
            assert_eq!(steady.remedy(at(ms), 7 + ms, true), None);
        }
        // After a suspend the host's clock is ahead of the other one, and right.
        assert_eq!(steady.now(at(60 * 24 * HOUR), 7 + 31 * 24 * HOUR), at(60 * 24 * HOUR));
    }

    #[test]
    fn a_clock_less_than_a_minute_behind_is_shown_as_it_is() {
        let mut steady = Steady::new(at(HOUR), 0);
        assert_eq!(steady.now(at(HOUR - MINUTE), 0), at(HOUR - MINUTE));
        assert_eq!(steady.now(at(HOUR - MINUTE), 1), at(HOUR + 1), "and one that is further");
    }

    #[test]
    fn time_passes_while_the_clock_is_behind() {
        let mut steady = Steady::new(at(50 * HOUR), 0);
        for ms in [0, 5 * SECOND, HOUR] {
            assert_eq!(steady.now(at(ms), ms), at(50 * HOUR + ms));
        }
        steady.recorded(at(51 * HOUR), HOUR);
        assert_eq!(steady.now(at(HOUR), HOUR), at(51 * HOUR), "it is the same time");
    }

    #[test]
    fn a_difference_is_reported_at_once_and_corrected_after_a_minute_of_trust() {
        for is_trusted in [true, false] {
            let mut steady = Steady::new(at(50 * HOUR), 0);
            assert_eq!(steady.remedy(at(0), 0, is_trusted), Some(Remedy::Report));
            assert_eq!(steady.remedy(at(59 * SECOND), 59 * SECOND, is_trusted), None);
            let correct = is_trusted.then_some(Remedy::Correct);
            assert_eq!(steady.remedy(at(MINUTE), MINUTE, is_trusted), correct);
            steady.corrected(at(MINUTE), MINUTE);
            assert_eq!(steady.remedy(at(HOUR), HOUR, is_trusted), None);
        }
    }

    #[test]
    fn a_clock_that_flaps_each_second_is_not_corrected() {
        let mut steady = Steady::new(at(0), 0);
        let mut reports = 0;
        for second in 0..600 {
            let ms = second * SECOND;
            let host = if second % 2 == 0 { at(ms) } else { at(ms + 50 * HOUR) };
            let remedy = steady.remedy(host, ms, true);
            assert_ne!(remedy, Some(Remedy::Correct));
            reports += usize::from(remedy == Some(Remedy::Report));
        }
        assert_eq!(reports, 1);
    }
}
