//! The tests that took longest, by what their runners say.

use std::{cmp::Reverse, time::Duration};

use super::Row;

/// How many are named.
const NAMED: usize = 12;

/// A test and its time by the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slow {
    pub(crate) name: String,
    pub(crate) took: Duration,
}

/// Adds the tests of a runner that took longest.
pub(super) fn add(slow: &mut Vec<Slow>, printed: &str) {
    slow.extend(parse(printed));
    slow.sort_by_key(|slow| Reverse(slow.took));
    slow.truncate(NAMED);
}

/// Rust's runner prints `test a::b ... ok <1.234s>` if it is asked for times, and Node's `ok 1 - a`
/// before `duration_ms: 1234.5`, or `✔ a (1234.5ms)`.
fn parse(printed: &str) -> Vec<Slow> {
    let mut all = Vec::new();
    let mut last = None;
    for line in printed.lines().map(str::trim) {
        if let Some((name, rest)) =
            line.strip_prefix("test ").and_then(|line| line.split_once(" ... "))
        {
            let seconds = rest.split_once('<').and_then(|(_, time)| time.strip_suffix("s>"));
            all.extend(seconds.and_then(|it| it.parse().ok()).map(|it| (name.to_owned(), it)));
        } else if let Some((_, name)) =
            line.strip_prefix("ok ").and_then(|line| line.split_once(" - "))
        {
            last = Some(name.to_owned());
        } else if let Some(milliseconds) = line.strip_prefix("duration_ms: ") {
            let milliseconds = milliseconds.parse::<f64>().ok();
            all.extend(last.take().zip(milliseconds).map(|(name, it)| (name, it / 1000.0)));
        } else if let Some((name, time)) = line
            .strip_prefix("✔ ")
            .and_then(|line| line.strip_suffix("ms)"))
            .and_then(|line| line.rsplit_once(" ("))
        {
            all.extend(time.parse::<f64>().ok().map(|it| (name.to_owned(), it / 1000.0)));
        }
    }
    let is_time = |seconds: &f64| seconds.is_finite() && *seconds >= 0.0;
    all.into_iter()
        .filter(|(_, seconds)| is_time(seconds))
        .map(|(name, seconds)| Slow { name, took: Duration::from_secs_f64(seconds) })
        .collect()
}

/// A line for each of the slowest tests of all stages.
pub(super) fn slowest(rows: &[Row]) -> String {
    let mut all: Vec<(&str, &Slow)> =
        rows.iter().flat_map(|row| row.slow.iter().map(|slow| (row.name, slow))).collect();
    all.sort_by_key(|(_, slow)| Reverse(slow.took));
    all.iter()
        .take(NAMED)
        .map(|(stage, Slow { name, took })| {
            format!("{:>7.1} s  {stage}: {name}\n", took.as_secs_f64())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_runners_are_read_and_the_slowest_are_first() {
        let mut slow = Vec::new();
        add(
            &mut slow,
            "test a::b ... ok <0.250s>\ntest c ... FAILED <2.000s>\ntest d ... ignored\n\
             # Subtest: e\nok 1 - e\n  ---\n  duration_ms: 1500.5\n  ...\n✔ f (12.5ms)\nok then\n",
        );
        let names: Vec<_> =
            slow.iter().map(|slow| (slow.name.as_str(), slow.took.as_millis())).collect();
        assert_eq!(names, [("c", 2000), ("e", 1500), ("a::b", 250), ("f", 12)]);
    }
}
