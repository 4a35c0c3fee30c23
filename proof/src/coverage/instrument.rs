//! Builds the tests of the core with counters in our own crates, and runs them.
//!
//! The counters come from a wrapper around rustc that cargo calls for the members of the workspace only, and that wrapper is this
//! program: what comes from a registry, wasmtime above all, is neither instrumented nor built a second time.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use serde_json::Value;

use crate::self_contained::{self, BESIDE, GUEST};
use xtask::{
    call::{Call, Failure, exit_code},
    native,
    paths::{Paths, files_below},
    test::counts::Counts,
};

/// Set for the build, so that this program knows that it is called as the wrapper.
const WRAPS: &str = "WAKEFUL_COVERAGE_WRAPS_RUSTC";

/// The packages whose tests are run: name, and folder from the root.
const TESTED: [(&str, &str); 2] = [("wakeful-core", "core"), ("wakeful-tests", "tests")];

/// A test binary with counters in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestBinary {
    pub(super) package: &'static str,
    folder: &'static str,
    pub(super) path: PathBuf,
}

/// What ran, and what it left.
pub(super) struct Ran {
    pub(super) binaries: Vec<TestBinary>,
    pub(super) counts: Counts,
    /// The tests that were left out, because they need more than the source tree.
    pub(super) left_out: Vec<String>,
    /// The counters that the tests wrote.
    pub(super) profiles: Vec<PathBuf>,
}

/// Calls rustc with counters where this program was started as the wrapper; nothing where it was not.
pub(crate) fn wrap_rustc() -> Option<ExitCode> {
    env::var_os(WRAPS)?;
    let mut words = env::args_os().skip(1);
    let rustc = words.next()?;
    match Command::new(&rustc).args(words).args(["-C", "instrument-coverage"]).status() {
        Ok(status) => Some(exit_code(status)),
        Err(why) => {
            anstream::eprintln!("cannot start {}: {why}", rustc.display());
            Some(ExitCode::FAILURE)
        }
    }
}

/// Builds the test binaries. The packages are those of every native build, so that dependencies are the ones that are there already.
pub(super) fn build(paths: &Paths, folder: &Path) -> Result<Vec<TestBinary>, Failure> {
    let wrapper = env::current_exe().map_err(|why| Failure::new(format!("this program does not know where it is: {why}")))?;
    let messages = Call::cargo(paths, "coverage-build", "test")
        .args(native::SELECTION)
        .args(["--lib", "--test", "all", "--no-run", "--message-format=json-render-diagnostics"])
        .env("RUSTC_WORKSPACE_WRAPPER", wrapper)
        .env(WRAPS, "1")
        // A program with counters that runs while building writes them there, and not into the source tree.
        .env("LLVM_PROFILE_FILE", folder.join("build-%m.profraw"))
        .answer_with_progress()?;
    let binaries: Vec<TestBinary> = messages.lines().filter_map(|line| of_message(paths.root(), line)).collect();
    for (package, _) in TESTED {
        if !binaries.iter().any(|binary| binary.package == package) {
            return Err(Failure::new(format!("cargo built no test binary of {package}; see `cargo test -p {package} --no-run`")));
        }
    }
    Ok(binaries)
}

/// The test binary that a message of cargo tells of, if it is of a package whose tests are run, and has tests.
fn of_message(root: &Path, line: &str) -> Option<TestBinary> {
    let message: Value = serde_json::from_str(line).ok()?;
    // A program of such a package is built beside its tests, and has none.
    message.get("profile")?.get("test")?.as_bool().filter(|is_test| *is_test)?;
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    let (package, folder) = TESTED.into_iter().find(|(_, folder)| manifest == root.join(folder).join("Cargo.toml"))?;
    Some(TestBinary { package, folder, path })
}

/// Runs the test binaries; counters of an earlier run are taken away first.
pub(super) fn run(paths: &Paths, folder: &Path, binaries: Vec<TestBinary>) -> Result<Ran, Failure> {
    let profiles = folder.join("profiles");
    let unusable = |why: std::io::Error| Failure::new(format!("cannot use {}: {why}", profiles.display()));
    if profiles.exists() {
        fs::remove_dir_all(&profiles).map_err(unusable)?;
    }
    fs::create_dir_all(&profiles).map_err(unusable)?;
    let left_out = self_contained::others(paths, &[GUEST, BESIDE])?;
    let mut counts = Vec::new();
    for binary in &binaries {
        let printed = Call::new(paths, &format!("coverage-{}", binary.package), &binary.path)
            .args(self_contained::leaving_out(&left_out))
            .folder(paths.at(binary.folder))
            .env("LLVM_PROFILE_FILE", profiles.join("%m-%p.profraw"))
            .recorded()?;
        counts.push(Counts::of(&printed));
    }
    let profiles = files_below(&profiles).map_err(unusable)?;
    if profiles.is_empty() {
        return Err(Failure::new("the tests wrote no counters, so they were built without; run `cargo xtask coverage` in a clean clone"));
    }
    Ok(Ran { binaries, counts: counts.into_iter().sum(), left_out, profiles })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_binaries_are_told_from_other_messages() {
        let message = |folder: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/tree/{folder}/Cargo.toml","profile":{{"test":true}},"executable":{executable}}}"#
            )
        };
        let of = |line: &str| of_message(Path::new("/tree"), line);
        let found = of(&message("core", r#""/tree/target/debug/deps/wakeful_core-1""#)).expect("a binary");
        assert_eq!((found.package, found.path), ("wakeful-core", PathBuf::from("/tree/target/debug/deps/wakeful_core-1")));
        assert_eq!(of(&message("tests", "null")), None, "a library");
        let program = message("tests", r#""/tree/target/debug/crash""#).replace(r#""test":true"#, r#""test":false"#);
        assert_eq!(of(&program), None, "a program");
        assert_eq!(of(&message("host-native", r#""/tree/target/debug/deps/wakeful-1""#)), None, "its tests are not run");
        assert_eq!(of(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(of("   Compiling wakeful-core"), None);
    }
}
