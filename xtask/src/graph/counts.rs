//! How many tests passed, failed and were skipped, by the counts of their runners.

use std::{fmt, iter::Sum};

/// The counts of one stage, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests that ran and passed.
    pub passed: u64,
    /// Tests that ran and failed.
    pub failed: u64,
    /// Tests that were found and not run.
    pub skipped: u64,
}

impl Counts {
    /// Sums the summary lines of cargo's test runner and wasm-bindgen's (`test result: ok. 3
    /// passed; ...`), of Node's (`# pass 3` or `ℹ pass 3`) and of Python's (`Ran 3 tests in 0.1s`,
    /// then `FAILED (failures=1, skipped=1)`).
    pub fn parse(printed: &str) -> Self {
        let mut counts = Self::default();
        for line in printed.lines() {
            let line = without_colours(line);
            let line = line.trim();
            if let Some(summary) = line.strip_prefix("test result: ") {
                // The verdict stands before the first full stop: `ok. ` or `FAILED. `.
                for part in summary.split_once(". ").map_or("", |(_, counts)| counts).split("; ") {
                    if let Some((number, what)) = part.split_once(' ') {
                        counts.add(what, number);
                    }
                }
            } else if let Some((what, number)) = line
                .strip_prefix("# ")
                .or(line.strip_prefix("ℹ "))
                .and_then(|rest| rest.split_once(' '))
            {
                counts.add(what, number);
            } else if let Some((ran, _)) =
                line.strip_prefix("Ran ").and_then(|rest| rest.split_once(" test"))
            {
                counts.add("passed", ran);
            } else if let Some(others) = line.strip_prefix("OK (").or(line.strip_prefix("FAILED ("))
            {
                // Failed and skipped tests are part of this number.
                let mut not_passed = Self::default();
                for (what, number) in
                    others.trim_end_matches(')').split(", ").filter_map(|part| part.split_once('='))
                {
                    not_passed.add(what, number);
                }
                counts.passed =
                    counts.passed.saturating_sub(not_passed.failed + not_passed.skipped);
                counts = [counts, not_passed].into_iter().sum();
            }
        }
        counts
    }

    /// A check that passed.
    pub fn one_passed() -> Self {
        Self { passed: 1, ..Self::default() }
    }

    /// A check that failed.
    pub fn one_failed() -> Self {
        Self { failed: 1, ..Self::default() }
    }

    /// A stage that failed has at least one failure. If its runner counted none, it did not compile
    /// or it crashed.
    pub fn with_a_failure(self) -> Self {
        Self { failed: self.failed.max(1), ..self }
    }

    /// Whether no test was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, what: &str, number: &str) {
        // Other lines have the same form, such as Node's `# Subtest: name`.
        let Ok(number) = number.parse::<u64>() else { return };
        match what {
            "passed" | "pass" => self.passed += number,
            // Node counts a test that never ends as cancelled. Python counts an exception as an
            // error, and an assertion as a failure.
            "failed" | "fail" | "cancelled" | "failures" | "errors" | "unexpected successes" => {
                self.failed += number
            }
            "ignored" | "skipped" | "todo" => self.skipped += number,
            // The rest are not outcomes: `measured`, `filtered out`, and Node's sums `tests` and
            // `suites`.
            _ => {}
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            passed: sum.passed + one.passed,
            failed: sum.failed + one.failed,
            skipped: sum.skipped + one.skipped,
        })
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

fn without_colours(line: &str) -> String {
    anstream::adapter::strip_str(line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_and_wasm_bindgen_are_counted_over_all_their_binaries() {
        let printed = "running 4 tests\n\
                       test a ... ok\n\n\
                       test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered \
                       out; finished in 0.01s\n\
                       test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 \
                       filtered out; finished in 0.01s\n";
        assert_eq!(Counts::parse(printed), Counts { passed: 4, failed: 2, skipped: 1 });
    }

    #[test]
    fn colours_hide_no_count() {
        let printed = "test result: \u{1b}[31mFAILED\u{1b}[0m. 3 passed; 1 failed; 0 ignored; 0 \
                       measured; 0 filtered out\n";
        assert_eq!(Counts::parse(printed), Counts { passed: 3, failed: 1, skipped: 0 });
    }

    #[test]
    fn both_reporters_of_node_are_counted() {
        let tap = "# tests 6\n\
                   # suites 0\n\
                   # pass 2\n\
                   # fail 1\n\
                   # cancelled 1\n\
                   # skipped 1\n\
                   # todo 1\n\
                   # duration_ms 12.5\n";
        assert_eq!(Counts::parse(tap), Counts { passed: 2, failed: 2, skipped: 2 });
        assert_eq!(
            Counts::parse("ℹ tests 2\nℹ pass 2\nℹ fail 0\nℹ skipped 0\n"),
            Counts { passed: 2, failed: 0, skipped: 0 }
        );
    }

    #[test]
    fn pythons_verdict_is_taken_from_what_it_ran() {
        let printed = "..FEs\nRan 5 tests in 0.002s\n\nFAILED (failures=1, errors=1, skipped=1)\n";
        assert_eq!(Counts::parse(printed), Counts { passed: 2, failed: 2, skipped: 1 });
        assert_eq!(Counts::parse("Ran 1 test in 0.000s\n\nOK\n"), Counts::one_passed());
        assert_eq!(
            Counts::parse("Ran 2 tests in 0.000s\n\nOK (skipped=2)\n"),
            Counts { passed: 0, failed: 0, skipped: 2 }
        );
        assert!(Counts::parse("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n").is_empty());
    }

    #[test]
    fn what_is_no_summary_counts_nothing() {
        assert!(
            Counts::parse("error: could not compile\n# pass the salt\ntest passed 3\n").is_empty()
        );
        assert_eq!(Counts::default().with_a_failure(), Counts::one_failed());
        assert_eq!(Counts { passed: 3, failed: 2, skipped: 0 }.with_a_failure().failed, 2);
    }

    #[test]
    fn the_last_line_reads_as_agreed() {
        assert_eq!(
            Counts { passed: 12, failed: 0, skipped: 1 }.to_string(),
            "12 passed, 0 failed, 1 skipped"
        );
    }
}
