//! Runs the tests of the core with counters in our own crates. cargo-llvm-cov builds, runs and
//! exports.
//!
//! It builds in a separate target folder, into which the compiled dependencies are copied first.
//! Dependencies have no counters, so they, and above all wasmtime, need not be built a second time.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::self_contained::{self, BESIDE, GUEST};
use xtask::{
    call::{Call, Failure},
    copy,
    graph::Counts,
    native,
    paths::Paths,
    stage::stage,
};

/// The built artifacts that are copied.
const BUILT: [&str; 3] = ["target/debug/deps", "target/debug/build", "target/debug/.fingerprint"];

/// The results of a run.
pub(super) struct Ran {
    pub(super) counts: Counts,
    /// The tests that did not run, because they need more than the source tree.
    pub(super) left_out: Vec<String>,
    /// The lines, as an lcov text.
    pub(super) lcov: String,
    /// Functions and regions, as llvm-cov's JSON.
    pub(super) json: String,
}

/// Whether cargo-llvm-cov and the LLVM programs that it calls are installed.
pub(super) fn is_installed(paths: &Paths) -> bool {
    let answers = |call: Call| call.answer().ok();
    // cargo-llvm-cov takes the programs from these variables, or from rustup's component.
    let named = ["LLVM_COV", "LLVM_PROFDATA"].iter().all(|name| env::var_os(name).is_some());
    let in_component = || {
        let sysroot = answers(Call::new(paths, "rustc", "rustc").args(["--print", "sysroot"]))?;
        let hosts = fs::read_dir(Path::new(sysroot.trim()).join("lib/rustlib")).ok()?;
        let programs = hosts.flatten().map(|host| {
            host.path().join("bin").join(format!("llvm-cov{}", env::consts::EXE_SUFFIX))
        });
        Some(programs.into_iter().any(|program| program.is_file()))
    };
    answers(cargo_llvm_cov(paths, "coverage-version").arg("--version")).is_some()
        && (named || in_component().unwrap_or(false))
}

/// Runs the unit tests of the core, and the tests of wakeful-tests that need only the source tree.
pub(super) fn run(paths: &Paths) -> Result<Ran, Failure> {
    copy::take_over(paths, &folder(paths), &BUILT)?;
    // A test that does less without its recordings would make the numbers depend on the machine.
    let left_out = self_contained::others(paths, &[GUEST, BESIDE])?;
    // The first call removes earlier counters; the second keeps those of the first.
    let core = cargo_llvm_cov(paths, "coverage-core").args([
        "--no-report",
        "-p",
        "wakeful-core",
        "--all-features",
        "--lib",
    ]);
    // Only one package has a target of this name. The selection is that of every native build, so
    // that the copied dependencies fit.
    let tests = cargo_llvm_cov(paths, "coverage-tests")
        .args(["--no-report", "--no-clean"])
        .args(native::SELECTION);
    let tests = tests.args(["--test", "all", "--"]).args(self_contained::leaving_out(&left_out));
    let core = stage("core", "its unit tests, with counters", || core.recorded())?;
    let tests = stage("tests", "the tests that need only the source tree, with counters", || {
        tests.recorded()
    })?;
    let report = |format: &str| {
        let file = folder(paths).join(format!("report{format}"));
        let call = cargo_llvm_cov(paths, "coverage-report")
            .args(["report", format, "--output-path"])
            .arg(&file);
        call.recorded()?;
        fs::read_to_string(&file)
            .map_err(|why| Failure::new(format!("cannot read {}: {why}", file.display())))
    };
    let (lcov, json) = stage("counters", "merging and reading them", || {
        Ok((report("--lcov")?, report("--json")?))
    })?;
    Ok(Ran {
        counts: [core, tests].iter().map(|printed| Counts::parse(printed)).sum(),
        left_out,
        lcov,
        json,
    })
}

fn folder(paths: &Paths) -> PathBuf {
    paths.target().join("coverage")
}

fn cargo_llvm_cov(paths: &Paths, log: &str) -> Call {
    Call::cargo(paths, log, "llvm-cov")
        .env("CARGO_LLVM_COV_TARGET_DIR", folder(paths).join("target"))
}
