//! Instants: i64 nanoseconds since the epoch in memory, RFC 3339 UTC text in records (contract
//! 1.3).
//!
//! The text is read and written here, because a time library would weigh as much in a guest as all
//! planes together. The tests compare this code with such a library.

use core::{fmt, time::Duration};

use serde::{Serialize, Serializer};

use wakeful_json::{Readable, Value, through_readable};

/// An instant from the host's clock: nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last representable instant.
    pub const MAX: Self = Self(i64::MAX);

    /// An instant from nanoseconds since the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// This instant plus `ms` milliseconds, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        // Facts and policies may name any number of milliseconds, and the core never panics.
        let nanos = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        Self(self.0.saturating_add(nanos))
    }

    /// The time from `earlier` to this instant in nanoseconds, negative if it is later.
    #[must_use]
    pub fn nanos_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time from `earlier` to this instant; zero if it is not earlier.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.nanos_since(earlier)).unwrap_or(0))
    }

    /// This instant minus `nanos` nanoseconds.
    #[must_use]
    pub fn minus_nanos(self, nanos: i64) -> Self {
        Self(self.0.saturating_sub(nanos))
    }

    /// The first instant after `now` that is a whole number of steps from this one, before or after
    /// it (contract 1.3).
    #[must_use]
    pub fn nearest_on_grid(self, step_ms: u64, now: Self) -> Self {
        if self <= now {
            return self.next_on_grid(step_ms, now);
        }
        let ahead = self.0.abs_diff(now.0);
        let Some(step) = step_ms.max(1).checked_mul(1_000_000) else { return self };
        // Whole steps back, but not to `now` itself: a slot at `now` has passed.
        Self(self.0.saturating_sub_unsigned((ahead - 1) / step * step))
    }

    /// The first slot of the grid `self + k * step_ms` after `now` (contract 5.20).
    #[must_use]
    pub fn next_on_grid(self, step_ms: u64, now: Self) -> Self {
        // A clock that ran backwards skips no slot.
        let gone = if now > self { now.0.abs_diff(self.0) } else { 0 };
        // A foreign timer may have an interval of zero.
        let step = step_ms.max(1).checked_mul(1_000_000);
        let slot = step
            .and_then(|step| (gone / step + 1).checked_mul(step))
            .and_then(|ahead| self.0.checked_add_unsigned(ahead));
        Self(slot.unwrap_or(i64::MAX))
    }

    /// Reads RFC 3339 text.
    ///
    /// # Errors
    /// If the text is not an RFC 3339 instant, or is outside the years 1678 to 2261.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let mut text = Digits(text.as_bytes());
        // A sum in i128 cannot overflow, so the range is checked once, at the end.
        let nanos =
            text.date_time().filter(|_| text.0.is_empty()).ok_or(TimestampError::NotRfc3339)?;
        i64::try_from(nanos).map(Self).map_err(|_| TimestampError::OutOfRange)
    }
}

/// The unread rest of a text. Each method returns `None` if the text does not match RFC 3339.
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    /// Reads one byte out of `accepted`.
    fn one_of(&mut self, accepted: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first().filter(|(first, _)| accepted.contains(first))?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads a number of exactly `digits` digits, from `least` to `most`.
    fn number(&mut self, digits: usize, least: i64, most: i64) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        let value = |number: i64, digit: &u8| {
            digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
        };
        let number =
            number.iter().try_fold(0, value).filter(|number| (least..=most).contains(number))?;
        self.0 = rest;
        Some(number)
    }

    /// Reads a date and time with its offset from UTC, as nanoseconds since the epoch.
    fn date_time(&mut self) -> Option<i128> {
        let year = self.number(4, 0, 9999)?;
        self.one_of(b"-")?;
        let month = self.number(2, 1, 12)?;
        self.one_of(b"-")?;
        let day = self.number(2, 1, days_of_month(year, month))?;
        // RFC 3339 also permits a lower-case letter or a space here.
        self.one_of(b"Tt ")?;
        let hour = self.number(2, 0, 23)?;
        self.one_of(b":")?;
        let minute = self.number(2, 0, 59)?;
        self.one_of(b":")?;
        // A leap second reads as the second before it, because epoch time does not count leap
        // seconds.
        let second = self.number(2, 0, 60)?.min(59);
        let nanos = self.fraction()?;
        let ahead = self.offset()?;
        let seconds =
            ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute - ahead) * 60 + second;
        Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
    }

    /// Reads a fraction of one to nine digits as nanoseconds; 0 if there is none.
    fn fraction(&mut self) -> Option<i64> {
        if self.one_of(b".").is_none() {
            return Some(0);
        }
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let power = 9_u32.checked_sub(u32::try_from(digits).ok()?)?;
        (digits > 0)
            .then(|| self.number(digits, 0, i64::MAX))?
            .map(|number| number * 10_i64.pow(power))
    }

    /// Reads the offset from UTC in minutes, positive to the east.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.one_of(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hours = self.number(2, 0, 23)?;
        self.one_of(b":")?;
        Some(sign * (hours * 60 + self.number(2, 0, 59)?))
    }
}

