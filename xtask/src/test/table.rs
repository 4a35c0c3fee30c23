//! The table at the end of `cargo xtask test`.

use std::fmt::Write;

use super::Row;
use crate::stage::{bold, red, seconds};

/// One line per stage: its name, how long it took, what it counted.
pub(super) fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max("stage".len());
    let head = format!(
        "{:width$}  {:>9}  {:>7}  {:>7}  {:>7}",
        "stage", "time", "passed", "failed", "skipped"
    );
    let mut text = format!("{}\n", bold(head));
    for row in rows {
        let line = format!(
            "{:width$}  {:>9}  {:>7}  {:>7}  {:>7}",
            row.name,
            seconds(row.took),
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
    use crate::test::counts::Counts;

    #[test]
    fn a_failed_stage_stands_out_with_its_counts() {
        let rows = [
            Row { name: "format", took: Duration::from_millis(1250), counts: Counts::one_passed() },
            Row {
                name: "native tests",
                took: Duration::from_secs(61),
                counts: Counts { passed: 40, failed: 2, skipped: 0 },
            },
        ];
        let plain = anstream::adapter::strip_str(&table(&rows)).to_string();
        assert_eq!(
            plain,
            "stage              time   passed   failed  skipped\n\
             format            1.2 s        1        0        0\n\
             native tests     61.0 s       40        2        0\n"
        );
        assert_eq!(table(&rows).matches("\u{1b}[31m").count(), 1, "only the failed stage is red");
    }
}
