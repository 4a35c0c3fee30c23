//! `cargo xtask crash`: lets processes die in scenarios, in random stories and for real, and prints
//! how much was tried.

use std::{
    fs,
    num::NonZeroUsize,
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use proptest::{
    collection::vec,
    test_runner::{Config, RngSeed, TestCaseError, TestRunner},
};
use wakeful::generator::{Drawn, Pace, stories};
use wakeful_tests::{
    crash::{self, Tried},
    paths,
};

/// Let processes die, and compare their stories with those that ran to their end.
///
/// Each scenario and each random story is cut after each append and continues from what the ledger
/// holds then. A story dies once more on its way from there. More stories are played by real
/// processes, which are killed. A story that fails is shrunk and printed: `wakeful run` plays it.
#[derive(Parser)]
#[command(
    name = "crash",
    after_help = "exit code: 0 nothing was lost and nothing done twice, 1 something was, \
                  2 the command line is wrong"
)]
struct Options {
    /// Cut N random stories after each append.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    stories: u64,
    /// Play N random stories in processes that are killed.
    #[arg(long, value_name = "N", default_value_t = 200)]
    kills: u64,
    /// The seed of the random stories; the same seed gives the same stories.
    #[arg(long, value_name = "N", default_value_t = 20_260_527)]
    seed: u64,
}

/// The number of stories that are drawn from one seed.
const CHUNK: u64 = 20;

fn main() -> ExitCode {
    let options = Options::parse();
    let parts = [
        scenarios(),
        drawn(
            "stories apart",
            options.stories / 2,
            options.seed,
            |drawn, _| crash::everywhere(&drawn.story(), Pace::Apart),
            Pace::Apart,
        ),
        drawn(
            "stories racing",
            options.stories / 2,
            options.seed,
            |drawn, _| crash::everywhere(&drawn.story(), Pace::Racing),
            Pace::Racing,
        ),
        drawn(
            "killed, apart",
            options.kills / 2,
            options.seed,
            |drawn, kills| crash::killed::at(drawn, Pace::Apart, kills),
            Pace::Apart,
        ),
        drawn(
            "killed, racing",
            options.kills / 2,
            options.seed,
            |drawn, kills| crash::killed::at(drawn, Pace::Racing, kills),
            Pace::Racing,
        ),
    ];
    ExitCode::from(u8::from(parts.contains(&false)))
}

/// Prints what was tried and what was wrong; `true` if nothing was.
fn told(name: &str, tried: Tried, wrong: &[String]) -> bool {
    let Tried { stories, appends, deaths, interrupted, calls } = tried;
    anstream::println!(
        "{name:<15} {stories:>6} stories {appends:>8} appends {deaths:>8} deaths {interrupted:>8} \
         runs interrupted {calls:>8} calls kept  {}",
        if wrong.is_empty() { "as without a crash" } else { "DIFFERENT" }
    );
    wrong.iter().for_each(|why| anstream::println!("{why}\n"));
    wrong.is_empty()
}

fn scenarios() -> bool {
    let (mut all, mut wrong) = (Tried::default(), Vec::new());
    for path in paths::scenarios() {
        let text = fs::read_to_string(&path).map_err(|why| why.to_string());
        match text.and_then(|text| crash::scenario::everywhere(&text)) {
            Ok(tried) => all.add(tried),
            Err(why) => wrong.push(format!("{}: {why}", path.display())),
        }
    }
    told("scenarios", all, &wrong)
}

/// Tries `count` stories on all cores; `true` if nothing was wrong.
fn drawn(
    name: &str,
    count: u64,
    seed: u64,
    try_one: impl Fn(&Drawn, &[u32]) -> Result<Tried, String> + Sync,
    pace: Pace,
) -> bool {
    let bar = ProgressBar::new(count);
    if let Ok(style) = ProgressStyle::with_template("{msg:<15} {bar:40} {pos}/{len}, {eta} left") {
        bar.set_style(style);
    }
    bar.set_message(name.to_owned());
    let (next, all, wrong) =
        (AtomicU64::new(0), Mutex::new(Tried::default()), Mutex::new(Vec::new()));
    let work = || loop {
        let from = next.fetch_add(CHUNK, Ordering::Relaxed);
        if from >= count {
            return;
        }
        let cases = u32::try_from(CHUNK.min(count - from)).unwrap_or(u32::MAX);
        // Long stories have many cuts, so only every fifth lot has them.
        let longest = if (from / CHUNK).is_multiple_of(5) { 6 } else { 3 };
        let tried = |drawn: &Drawn, kills: &[u32]| {
            let one = try_one(drawn, kills)?;
            all.lock().map_err(|why| why.to_string())?.add(one);
            bar.inc(1);
            Ok(())
        };
        if let Err(why) = lot(seed + from, cases, pace, longest, tried)
            && let Ok(mut wrong) = wrong.lock()
        {
            wrong.push(format!("seed {}: {why}", seed + from));
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    bar.finish_and_clear();
    let all = all.into_inner().unwrap_or_default();
    told(name, all, &wrong.into_inner().unwrap_or_default())
}

/// Tries stories that are drawn from one seed. The error is that of the smallest story that fails.
fn lot(
    seed: u64,
    cases: u32,
    pace: Pace,
    longest: usize,
    tried: impl Fn(&Drawn, &[u32]) -> Result<(), String>,
) -> Result<(), String> {
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_time: 120_000,
        ..Config::default()
    };
    let drawing = (stories(pace, longest), vec(0..1000_u32, 1..=3));
    TestRunner::new(config)
        .run(&drawing, |(drawn, kills)| tried(&drawn, &kills).map_err(TestCaseError::fail))
        .map_err(|why| why.to_string())
}
