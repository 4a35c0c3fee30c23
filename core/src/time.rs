//! Instants: i64 nanoseconds since the epoch inside, RFC 3339 UTC text in records (contract 1.3).

use alloc::string::String;
use core::fmt;

use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant that the host gave: nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last instant that there is.
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

    /// This instant plus `ms` milliseconds; stays at the last representable instant rather than wrapping.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        let nanos = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        Self(self.0.saturating_add(nanos))
    }

    /// The first slot of the grid `self + k * step_ms` that lies after `now` (contract 5.20).
    #[must_use]
    pub fn next_on_grid(self, step_ms: u64, now: Self) -> Self {
        let step = i128::from(step_ms.max(1)) * 1_000_000;
        let missed = (i128::from(now.0) - i128::from(self.0)).div_euclid(step) + 1;
        let slot = i128::from(self.0) + missed.max(1) * step;
        Self(i64::try_from(slot).unwrap_or(i64::MAX))
    }

    /// Reads RFC 3339 text.
    ///
    /// # Errors
    /// Says what is wrong where the text is no instant, or one outside the years 1678 to 2261.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let instant: jiff::Timestamp = text.parse().map_err(|_| TimestampError::NotRfc3339)?;
        i64::try_from(instant.as_nanosecond()).map(Self).map_err(|_| TimestampError::OutOfRange)
    }
}

/// Why a text is no [`Timestamp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// The text is not RFC 3339.
    #[error("not an RFC 3339 instant such as `2026-05-27T09:00:00Z`")]
    NotRfc3339,
    /// The instant does not fit i64 nanoseconds.
    #[error("instant is outside the years 1678 to 2261")]
    OutOfRange,
}

impl fmt::Display for Timestamp {
    /// RFC 3339 with `Z` and as many of 0, 3, 6 or 9 fractional digits as the instant needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.rem_euclid(1_000_000_000);
        let digits = match nanos {
            0 => 0,
            n if n % 1_000_000 == 0 => 3,
            n if n % 1_000 == 0 => 6,
            _ => 9,
        };
        let instant = jiff::Timestamp::from_nanosecond(i128::from(self.0)).map_err(|_| fmt::Error)?;
        let mut text = String::new();
        DateTimePrinter::new().precision(Some(digits)).print_timestamp(&instant, &mut text).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct("Timestamp", &crate::json::Printed(self))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|why| serde::de::Error::custom(format_args!("`{text}` is {why}")))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time", "description": "RFC 3339, UTC" })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn text_has_as_many_fractional_digits_as_needed() {
        for text in ["2026-05-27T09:00:00Z", "2026-05-27T09:00:00.500Z", "2026-05-27T09:00:00.000001Z", "1969-12-31T23:59:59.999999999Z"] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()), Ok(text.to_string()));
        }
        assert_eq!(Timestamp::parse("2026-05-27T11:00:00+02:00").map(|t| t.to_string()), Ok("2026-05-27T09:00:00Z".to_string()));
    }

    #[test]
    fn an_interval_keeps_its_grid_however_late_it_fires() {
        let base = Timestamp::from_nanos(0);
        let at = |ms: i64| Timestamp::from_nanos(ms * 1_000_000);
        assert_eq!(base.next_on_grid(100, at(0)), at(100));
        assert_eq!(base.next_on_grid(100, at(99)), at(100));
        assert_eq!(base.next_on_grid(100, at(100)), at(200));
        assert_eq!(base.next_on_grid(100, at(12_345)), at(12_400));
        assert_eq!(base.next_on_grid(100, at(-50)), at(100), "a clock that ran backwards skips nothing");
    }
}
