//! Whether the host's clock counts nanoseconds since the epoch. A host whose clock counts anything
//! else is told at once, because a ledger keeps the instants that it was given.

use crate::{state::State, time::Timestamp};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

/// 2000-01-01T00:00:00Z. A ledger begins at this instant or later.
const FIRST: Timestamp = Timestamp::from_nanos(946_684_800 * SECOND);

/// 2200-01-01T00:00:00Z. A ledger begins at this instant or earlier.
const LAST: Timestamp = Timestamp::from_nanos(7_258_118_400 * SECOND);

/// The units that clocks count in, with their nanoseconds. A finer unit than the nanosecond does
/// not fit 64 bits.
const UNITS: [(&str, i64); 3] =
    [("seconds", SECOND), ("milliseconds", 1_000_000), ("microseconds", 1_000)];

/// The host's clock does not count nanoseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the clock answered {}, which is {answered}: answer nanoseconds since 1970-01-01T00:00:00Z{}{}",
    .answered.as_nanos(),
    if .unit.is_some() { "; this looks like " } else { "" },
    .unit.unwrap_or_default()
)]
#[non_exhaustive]
pub struct ClockError {
    /// What the clock answered.
    pub answered: Timestamp,
    /// The unit in which the answer is a likely instant; `None` if there is none.
    pub unit: Option<&'static str>,
}

impl ClockError {
    /// Whether a ledger may begin now. A ledger that exists has any instants, as those of an
    /// imported or simulated past.
    pub(super) fn at_beginning(answered: Timestamp) -> Result<(), Self> {
        if (FIRST..=LAST).contains(&answered) {
            return Ok(());
        }
        Err(Self { answered, unit: unit(answered, FIRST, LAST) })
    }

    /// Whether the ledger may go on now. The clock may be far behind the ledger, as after a boot in
    /// 1970 (contract 1.3). But if its answer is an instant soon after the newest entry in another
    /// unit, then that unit is what it counts.
    pub(super) fn going_on(answered: Timestamp, state: &State) -> Result<(), Self> {
        // A simulated ledger may have begun long ago, and then its clock is right.
        if answered >= FIRST || state.at < FIRST {
            return Ok(());
        }
        let soon = Timestamp::from_nanos(state.at.as_nanos().saturating_add(365 * DAY));
        match unit(answered, state.at.minus_nanos(DAY), soon) {
            None => Ok(()),
            unit => Err(Self { answered, unit }),
        }
    }
}

/// The unit in which an answer is an instant of this range, which begins after 1970.
fn unit(answered: Timestamp, from: Timestamp, to: Timestamp) -> Option<&'static str> {
    let [answered, from, to] = [answered, from, to].map(Timestamp::as_nanos);
    // A division is exact here, and cannot overflow.
    let is_in_range = |nanos: i64| (from - 1) / nanos < answered && answered <= to / nanos;
    UNITS.into_iter().find(|(_, nanos)| is_in_range(*nanos)).map(|(unit, _)| unit)
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::ToString};

    use super::*;

    /// 2026-05-27T09:00:00Z in seconds.
    const NOW: i64 = 1_779_872_400;

    fn beginning(nanos: i64) -> Result<(), ClockError> {
        ClockError::at_beginning(Timestamp::from_nanos(nanos))
    }

    fn going_on(at: i64, nanos: i64) -> Result<(), ClockError> {
        let state = State { at: Timestamp::from_nanos(at), ..State::default() };
        ClockError::going_on(Timestamp::from_nanos(nanos), &state)
    }

    #[test]
    fn a_ledger_begins_from_2000_to_2200() {
        let (first, last) = (FIRST.as_nanos(), LAST.as_nanos());
        assert_eq!(
            [FIRST, LAST].map(|at| at.to_string()),
            ["2000-01-01T00:00:00Z", "2200-01-01T00:00:00Z"]
        );
        for right in [first, NOW * SECOND, last] {
            assert_eq!(beginning(right), Ok(()));
        }
        for wrong in [i64::MIN, -1, 0, 1, first - 1, last + 1, i64::MAX] {
            let answered = Timestamp::from_nanos(wrong);
            assert_eq!(beginning(wrong), Err(ClockError { answered, unit: None }));
        }
    }

    #[test]
    fn another_unit_is_named_with_what_was_answered() {
        for (answer, instant, unit) in [
            (NOW, "1970-01-01T00:00:01.779872400Z", "seconds"),
            (NOW * 1_000, "1970-01-01T00:29:39.872400Z", "milliseconds"),
            (NOW * 1_000_000, "1970-01-21T14:24:32.400Z", "microseconds"),
        ] {
            let message = format!(
                "the clock answered {answer}, which is {instant}: answer nanoseconds since \
                 1970-01-01T00:00:00Z; this looks like {unit}"
            );
            let why = beginning(answer).expect_err("another unit");
            assert_eq!(why.to_string(), message);
            for later in [-3_600, 0, 1, 300 * 86_400] {
                assert_eq!(going_on((NOW - later) * SECOND, answer), Err(why), "{unit} {later}");
            }
        }
        assert_eq!(
            beginning(0).expect_err("1970").to_string(),
            "the clock answered 0, which is 1970-01-01T00:00:00Z: answer nanoseconds since \
             1970-01-01T00:00:00Z"
        );
    }

    #[test]
    fn a_clock_may_be_far_from_its_ledger() {
        // A machine that boots in 1970, a clock that ran ahead, and a ledger of another time.
        for (at, answer) in [
            (NOW * SECOND, 0),
            (NOW * SECOND, 10 * SECOND),
            (NOW * SECOND, i64::MIN),
            (NOW * SECOND, i64::MAX),
            (NOW * SECOND, (NOW - 20 * 365 * 86_400) * SECOND),
            (0, 5),
            (NOW * 1_000, NOW * 1_000 + 60_000),
            (i64::MIN, i64::MIN),
            (i64::MAX, i64::MAX),
        ] {
            assert_eq!(going_on(at, answer), Ok(()), "{answer} after {at}");
        }
    }
}
