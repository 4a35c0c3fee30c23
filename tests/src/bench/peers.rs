//! What a decision costs in Node, beside the libraries that people would most likely use instead.

use std::process::Command;

use serde::Deserialize;

use super::{Depth, Figure, measure::Cost};
use crate::paths;

/// Nanoseconds per decision.
#[derive(Deserialize)]
struct Measured {
    decision: Cost,
    xstate: Cost,
    cedar: Cost,
}

/// Figures.
pub(super) fn figures(depth: Depth) -> Vec<Figure> {
    let mut node = Command::new("node");
    node.arg(paths::tree("tests/peers/peers.mjs"))
        .arg(paths::guest("npm-fast"))
        .arg(depth.turns().to_string());
    let done = node.output().unwrap_or_else(|why| panic!("Node does not start: {why}"));
    let why = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "the peers cannot be measured: {why}\n`cargo xtask bench` installs them"
    );
    let measured: Measured =
        serde_json::from_slice(&done.stdout).expect("the script prints its figures");
    let beside = |peer: &str, cost| {
        Figure::new("decision at rest in Node, as text", measured.decision, peer, cost)
    };
    vec![
        beside("XState 5 `transition()`, a machine with as many guards", measured.xstate)
            .within(0.33),
        beside("Cedar's stateful authorizer, as many policies", measured.cedar).within(0.1),
    ]
}
