//! `cargo xtask fleet`: agents on three servers of one store in PostgreSQL, under faults.

use std::process::ExitCode;

use crate::{call::Failure, load, paths::Paths, postgres, stage::stage};

/// What every test run does.
const SHARE: [&str; 12] = [
    "--agents",
    "40",
    "--rate",
    "20",
    "--quiet",
    "5",
    "--seconds",
    "50",
    "--faults-each",
    "14",
    "--primary-each",
    "20",
];

/// Finds PostgreSQL, builds everything in its release profile, and runs the program `fleet` of the
/// tests with these options.
pub(crate) fn fleet(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    stage("postgres", "PostgreSQL, of which each cluster is made", || postgres::find(paths))?;
    load::released(paths, "fleet", options)
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths) -> Result<(), Failure> {
    load::built(paths, "fleet", &SHARE, "the fleet lost, doubled or ran something in vain")
}
