//! `cargo xtask sim`: simulates families of agents over virtual days, with faults at every import.
//! It prints what was simulated and what was wrong.

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use wakeful_core::record::edition::Edition;
use wakeful_tests::sim::{self, Plan, Report};

/// Simulate families of agents over virtual days.
///
/// Wild days have kills, faults at every import, clocks that jump, input that arrives twice and
/// late, and turns that do anything. Calm days follow, after which nothing may be left undone.
/// Every fifth batch is checked against the invariants.
///
/// Seed, days and edition determine a family: `sim --seed 7 --families 1` plays one again. `sim
/// --hours 8` simulates for a night.
#[derive(Parser)]
#[command(
    name = "sim",
    after_help = "exit code: 0 nothing was wrong, 1 something was or a history could not be \
                  written, 2 the command line is wrong"
)]
struct Options {
    /// The seed of the first family.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The number of families; ignored with `--minutes` or `--hours`.
    #[arg(long, value_name = "N", default_value_t = 20)]
    families: u64,
    /// Continue for N minutes, instead of a number of families.
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Continue for N hours, instead of a number of families.
    #[arg(long, value_name = "N", conflicts_with = "minutes")]
    hours: Option<u64>,
    /// The number of wild days of each family.
    #[arg(long, value_name = "N", default_value_t = 10)]
    days: u64,
    /// Print instead where each family first decides differently in the other edition.
    #[arg(long)]
    editions: bool,
    /// Also write the ledger of each agent to FOLDER/SEED/AGENT.jsonl, a line for each entry, with
    /// its place among the entries of the family. FOLDER/SEED must not exist yet.
    #[arg(long, value_name = "FOLDER", conflicts_with = "editions")]
    histories: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.editions { compare(&options) } else { live(&options) }
}

/// Prints where families first decide differently in the other edition.
fn compare(options: &Options) -> ExitCode {
    let [edition, other] = [Edition::Pages20260527, Edition::Rfc20260508];
    for seed in options.seed..options.seed + options.families {
        match sim::divergence(&Plan { seed, days: options.days, edition, loses: false }, other) {
            None => println!("seed {seed}: the same in both"),
            Some(first) => {
                let [ours, theirs] = first.decided;
                println!(
                    "seed {seed}: {} at entry {}: {edition} decides {ours}, {other} {theirs}",
                    first.agent, first.seq
                );
            }
        }
    }
    ExitCode::SUCCESS
}

fn live(options: &Options) -> ExitCode {
    let minutes = options.minutes.or(options.hours.map(|hours| 60 * hours));
    let until = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let end = until.map_or(options.families, |_| u64::MAX);
    let bar = bar(options.families);
    let (next, told) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            scope.spawn(|| {
                while until.is_none_or(|until| Instant::now() < until) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        break;
                    }
                    let plan = Plan {
                        seed: options.seed + number,
                        days: options.days,
                        edition: Edition::default(),
                        loses: false,
                    };
                    let report = match &options.histories {
                        Some(folder) => live_into(&plan, &folder.join(plan.seed.to_string())),
                        None => sim::live(&plan),
                    };
                    told.lock().unwrap_or_else(PoisonError::into_inner).push((plan.seed, report));
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Threads finish in any order, but the digest is that of the families in the order of their
    // seeds.
    told.sort_by_key(|(seed, _)| *seed);
    let mut whole = Report::default();
    told.iter().for_each(|(_, report)| whole.add(report));
    for (what, count) in &whole.befell {
        println!("{count:>10}  {what}");
    }
    for (seed, report) in told.iter().filter(|(_, report)| !report.wrong.is_empty()) {
        println!("seed {seed}: {}", report.wrong.join("; "));
    }
    println!(
        "{} families, {} agents, {} agent-days, {} turns, {} messages, {} entries, {} batches \
         checked, {} wrong; digest {}",
        told.len(),
        whole.agents,
        whole.agent_days,
        whole.turns,
        whole.messages,
        whole.entries,
        whole.checked,
        whole.wrong.len(),
        &whole.digest.chain.to_string()[..16],
    );
    ExitCode::from(u8::from(!whole.wrong.is_empty()))
}

/// Simulates a family and writes its histories into a new folder. An existing folder is an error,
/// because its files would be taken for this family's.
fn live_into(plan: &Plan, folder: &Path) -> Report {
    let (mut report, histories) = sim::live_and_tell(plan);
    let made =
        fs::create_dir_all(folder.parent().unwrap_or(folder)).and_then(|()| fs::create_dir(folder));
    if let Err(why) =
        made.and_then(|()| histories.iter().try_for_each(|history| history.write(folder)))
    {
        report
            .wrong
            .push(format!("the histories cannot be written into `{}`: {why}", folder.display()));
    }
    report
}

fn bar(families: u64) -> ProgressBar {
    let bar = ProgressBar::new(families);
    match ProgressStyle::with_template("{bar:30} {pos}/{len} families") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