/// The days of 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;

/// The days from 1 March of the year 0 to the epoch.
const EPOCH: i64 = 719_468;

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the epoch. The year starts in March here, so that the leap day is its last day and
/// one formula gives the days of all months.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let months = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * months + 2) / 5 + day - 1 - EPOCH
}

/// The year, month and day of a day since the epoch: the inverse of [`days_since_epoch`].
fn date(days: i64) -> (i64, i64, i64) {
    let (era, day) = ((days + EPOCH).div_euclid(ERA), (days + EPOCH).rem_euclid(ERA));
    // Without the leap days before it, the day of the era gives the year by division.
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let months = (5 * day + 2) / 153;
    let month = if months < 10 { months + 3 } else { months - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day - (153 * months + 2) / 5 + 1)
}

/// Why a text is not a [`Timestamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimestampError {
    /// The text is not RFC 3339.
    #[error("not an RFC 3339 instant such as `2026-05-27T09:00:00Z`")]
    NotRfc3339,
    /// The instant does not fit i64 nanoseconds.
    #[error("outside the years 1678 to 2261")]
    OutOfRange,
}

impl fmt::Display for Timestamp {
    /// RFC 3339 with `Z`, and with 0, 3, 6 or 9 fractional digits: as few as the instant needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.0.div_euclid(1_000_000_000), self.0.rem_euclid(1_000_000_000));
        let (year, month, day) = date(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        let numbers = [
            (0..4, year),
            (5..7, month),
            (8..10, day),
            (11..13, second / 3_600),
            (14..16, second / 60 % 60),
            (17..19, second % 60),
            (20..29, nanos),
        ];
        for (digits, number) in numbers {
            // INVARIANT: each number is less than 10^9. In 32 bits a division costs half as much,
            // and a step writes two dozen instants.
            let mut number = number as u32;
            for digit in text[digits].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        let length = match nanos {
            0 => 19,
            nanos if nanos % 1_000_000 == 0 => 23,
            nanos if nanos % 1_000 == 0 => 26,
            _ => 29,
        };
        text[length] = b'Z';
        // INVARIANT: the text is ASCII.
        f.write_str(str::from_utf8(&text[..=length]).unwrap_or_default())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The name lets `shape` tell an instant from other text.
        serializer.serialize_newtype_struct("Timestamp", &wakeful_json::Printed(self))
    }
}

impl Readable for Timestamp {
    fn read(value: &Value<'_>) -> Self {
        let text = value.text("a string");
        Self::parse(&text).unwrap_or_else(|why| {
            value.is_wrong(&format_args!("`{text}` is {why}"));
            Self::default()
        })
    }
}

through_readable!(Timestamp);

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "format": "date-time",
            "description": "RFC 3339, UTC"
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn text_has_as_many_fractional_digits_as_needed() {
        for text in [
            "2026-05-27T09:00:00Z",
            "2026-05-27T09:00:00.500Z",
            "2026-05-27T09:00:00.000001Z",
            "1969-12-31T23:59:59.999999999Z",
        ] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()), Ok(text.to_string()));
        }
        assert_eq!(
            Timestamp::parse("2026-05-27T11:00:00+02:00").map(|t| t.to_string()),
            Ok("2026-05-27T09:00:00Z".to_string())
        );
    }

    #[test]
    fn an_instant_moves_by_milliseconds_and_stays_at_the_last_one() {
        let at = Timestamp::from_nanos;
        assert_eq!((at(-5).plus_ms(0), at(-5).plus_ms(3)), (at(-5), at(2_999_995)));
        assert_eq!(
            (at(1).plus_ms(u64::MAX), at(i64::MAX - 1).plus_ms(1)),
            (at(i64::MAX), at(i64::MAX))
        );
    }

    #[test]
    fn an_interval_keeps_its_grid_however_late_it_fires() {
        let base = Timestamp::from_nanos(0);
        let at = |ms: i64| Timestamp::from_nanos(ms * 1_000_000);
        assert_eq!(base.next_on_grid(100, at(0)), at(100));
        assert_eq!(base.next_on_grid(100, at(99)), at(100));
        assert_eq!(base.next_on_grid(100, at(100)), at(200));
        assert_eq!(base.next_on_grid(100, at(12_345)), at(12_400));
        assert_eq!(
            base.next_on_grid(100, at(-50)),
            at(100),
            "a clock that ran backwards skips nothing"
        );
    }
}
