//! The workbench in web-demo: its packages, its traces, its scripts.

use std::fs;

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The cases that the workbench shows.
const CASES: [&str; 2] = ["tests/fixtures/stories", "tests/fixtures/scheduler"];

/// Installs the packages unless they are newer than the lock.
pub(crate) fn install(paths: &Paths) -> Result<(), Failure> {
    let folder = paths.web_demo();
    let time = |name: &str| fs::metadata(folder.join(name)).and_then(|data| data.modified());
    let lock = time("package-lock.json").map_err(|why| Failure::new(format!("cannot read web-demo/package-lock.json: {why}")))?;
    // npm writes this file last, so that an installation that was interrupted is done again.
    if time("node_modules/.package-lock.json").is_ok_and(|installed| installed >= lock) {
        return Ok(());
    }
    npm(paths, "npm-ci").args(["ci", "--no-audit", "--no-fund"]).build()
}

/// Records the traces of the native engine, which the workbench shows and compares its own with.
pub(crate) fn bundle(paths: &Paths) -> Result<(), Failure> {
    Call::new(paths, "bundle", paths.wakeful()).arg("trace").args(CASES).args(["--bundle", "web-demo/public/bundle.json"]).build()
}

/// A script of web-demo/package.json.
pub(crate) fn script(paths: &Paths, name: &str) -> Call {
    npm(paths, &format!("web-demo-{name}")).args(["run", name])
}

fn npm(paths: &Paths, log: &str) -> Call {
    Call::new(paths, log, "npm").folder(paths.web_demo())
}
