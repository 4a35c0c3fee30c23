//! Stages as a graph: what each needs, what it does, and on which of two lanes it runs. `run` and
//! `test` are lists of stages.
//!
//! Two lanes, because one compiles while the other one tests, packs or waits. Within a lane one
//! stage follows the other: two calls of cargo would only wait for each other's lock.

pub mod counts;
mod slow;
mod table;

use std::{
    collections::BTreeMap,
    fs,
    sync::{Condvar, Mutex, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use serde_json::json;

use crate::{
    browser::Browser,
    call::{Call, Failure, within, without_progress},
    paths::Paths,
    stage::{Took, timed},
    times,
};
pub use counts::Counts;
pub(crate) use slow::Slow;

/// What stages share.
pub(crate) struct Ground<'a> {
    pub(crate) paths: &'a Paths,
    /// Set by the stage that finds one.
    pub(crate) browser: OnceLock<Browser>,
    /// Whether to store the fuel that the hot paths use now.
    pub(crate) bless: bool,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(paths: &'a Paths) -> Self {
        Self { paths, browser: OnceLock::new(), bless: false }
    }

    /// The browser that was found.
    pub(crate) fn browser(&self) -> Result<&Browser, Failure> {
        self.browser.get().ok_or_else(|| Failure::new("no browser was found"))
    }
}

/// One stage.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) tier: Tier,
    /// What it does, in a few words.
    pub(crate) does: &'static str,
    /// The stages that must succeed before this one; each is earlier in the list.
    pub(crate) needs: &'static [&'static str],
    pub(crate) lane: Lane,
    pub(crate) work: Work,
}

/// How much is tested. A tier has the stages of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// What a change breaks first.
    Quick,
    /// What a user would call the tests; `run` is a part of it.
    Test,
    /// Everything.
    All,
}

/// The lane of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// It calls cargo for the native target, whose build folder has one lock.
    Native,
    /// Everything else: guests, whose build folders are their own, and what is already built.
    Beside,
    /// With nothing beside it, because it judges times of real processes.
    Alone,
}

