//! Timestamps as text, compared with the library jiff (contract 1.3).

use jiff::{Timestamp as Oracle, fmt::temporal::DateTimePrinter};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};
use wakeful_core::time::{Timestamp, TimestampError};

/// How the library reads a text of our grammar.
fn oracle(text: &str) -> Result<Timestamp, TimestampError> {
    let instant: Oracle = text.parse().map_err(|_| TimestampError::NotRfc3339)?;
    i64::try_from(instant.as_nanosecond())
        .map(Timestamp::from_nanos)
        .map_err(|_| TimestampError::OutOfRange)
}

/// How the library writes an instant with 0, 3, 6 or 9 digits after the second, as few as possible.
fn written(nanos: i64) -> String {
    let digits =
        [0, 3, 6].into_iter().find(|digits| nanos % 10_i64.pow(9 - digits) == 0).unwrap_or(9);
    let instant = Oracle::from_nanosecond(i128::from(nanos)).expect("an instant");
    let mut text = String::new();
    let printer = DateTimePrinter::new().precision(Some(u8::try_from(digits).expect("a digit")));
    printer.print_timestamp(&instant, &mut text).expect("text");
    text
}

/// Texts of the grammar, or nearly: a field may be out of bounds. The hours of the offset may not,
/// because the library accepts more of them.
fn texts() -> impl Strategy<Value = String> {
    let date = (0..=9999_u32, 0..=13_u32, 0..=32_u32)
        .prop_map(|(year, month, day)| format!("{year:04}-{month:02}-{day:02}"));
    let time = (0..=25_u32, 0..=61_u32, 0..=61_u32)
        .prop_map(|(hour, minute, second)| format!("{hour:02}:{minute:02}:{second:02}"));
    let offset = prop_oneof![
        Just("Z".to_owned()),
        Just("z".to_owned()),
        "[+-]([01][0-9]|2[0-3]):[0-6][0-9]"
    ];
    (date, "[Tt ]", time, prop_oneof![Just(String::new()), r"\.[0-9]{0,10}"], offset).prop_map(
        |(date, between, time, fraction, offset)| {
            format!("{date}{between}{time}{fraction}{offset}")
        },
    )
}

proptest! {
    #![proptest_config(Config {
        cases: 4_000,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn an_instant_is_written_as_the_library_writes_it_and_read_back(
        nanos: i64, precision in 0..=9_u32,
    ) {
        let nanos = nanos - nanos % 10_i64.pow(precision);
        let text = Timestamp::from_nanos(nanos).to_string();
        prop_assert_eq!(&text, &written(nanos));
        prop_assert_eq!(Timestamp::parse(&text), Ok(Timestamp::from_nanos(nanos)));
    }

    #[test]
    fn a_text_is_read_as_the_library_reads_it(text in texts()) {
        prop_assert_eq!(Timestamp::parse(&text), oracle(&text));
    }

    #[test]
    fn a_text_with_a_wrong_character_is_read_only_if_the_library_reads_the_same(
        nanos: i64, at: prop::sample::Index, other in any::<char>(),
    ) {
        let mut text: Vec<char> = Timestamp::from_nanos(nanos).to_string().chars().collect();
        let at = at.index(text.len());
        text[at] = other;
        let text: String = text.into_iter().collect();
        if let Ok(read) = Timestamp::parse(&text) {
            prop_assert_eq!(Ok(read), oracle(&text));
        }
    }
}
