//! Cross-checks: a step of random stories in two engines that are compared, beside the same step in
//! the native core alone.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Depth, Figure, commands::wakeful, measure::elapsed};

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let (turns, steps) = match depth {
        Depth::Quick => (1, 5_000),
        Depth::Whole => (3, 20_000),
    };
    let [cost, base] = elapsed(
        turns,
        ["native,wasmtime", "native"]
            .map(|engines| Box::new(move || played(engines, steps)) as Box<dyn FnMut() -> u64>),
    );
    vec![Figure::new("cross-check of a step, native and wasmtime", cost, "native core alone", base)]
}

/// Plays random stories until they have taken at least `steps` steps, and returns their number.
fn played(engines: &str, steps: u32) -> u64 {
    // One engine alone plays the stories but has nothing to compare them with. Exit code 3 says
    // this.
    let well = if engines.contains(',') { 0 } else { 3 };
    let mut command = Command::new(wakeful());
    command
        .args(["crosscheck", "--json", "--random", &steps.to_string(), "--engines", engines])
        .stderr(Stdio::null());
    let done = command.output().expect("`wakeful` is beside this program");
    assert!(done.status.code() == Some(well), "the engines {engines} differ, or one is missing");
    let told: Value = serde_json::from_slice(&done.stdout).expect("one JSON document");
    told["random"]["steps"].as_u64().expect("a count")
}
