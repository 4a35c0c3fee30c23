//! The table of stages.

use std::fmt::Write;

use super::{Row, sum};
use crate::stage::{Took, bold, red, seconds};

/// One line per stage: its name, how long it took by the clock and of the processors, and what it
/// counted. The last line has the whole.
pub(super) fn table(rows: &[Row], whole: Took) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("stage".len());
    let head = format!(
        "{:width$}  {:>9}  {:>9}  {:>7}  {:>7}  {:>7}",
        "stage", "clock", "processor", "passed", "failed", "skipped"
    );
    let all = Row { name: "all", took: whole, counts: sum(rows), slow: Vec::new() };
    let mut text = format!("{}\n", bold(head));
    for row in rows.iter().chain([&all]) {
        let line = format!(
            "{:width$}  {:>9}  {:>9}  {:>7}  {:>7}  {:>7}",
            row.name,
            seconds(row.took.clock),
            seconds(row.took.processor),
            row.counts.passed,
            row.counts.failed,
            row.counts.skipped
        );
        // Writing to a string does not fail.
        let _ = if row.counts.failed > 0 {
            writeln!(text, "{}", red(line))
        } else {
            writeln!(text, "{line}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::graph::Counts;

    #[test]
    fn a_failed_stage_stands_out_with_its_counts() {
        let took = |clock, processor| Took {
            clock: Duration::from_millis(clock),
            processor: Duration::from_millis(processor),
        };
        let rows = [
            Row {
                name: "format",
                took: took(1250, 900),
                counts: Counts::one_passed(),
                slow: Vec::new(),
            },
            Row {
                name: "native tests",
                took: took(61_000, 90_000),
                counts: Counts { passed: 40, failed: 2, skipped: 0 },
                slow: Vec::new(),
            },
        ];
        let plain = anstream::adapter::strip_str(&table(&rows, took(61_500, 90_900))).to_string();
        assert_eq!(
            plain,
            "stage             clock  processor   passed   failed  skipped\n\
             format            1.2 s      0.9 s        1        0        0\n\
             native tests     61.0 s     90.0 s       40        2        0\n\
             all              61.5 s     90.9 s       41        2        0\n"
        );
        assert_eq!(table(&rows, took(0, 0)).matches("\u{1b}[31m").count(), 2, "red only if failed");
    }
}