/// The work of a stage.
pub(crate) enum Work {
    /// One check, which passes or fails.
    Check(fn(&Ground<'_>) -> Result<(), Failure>),
    /// Test runners, which count.
    Tests(fn(&Ground<'_>) -> Result<Vec<Call>, Failure>),
}

/// What became of a stage: one line of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) took: Took,
    pub(crate) counts: Counts,
    /// The tests that took longest.
    pub(crate) slow: Vec<Slow>,
}

impl Row {
    fn skipped(name: &'static str) -> Self {
        Self { name, took: Took::default(), counts: Counts::one_failed(), slow: Vec::new() }
    }

    fn is_failed(&self) -> bool {
        self.counts.failed > 0
    }
}

/// The maximum time of a stage: several times what the longest one takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Runs these stages. One whose needs failed counts as failed; the others still run. The rows are
/// in the order of the list.
pub(crate) fn run(stages: &[&Stage], ground: &Ground<'_>) -> Vec<Row> {
    run_by(stages, |stage| run_one(stage, ground))
}

/// What has begun and what is done.
#[derive(Default)]
struct Board {
    /// A stage that has begun has an element, with its row once it has ended.
    rows: BTreeMap<usize, Option<Row>>,
    /// Whether a stage runs alone, or waits until it can.
    is_taken: bool,
}

impl Board {
    fn row(&self, stages: &[&Stage], name: &str) -> Option<&Row> {
        let at = stages.iter().position(|stage| stage.name == name)?;
        self.rows.get(&at)?.as_ref()
    }

    /// What a lane does next. A need that is not among these stages was not asked for, and is there
    /// already.
    fn next(&self, stages: &[&Stage], lane: Lane) -> Next {
        // Stages that run alone are begun by one lane, so that two never wait for each other.
        let is_of_lane = |of: Lane| of == lane || (of == Lane::Alone && lane == Lane::Beside);
        let is_open = |name: &&str| {
            stages.iter().any(|stage| stage.name == *name) && self.row(stages, name).is_none()
        };
        let mut left = (0..stages.len())
            .filter(|at| is_of_lane(stages[*at].lane) && !self.rows.contains_key(at))
            .peekable();
        if left.peek().is_none() {
            return Next::End;
        }
        // The other lane begins nothing while a stage runs alone or waits for that.
        let may_begin = lane == Lane::Beside || !self.is_taken;
        let ready = left.find(|at| !stages[*at].needs.iter().any(&is_open));
        ready.filter(|_| may_begin).map_or(Next::Wait, Next::Begin)
    }

    fn is_quiet(&self) -> bool {
        self.rows.values().all(Option::is_some)
    }
}

/// What a lane does next.
enum Next {
    /// It begins the stage at this place of the list.
    Begin(usize),
    /// It waits until something has ended.
    Wait,
    /// It has no stage left.
    End,
}

fn run_by(stages: &[&Stage], run: impl Fn(&Stage) -> Row + Sync) -> Vec<Row> {
    let (board, changed) = (Mutex::new(Board::default()), Condvar::new());
    let work = |lane| one_lane(stages, lane, &board, &changed, &run);
    thread::scope(|scope| {
        // Two progress bars on one line are unreadable, so only one lane shows one.
        scope.spawn(|| without_progress(|| work(Lane::Beside)));
        work(Lane::Native);
    });
    let board = board.into_inner().unwrap_or_else(PoisonError::into_inner);
    board.rows.into_values().flatten().collect()
}

/// Runs the stages of a lane, each as soon as its needs have ended.
fn one_lane(
    stages: &[&Stage],
    lane: Lane,
    board: &Mutex<Board>,
    changed: &Condvar,
    run: &(impl Fn(&Stage) -> Row + Sync),
) {
    let mut now = board.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let at = match now.next(stages, lane) {
            Next::Begin(at) => at,
            Next::Wait => {
                now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            Next::End => return,
        };
        let stage = stages[at];
        if stage.lane == Lane::Alone {
            now.is_taken = true;
            while !now.is_quiet() {
                now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
        }
        let lacks = |need: &&&str| now.row(stages, need).is_some_and(Row::is_failed);
        let lacks = stage.needs.iter().find(lacks).copied();
        now.rows.insert(at, None);
        drop(now);
        let row = match lacks {
            None => run(stage),
            Some(need) => {
                anstream::eprintln!(
                    "{}: failed, because it needs `{need}`, which failed",
                    stage.name
                );
                Row::skipped(stage.name)
            }
        };
        now = board.lock().unwrap_or_else(PoisonError::into_inner);
        now.rows.insert(at, Some(row));
        now.is_taken &= stage.lane != Lane::Alone;
        changed.notify_all();
    }
}

fn run_one(stage: &Stage, ground: &Ground<'_>) -> Row {
    let (mut counts, mut slow) = (None, Vec::new());
    let mut work = || match stage.work {
        Work::Check(check) => check(ground),
        Work::Tests(calls) => calls(ground).and_then(|calls| {
            // The runners after one that fails run too, so that their tests are counted.
            let mut done = Ok(());
            for call in calls {
                done = done.and(run_tests(call, &mut counts, &mut slow));
            }
            done?;
            // A runner that finds no test ends well. So does one whose output this program cannot
            // read.
            match counts.filter(|counts| !counts.is_empty()) {
                Some(_) => Ok(()),
                None => Err(Failure::new("the runners reported no test at all")),
            }
        }),
    };
    let (done, took) = timed(stage.name, stage.does, || within(LIMIT, &mut work));
    if let Err(failure) = &done {
        failure.show();
    }
    let counts = match done {
        Ok(()) => counts.unwrap_or_else(Counts::one_passed),
        Err(_) => counts.unwrap_or_default().with_a_failure(),
    };
    Row { name: stage.name, took, counts, slow }
}

/// Runs a test runner and takes its counts, even if it failed.
fn run_tests(call: Call, counts: &mut Option<Counts>, slow: &mut Vec<Slow>) -> Result<(), Failure> {
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
    *counts = Some([counts.unwrap_or_default(), counted].into_iter().sum());
    slow::add(slow, &printed);
    done?;
    if counted.failed > 0 {
        return Err(Failure {
            what: "the runner counted failures and still ended well".to_owned(),
            printed,
        });
    }
    Ok(())
}

/// The sum of all counts.
pub(crate) fn sum(rows: &[Row]) -> Counts {
    rows.iter().map(|row| row.counts).sum()
}

/// Prints the table of stages and the slowest tests, and keeps the times for docs/times.md.
pub(crate) fn report(paths: &Paths, command: &str, rows: &[Row], whole: Took) {
    anstream::print!("\n{}", table::table(rows, whole));
    let slowest = slow::slowest(rows);
    if !slowest.is_empty() {
        anstream::print!("\nslowest tests:\n{slowest}");
    }
    let stages: Vec<_> = rows
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "clock": row.took.clock.as_secs(),
                "processor": row.took.processor.as_secs(),
                "tests": row.counts.passed + row.counts.failed + row.counts.skipped,
            })
        })
        .collect();
    let all = json!({
        "clock": whole.clock.as_secs(),
        "processor": whole.processor.as_secs(),
        "stages": stages,
    });
    let file = times::file(paths, command);
    // Without the file, only the page about times cannot be written.
    if let Err(why) = fs::write(&file, format!("{all:#}\n")) {
        anstream::eprintln!("cannot write {}: {why}", file.display());
    }
}

