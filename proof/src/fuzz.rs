//! `cargo xtask fuzz`: libFuzzer looks for bytes that break the decoder, the readers or the guest.
//!
//! `tests/src/fuzz.rs` has the targets. Inputs that reach new code are kept in target/fuzz while it
//! runs. `--keep` adds to fuzz/corpus those that reach more than the inputs in it, and every test
//! run replays the corpus.

use std::{fs, num::NonZeroUsize, process::ExitCode, thread};

use xtask::{
    call::{Call, Failure},
    guests,
    needed::missing,
    paths::Paths,
    set_up,
    stage::{green, stage},
    tools,
};

/// The options of the command.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
pub(crate) struct Request {
    /// The targets; all of them if none is named
    #[arg(value_name = "TARGET", value_parser = TARGETS)]
    targets: Vec<String>,
    /// Try each target for this time
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u64,
    /// Add to fuzz/corpus the inputs that reach more code than those in it
    #[arg(long = "keep")]
    keeps: bool,
}

impl Request {
    fn targets(&self) -> Vec<&'static str> {
        let is_asked = |target: &&str| self.targets.iter().any(|asked| asked == target);
        let all = || TARGETS.into_iter();
        if self.targets.is_empty() { all().collect() } else { all().filter(is_asked).collect() }
    }
}

/// All targets.
const TARGETS: [&str; 4] = ["facts", "foreign", "ledger", "exports"];

/// The largest input in bytes. Larger inputs are slow and find nothing that their parts do not.
const LONGEST: &str = "-max_len=8192";

/// The longest time for an input in seconds; a slower one is a finding.
const SLOWEST: &str = "-timeout=30";

/// Tries each target, one per core in parallel.
pub(crate) fn fuzz(paths: &Paths, request: &Request) -> Result<ExitCode, Failure> {
    if cargo_fuzz(paths, "fuzz-version").arg("--version").answer().is_err() {
        let how = "`rustup toolchain install nightly` and `cargo install --locked cargo-fuzz`";
        return Ok(missing("cargo-fuzz with a nightly compiler", how));
    }
    stage("set-up", "checking Node and the wasm targets", || set_up::set_up(paths))?;
    stage("tools", "building the tools that make guests", || tools::build(paths))?;
    stage("guests", "building the guests", || guests::build(paths))?;
    // No sanitizer: there is no unsafe code to watch, and fuzzing is several times faster without
    // one.
    stage("fuzz targets", "building them with libFuzzer's counters", || {
        cargo_fuzz(paths, "fuzz-build").args(["build", "-s", "none"]).build()
    })?;
    // Each target is one thread.
    let beside = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    for targets in request.targets().chunks(beside) {
        let tried: Vec<_> = thread::scope(|scope| {
            let trying: Vec<_> = targets
                .iter()
                .map(|target| scope.spawn(|| try_one(paths, target, request.seconds)))
                .collect();
            trying
                .into_iter()
                .map(|trying| {
                    trying.join().unwrap_or_else(|_| Err(Failure::new("a thread broke down")))
                })
                .collect()
        });
        for (target, executed) in targets.iter().zip(tried) {
            let executed = executed?;
            let kept = if request.keeps {
                format!(", {} kept", keep(paths, target)?)
            } else {
                String::new()
            };
            anstream::println!(
                "{target}: {executed} inputs in {} s, {}{kept}",
                request.seconds,
                green("no finding")
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn cargo_fuzz(paths: &Paths, log: &str) -> Call {
    // Through rustup, because the cargo of this tree has a fixed compiler, which is not a nightly.
    Call::new(paths, log, "rustup")
        .args(["run", "nightly", "cargo", "fuzz"])
        .folder(paths.at("fuzz"))
}

/// Runs libFuzzer on a target. It writes into the first folder and reads all of them.
fn run(
    paths: &Paths,
    log: &str,
    target: &str,
    folders: [&str; 2],
    options: &[&str],
) -> Result<String, Failure> {
    let folders = folders.map(|folder| paths.at(folder).join(target));
    for folder in &folders {
        fs::create_dir_all(folder).map_err(|why| {
            Failure::new(format!("cannot make the folder {}: {why}", folder.display()))
        })?;
    }
    cargo_fuzz(paths, log)
        .args(["run", "-s", "none", target])
        .args(folders)
        .arg("--")
        .args(options)
        .recorded()
}

/// Fuzzes one target. Returns the number of inputs that it tried.
fn try_one(paths: &Paths, target: &str, seconds: u64) -> Result<u64, Failure> {
    let time = format!("-max_total_time={seconds}");
    let log = format!("fuzz-{target}");
    let options = [time.as_str(), "-print_final_stats=1", LONGEST, SLOWEST];
    let printed = stage(&log, &format!("{seconds} s of inputs"), || {
        // libFuzzer writes into the first folder, so an ordinary run does not change the corpus.
        run(paths, &log, target, ["target/fuzz", "fuzz/corpus"], &options).map_err(|failure| {
            Failure {
                what: format!(
                    "{}; the input is in fuzz/artifacts/{target}, `cargo fuzz fmt` and the log \
                     tell more",
                    failure.what
                ),
                ..failure
            }
        })
    })?;
    executed(&printed).ok_or_else(|| {
        Failure::new(format!("libFuzzer did not say how many inputs `{target}` was given"))
    })
}

fn executed(printed: &str) -> Option<u64> {
    let line =
        printed.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))?;
    line.trim().parse().ok()
}

/// Adds to the corpus the inputs that reach more code. Returns its new size.
fn keep(paths: &Paths, target: &str) -> Result<usize, Failure> {
    run(
        paths,
        &format!("fuzz-keep-{target}"),
        target,
        // The other way round: a merge writes into the corpus.
        ["fuzz/corpus", "target/fuzz"],
        &["-merge=1", LONGEST],
    )?;
    let folder = paths.at("fuzz/corpus").join(target);
    let count = fs::read_dir(&folder).map(Iterator::count);
    count.map_err(|why| Failure::new(format!("cannot read {}: {why}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libfuzzer_counted_is_read() {
        assert_eq!(executed("Done\nstat::number_of_executed_units: 512\nstat::x: 1\n"), Some(512));
        assert_eq!(executed("Done\n"), None);
    }

    #[test]
    fn each_target_is_one_of_the_crate() {
        let manifest = include_str!("../../fuzz/Cargo.toml");
        for target in TARGETS {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    }
}
