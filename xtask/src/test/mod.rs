//! `cargo xtask test`: runs, times and counts every stage, and prints one line as the result.

pub mod counts;
mod stages;
mod table;

use std::{env, fs, process::ExitCode, time::Duration};

use crate::{
    call::{Call, Failure, within},
    paths::Paths,
    stage::{red, timed},
};
use counts::Counts;
use stages::{Ground, STAGES, Stage, Work};

/// One line of the table.
struct Row {
    name: &'static str,
    took: Duration,
    counts: Counts,
}

/// Runs all stages. A stage whose needs failed counts as failed; the others still run.
pub(crate) fn test(paths: &Paths, bless: bool) -> Result<ExitCode, Failure> {
    let mut ground = Ground { paths, browser: None, bless };
    let rows = run_all(&STAGES, |stage| run_one(stage, &mut ground));
    let all: Counts = rows.iter().map(|row| row.counts).sum();
    let strict = env::var("CI").is_ok_and(|value| value == "true");
    anstream::print!("\n{}", table::table(&rows));
    let passed = is_passed(all, strict);
    if !passed && all.failed == 0 {
        anstream::eprintln!(
            "{}: {} skipped, and under CI=true nothing may be",
            red("error"),
            all.skipped
        );
    }
    anstream::println!("{all}");
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether these counts are good enough; under CI=true a skipped test is a failure.
fn is_passed(all: Counts, strict: bool) -> bool {
    all.failed == 0 && (all.skipped == 0 || !strict)
}

fn run_all(stages: &[Stage], mut run: impl FnMut(&Stage) -> Row) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for stage in stages {
        // A row of each need exists already: `STAGES` lists it earlier, and a test checks that.
        let failed_need = stage
            .needs
            .iter()
            .find(|need| rows.iter().any(|row| row.name == **need && row.counts.failed > 0));
        rows.push(match failed_need {
            None => run(stage),
            Some(need) => {
                anstream::eprintln!(
                    "{}: failed, because it needs `{need}`, which failed",
                    stage.name
                );
                Row { name: stage.name, took: Duration::ZERO, counts: Counts::one_failed() }
            }
        });
    }
    rows
}

/// The most time that a stage may take: several times what the longest takes on two cores.
const LIMIT: Duration = Duration::from_secs(25 * 60);

fn run_one(stage: &Stage, ground: &mut Ground) -> Row {
    let mut counts = None;
    let mut work = || match stage.work {
        Work::Check(check) => check(ground),
        Work::Tests(call) => call(ground).and_then(|call| run_tests(call, &mut counts)),
    };
    let (done, took) = timed(stage.name, stage.does, || within(LIMIT, &mut work));
    if let Err(failure) = &done {
        failure.show();
    }
    let counts = match done {
        Ok(()) => counts.unwrap_or_else(Counts::one_passed),
        Err(_) => counts.unwrap_or_default().with_a_failure(),
    };
    Row { name: stage.name, took, counts }
}

/// Runs a test runner and takes its counts, even if it failed.
fn run_tests(call: Call, counts: &mut Option<Counts>) -> Result<(), Failure> {
    let log = call.log();
    let done = call.recorded();
    let printed = match &done {
        Ok(printed) => printed.clone(),
        // The failure holds the output only if it was not shown, so the log is read.
        Err(_) => fs::read(&log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default(),
    };
    // The counts are stored before the error returns, so the table shows them too.
    let counted = Counts::parse(&printed);
    *counts = Some(counted);
    done?;
    // A runner that finds no test ends well. So does one whose output this program cannot read.
    if counted.is_empty() {
        return Err(Failure { what: "the runner reported no test at all".to_owned(), printed });
    }
    if counted.failed > 0 {
        return Err(Failure {
            what: "the runner counted failures and still ended well".to_owned(),
            printed,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &'static str, needs: &'static [&'static str]) -> Stage {
        Stage { name, needs, does: "", work: Work::Check(|_| Ok(())) }
    }

    #[test]
    fn a_failed_stage_fails_what_needs_it_and_nothing_else() {
        let stages = [stage("a", &[]), stage("b", &["a"]), stage("c", &["b"]), stage("d", &[])];
        let mut ran = Vec::new();
        let rows = run_all(&stages, |stage| {
            ran.push(stage.name);
            let counts =
                if stage.name == "a" { Counts::one_failed() } else { Counts::one_passed() };
            Row { name: stage.name, took: Duration::ZERO, counts }
        });
        assert_eq!(ran, ["a", "d"]);
        let failed: Vec<u64> = rows.iter().map(|row| row.counts.failed).collect();
        assert_eq!(failed, [1, 1, 1, 0]);
    }

    #[test]
    fn a_skipped_test_is_a_failure_under_ci_only() {
        let counts = |failed, skipped| Counts { passed: 3, failed, skipped };
        assert!(is_passed(counts(0, 0), true) && is_passed(counts(0, 1), false));
        assert!(
            !is_passed(counts(0, 1), true)
                && !is_passed(counts(1, 0), false)
                && !is_passed(counts(1, 0), true)
        );
    }

    #[test]
    fn every_need_is_the_name_of_an_earlier_stage() {
        for (index, stage) in STAGES.iter().enumerate() {
            assert!(
                STAGES[..index].iter().all(|earlier| earlier.name != stage.name),
                "two stages are called {}",
                stage.name
            );
            for need in stage.needs {
                assert!(
                    STAGES[..index].iter().any(|earlier| earlier.name == *need),
                    "{} needs {need}",
                    stage.name
                );
            }
        }
    }
}
