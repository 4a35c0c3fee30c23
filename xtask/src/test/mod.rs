//! `cargo xtask test`: runs, times and counts its stages, and prints one line as the result.

mod changed;
mod stages;

use std::{env, process::ExitCode, time::Instant};

use crate::{
    call::Failure,
    graph::{self, Counts, Ground, Lane, Stage, Tier, Work},
    paths::Paths,
    stage::{Took, red},
};
use stages::STAGES;

/// Run the checks and tests, with a table of times and counts
///
/// Without an option it runs what a user would call the tests. If a stage fails, the others still
/// run, except those that need what it makes. The table has each stage with its time by the clock
/// and of the processors; below it are the slowest tests. The last line is `N passed, N failed, N
/// skipped`, the sum of what the test runners counted; a stage without tests counts as one check.
/// The output of each stage is in target/xtask.
///
/// As root it installs missing Debian packages with apt-get: bubblewrap, python3, util-linux, git
/// and postgresql; with `--all` also chromium, chromium-driver and gcc-mingw-w64-x86-64.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(after_long_help = "\
environment:
  CI=true               a skipped test is a failure
  CHROME, CHROMEDRIVER  the browser and its driver; by default they are searched on PATH
  PG_BIN                the folder of PostgreSQL's programs; by default the newest of Debian's
  WAKEFUL_NO_INSTALL=1  never install a package of Debian")]
pub(crate) struct Options {
    /// Run only what a change breaks first: format, tidy, core, scenarios, fixtures, and the tests
    /// of the crates that differ from the last commit
    #[arg(long, conflicts_with_all = ["all", "stages"])]
    quick: bool,
    /// Run everything, as CI does: also clippy, Windows, browsers, bundlers, crashes, load, a fleet
    #[arg(long)]
    all: bool,
    /// Record what the hot paths cost now (tests/counts/*.txt), instead of comparing with what is
    /// recorded
    #[arg(long)]
    bless: bool,
    /// List the stages with their tiers, and run none
    #[arg(long)]
    list: bool,
    /// Run only these stages and those that they need
    #[arg(value_name = "STAGE")]
    stages: Vec<String>,
}

impl Options {
    fn tier(&self) -> Tier {
        match (self.quick, self.all) {
            (true, _) => Tier::Quick,
            // A stage that is named is meant, whatever its tier is.
            (_, true) => Tier::All,
            _ if !self.stages.is_empty() => Tier::All,
            _ => Tier::Test,
        }
    }

    fn name(&self) -> &'static str {
        match self.tier() {
            Tier::Quick => "test-quick",
            _ if !self.stages.is_empty() => "test-stages",
            Tier::Test => "test",
            Tier::All => "test-all",
        }
    }

    /// The stages that are asked for, with those that they need.
    fn selected(&self) -> Result<Vec<&'static Stage>, Failure> {
        let tier = self.tier();
        let of_tier = || STAGES.iter().filter(move |stage| stage.tier <= tier);
        if self.stages.is_empty() {
            return Ok(of_tier().collect());
        }
        let mut names: Vec<&str> = self.stages.iter().map(String::as_str).collect();
        let mut at = 0;
        while let Some(name) = names.get(at).copied() {
            let stage = of_tier().find(|stage| stage.name == name).ok_or_else(|| {
                let known: Vec<_> = of_tier().map(|stage| stage.name).collect();
                Failure::new(format!("there is no stage `{name}`; {}", known.join("; ")))
            })?;
            let more: Vec<&str> =
                stage.needs.iter().copied().filter(|need| !names.contains(need)).collect();
            names.extend(more);
            at += 1;
        }
        Ok(of_tier().filter(|stage| names.contains(&stage.name)).collect())
    }
}

/// The tests of the core, the scenarios, the fixtures and the changed crates, which only a quick
/// run needs by themselves.
const CHANGED: Stage = Stage {
    name: "quick tests",
    tier: Tier::Quick,
    does: "core, scenarios, fixtures, and the changed crates",
    needs: &[],
    lane: Lane::Native,
    work: Work::Tests(|ground| changed::tests(ground.paths)),
};

/// Runs stages. A stage whose needs failed counts as failed; the others still run.
pub(crate) fn test(paths: &Paths, options: &Options) -> Result<ExitCode, Failure> {
    let mut stages = options.selected()?;
    if options.list {
        for stage in &STAGES {
            let tier = format!("{:?}", stage.tier).to_lowercase();
            anstream::println!("{:<22} {tier:<6} {}", stage.name, stage.does);
        }
        return Ok(ExitCode::SUCCESS);
    }
    if options.quick {
        stages.push(&CHANGED);
    }
    let begun = Instant::now();
    let ground = Ground { bless: options.bless, ..Ground::new(paths) };
    let rows = graph::run(&stages, &ground);
    let whole = Took { clock: begun.elapsed(), processor: graph::processor(&rows) };
    graph::report(paths, options.name(), &rows, whole);
    let all = graph::sum(&rows);
    let strict = env::var("CI").is_ok_and(|value| value == "true");
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

/// A stage and those that it needs.
///
/// # Errors
/// If there is no stage of this name.
pub(crate) fn with_needs(name: &str) -> Result<Vec<&'static Stage>, Failure> {
    Options { stages: vec![name.to_owned()], ..Options::default() }.selected()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let earlier = &STAGES[..index];
            assert!(
                earlier.iter().all(|earlier| earlier.name != stage.name),
                "two stages are called {}",
                stage.name
            );
            for need in stage.needs {
                assert!(
                    earlier.iter().any(|earlier| earlier.name == *need),
                    "{} needs {need}",
                    stage.name
                );
            }
        }
    }

    #[test]
    fn a_tier_has_the_stages_of_those_before_it() {
        let names = |options: &Options| -> Vec<&str> {
            options.selected().expect("known").iter().map(|stage| stage.name).collect()
        };
        let quick = names(&Options { quick: true, ..Options::default() });
        let plain = names(&Options::default());
        let all = names(&Options { all: true, ..Options::default() });
        assert_eq!(quick, ["format", "tidy"]);
        assert!(quick.iter().all(|name| plain.contains(name)));
        assert!(plain.iter().all(|name| all.contains(name)) && !plain.contains(&"windows"));
        assert_eq!(all.len(), STAGES.len());
    }

    #[test]
    fn a_named_stage_brings_what_it_needs() {
        let named = |name: &str| Options { stages: vec![name.to_owned()], ..Options::default() };
        let names: Vec<_> =
            named("python").selected().expect("known").iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["set-up", "tools", "guest modules", "guests", "python"]);
        assert!(named("fly").selected().is_err_and(|why| why.what.contains("`fly`")));
    }
}
