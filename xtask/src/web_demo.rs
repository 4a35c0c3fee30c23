//! The workbench in web-demo: its traces, its scripts.

use crate::{
    call::{Call, Failure},
    packages,
    paths::{Paths, program},
};

/// The cases that the workbench shows.
const CASES: [&str; 2] = ["tests/fixtures/stories", "tests/fixtures/scheduler"];

/// Records the traces of the native engine, which the workbench shows and compares its own with.
pub fn bundle(paths: &Paths) -> Result<(), Failure> {
    Call::new(paths, "bundle", paths.target().join("debug").join(program("lab")))
        .arg("trace")
        .args(CASES)
        .args(["--bundle", "web-demo/public/bundle.json"])
        .build()
}

/// A script of web-demo/package.json.
pub fn script(paths: &Paths, name: &str) -> Call {
    packages::npm(paths, &format!("web-demo-{name}"), &paths.web_demo()).args(["run", name])
}
