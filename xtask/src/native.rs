//! The native side: the core, the host with the command line, and the tests.

use std::{fs, path::PathBuf};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The one selection of packages that build, clippy and test share. Cargo unifies features per
/// selection, so with another one it would compile wasmtime again.
pub const SELECTION: [&str; 28] = [
    "-p",
    "wakeful",
    "-p",
    "wakeful-agent",
    "-p",
    "wakeful-serve",
    "-p",
    "wakeful-host",
    "-p",
    "wakeful-core",
    "-p",
    "wakeful-json",
    "-p",
    "wakeful-json-derive",
    "-p",
    "wakeful-lab",
    "-p",
    "wakeful-tests",
    "-p",
    "wakeful-counts",
    "-p",
    "plugin-host",
    "-p",
    "first-story",
    "-p",
    "life",
    "-p",
    "wakeful-tools",
];

/// What cargo printed about the tests that it built.
const BUILT: &str = "native";

/// Builds the command line and all tests.
pub fn build_tests(paths: &Paths) -> Result<(), Failure> {
    // The names of the test programs contain hashes, and cargo prints them only like this.
    Call::cargo(paths, BUILT, "test")
        .args(SELECTION)
        .args(["--no-run", "--message-format", "json-render-diagnostics"])
        .quietly()?;
    // The call before builds a program only for tests of its own package.
    Call::cargo(paths, "native-programs", "build").args(SELECTION).arg("--bins").build()
}

/// The test programs that were built, as calls. Cargo itself would wait for the lock of the build
/// folder, while something else compiles.
pub(crate) fn tests(paths: &Paths) -> Result<Vec<Call>, Failure> {
    let log = paths.log(BUILT);
    let printed = fs::read_to_string(&log)
        .map_err(|why| Failure::new(format!("cannot read {}: {why}", log.display())))?;
    let built: Vec<Built> = printed.lines().filter_map(Built::parse).collect();
    Ok(built
        .into_iter()
        .map(|built| {
            let folder = built.manifest.parent().unwrap_or(paths.root());
            Call::new(paths, &format!("tests-{}-{}", built.package, built.name), &built.program)
                .folder(folder)
                // Cargo sets these, among others, and tests look for them.
                .env("CARGO_MANIFEST_DIR", folder)
                .env("CARGO_PKG_NAME", built.package)
                // The times of single tests are not stable in Rust 1.95.
                .env("RUSTC_BOOTSTRAP", "1")
                .args(["-Zunstable-options", "--report-time"])
        })
        .collect())
}

/// A test program.
#[derive(Debug, PartialEq, Eq)]
struct Built {
    package: String,
    name: String,
    manifest: PathBuf,
    program: PathBuf,
}

impl Built {
    /// A line of cargo about a test program; `None` if it is about something else.
    fn parse(line: &str) -> Option<Self> {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
        let is_test = line["reason"] == "compiler-artifact" && line["profile"]["test"] == true;
        let (package, target) = (&line["package_id"], &line["target"]["name"]);
        // `path+file:///tree/cli#wakeful@0.1.0`, or without a name if the folder has the same.
        let package = text(package)?;
        let package = package.rsplit_once(['/', '#'])?.1;
        let package = package.split('@').next().unwrap_or(package);
        Some(Self {
            package: package.to_owned(),
            name: text(target)?,
            manifest: text(&line["manifest_path"])?.into(),
            program: text(&line["executable"]).filter(|_| is_test)?.into(),
        })
    }
}

/// Builds only these programs and their dependencies. It keeps the selection, so that nothing is
/// compiled twice.
pub fn build_programs(paths: &Paths, names: &[&str]) -> Result<(), Failure> {
    let named = names.iter().flat_map(|name| ["--bin", name]);
    Call::cargo(paths, "native-programs", "build").args(SELECTION).args(named).build()
}

/// Builds one program as it is released.
pub fn build_released(paths: &Paths, name: &str) -> Result<(), Failure> {
    Call::cargo(paths, "native-released", "build")
        .arg("--release")
        .args(SELECTION)
        .args(["--bin", name])
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_what_cargo_prints() {
        let line = |reason: &str, test: bool| {
            format!(
                r#"{{"reason":"{reason}","package_id":"path+file:///a/cli#wakeful@0.1.0",
                "manifest_path":"/a/cli/Cargo.toml","target":{{"name":"cli"}},
                "profile":{{"test":{test}}},"executable":"/a/deps/cli-1"}}"#
            )
        };
        let built = Built::parse(&line("compiler-artifact", true)).expect("a test program");
        assert_eq!(
            (built.package.as_str(), built.name.as_str(), built.program.to_str()),
            ("wakeful", "cli", Some("/a/deps/cli-1"))
        );
        for other in [line("compiler-artifact", false), line("build-finished", true), "x".into()] {
            assert_eq!(Built::parse(&other), None, "{other}");
        }
    }
}