/// The processor time of all stages.
pub(crate) fn processor(rows: &[Row]) -> Duration {
    rows.iter().map(|row| row.took.processor).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stage(name: &'static str, lane: Lane, needs: &'static [&'static str]) -> Stage {
        Stage { name, tier: Tier::Test, needs, does: "", lane, work: Work::Check(|_| Ok(())) }
    }

    fn row(name: &'static str, counts: Counts) -> Row {
        Row { name, took: Took::default(), counts, slow: Vec::new() }
    }

    #[test]
    fn a_failed_stage_fails_what_needs_it_and_nothing_else() {
        let stages = [
            stage("a", Lane::Native, &[]),
            stage("b", Lane::Beside, &["a"]),
            stage("c", Lane::Native, &["b"]),
            stage("d", Lane::Beside, &[]),
        ];
        let ran = Mutex::new(Vec::new());
        let rows = run_by(&stages.each_ref(), |stage| {
            ran.lock().expect("whole").push(stage.name);
            let is_bad = stage.name == "a";
            row(stage.name, if is_bad { Counts::one_failed() } else { Counts::one_passed() })
        });
        let mut ran = ran.into_inner().expect("whole");
        ran.sort_unstable();
        assert_eq!(ran, ["a", "d"]);
        let names: Vec<_> = rows.iter().map(|row| (row.name, row.counts.failed)).collect();
        assert_eq!(names, [("a", 1), ("b", 1), ("c", 1), ("d", 0)]);
    }

    #[test]
    fn a_stage_that_runs_alone_has_nothing_beside_it() {
        let stages = [
            stage("a", Lane::Native, &[]),
            stage("b", Lane::Alone, &[]),
            stage("c", Lane::Native, &[]),
            stage("d", Lane::Beside, &["a"]),
            stage("e", Lane::Alone, &["c"]),
        ];
        let running = Mutex::new(BTreeMap::<&str, usize>::new());
        let rows = run_by(&stages.each_ref(), |stage| {
            let beside = |running: &BTreeMap<&str, usize>| {
                running.values().sum::<usize>() - running[stage.name]
            };
            let mut all = running.lock().expect("whole");
            *all.entry(stage.name).or_default() += 1;
            assert!(stage.lane != Lane::Alone || beside(&all) == 0, "{all:?}");
            drop(all);
            thread::yield_now();
            let mut all = running.lock().expect("whole");
            assert!(stage.lane != Lane::Alone || beside(&all) == 0, "{all:?}");
            all.remove(stage.name);
            drop(all);
            row(stage.name, Counts::one_passed())
        });
        assert_eq!(rows.len(), stages.len());
    }

    /// Each of the two waits for the other one, so they end only if they run at once.
    #[test]
    fn the_lanes_run_at_once_and_a_need_of_the_other_lane_is_waited_for() {
        let stages = [
            stage("a", Lane::Native, &[]),
            stage("b", Lane::Beside, &[]),
            stage("c", Lane::Beside, &["a", "not asked for"]),
        ];
        let both = std::sync::Barrier::new(2);
        let order = Mutex::new(Vec::new());
        let rows = run_by(&stages.each_ref(), |stage| {
            if stage.name != "c" {
                both.wait();
            }
            order.lock().expect("whole").push(stage.name);
            row(stage.name, Counts::one_passed())
        });
        assert_eq!(rows.len(), 3);
        assert_eq!(order.into_inner().expect("whole").last(), Some(&"c"));
    }
}
