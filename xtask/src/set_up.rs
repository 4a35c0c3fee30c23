//! What a machine must have before anything is built: Node, and the wasm targets of the pinned
//! toolchain.

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// The oldest Node whose test runner and `WebAssembly` the guests are tested with.
const OLDEST_NODE: u32 = 20;

/// The guests' target, and the one without `std` that proves the core pure.
const TARGETS: [&str; 2] = ["wasm32-unknown-unknown", "wasm32v1-none"];

/// Checks Node and adds the wasm targets that are missing.
pub fn set_up(paths: &Paths) -> Result<(), Failure> {
    check_node(paths)?;
    add_targets(paths, &TARGETS)
}

fn check_node(paths: &Paths) -> Result<(), Failure> {
    let answer = Call::new(paths, "node-version", "node").arg("--version").answer();
    let version = answer.map_err(|_| {
        Failure::new(format!(
            "Node is missing; install Node {OLDEST_NODE} or newer (https://nodejs.org)"
        ))
    })?;
    match node_major(&version) {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        _ => Err(Failure::new(format!(
            "Node {} is too old; install Node {OLDEST_NODE} or newer (https://nodejs.org)",
            version.trim().trim_start_matches('v')
        ))),
    }
}

/// `v20.20.2` gives 20.
fn node_major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Adds the targets that are missing.
pub(crate) fn add_targets(paths: &Paths, targets: &[&'static str]) -> Result<(), Failure> {
    let listed = Call::new(paths, "targets", "rustup")
        .args(["target", "list", "--installed"])
        .answer()
        .map_err(|failure| Failure {
            what: format!(
                "{}; install rustup (https://rustup.rs), which adds the targets",
                failure.what
            ),
            printed: failure.printed,
        })?;
    let missing = missing_targets(targets, &listed);
    if missing.is_empty() {
        return Ok(());
    }
    Call::new(paths, "targets", "rustup").args(["target", "add"]).args(missing).build()
}

/// It asks only for what is missing, because `rustup target add` needs the network even if there is
/// nothing to add.
fn missing_targets(targets: &[&'static str], listed: &str) -> Vec<&'static str> {
    targets
        .iter()
        .copied()
        .filter(|target| !listed.lines().any(|line| line.trim() == *target))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_node_is_read() {
        assert_eq!(node_major("v20.20.2\n"), Some(20));
        assert_eq!(node_major("v9.1.0"), Some(9));
        assert_eq!(node_major("command not found"), None);
    }

    #[test]
    fn only_missing_targets_are_added() {
        assert_eq!(
            missing_targets(&TARGETS, "wasm32v1-none\nx86_64-unknown-linux-gnu\n"),
            ["wasm32-unknown-unknown"]
        );
        assert_eq!(missing_targets(&TARGETS, "wasm32-unknown-unknown\nwasm32v1-none\n"), [""; 0]);
    }
}
