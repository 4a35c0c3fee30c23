//! `cargo xtask sim`: families of agents live through virtual days with faults at every import;
//! says how many, and what was wrong.

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

/// Lets families of agents live: wild days with kills, faults at every import, clocks that jump,
/// input that comes twice and late and providers that do whatever they like, and then calm days,
/// after which nothing may be left undone. Each fifth batch is checked against the invariants.
///
/// A family is determined by its seed, its days and its edition: `sim --seed 7 --families 1` plays
/// one again, `sim --hours 8` plays a night long.
#[derive(Parser)]
#[command(
    name = "sim",
    after_help = "exit code: 0 nothing was wrong, 1 something was or a history could not be \
                  written, 2 the command line was not understood"
)]
struct Options {
    /// The seed of the first family.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How many families; as many as there is time for, where `--minutes` or `--hours` is given.
    #[arg(long, value_name = "N", default_value_t = 20)]
    families: u64,
    /// For how many minutes to go on.
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// For how many hours to go on.
    #[arg(long, value_name = "N", conflicts_with = "minutes")]
    hours: Option<u64>,
    /// How many wild days each family lives.
    #[arg(long, value_name = "N", default_value_t = 10)]
    days: u64,
    /// Say where each family first decides otherwise in the other edition, instead.
    #[arg(long)]
    editions: bool,
    /// Write the history of each agent to FOLDER/SEED/AGENT.jsonl: a line for each entry, with its
    /// place among those of the family. There must be none of these families yet.
    #[arg(long, value_name = "FOLDER", conflicts_with = "editions")]
    histories: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.editions { compare(&options) } else { live(&options) }
}

/// Says where families first decide otherwise in the other edition.
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
    // The digest is that of the families in order, whichever thread was first.
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

/// Lets a family live, and writes its histories into a folder that is made for them: what is left
/// of another one would be taken for theirs.
fn live_into(plan: &Plan, folder: &Path) -> Report {
    let (mut report, histories) = sim::live_and_tell(plan);
    let made =
        fs::create_dir_all(folder.parent().unwrap_or(folder)).and_then(|()| fs::create_dir(folder));
    if let Err(why) =
        made.and_then(|()| histories.iter().try_for_each(|history| history.write(folder)))
    {
        report
            .wrong
            .push(format!("the histories cannot be written into {}: {why}", folder.display()));
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
