//! `cargo xtask fleet`: agents on three servers of one store in PostgreSQL, under faults.

use std::{env, process::ExitCode};

use crate::{
    call::{Call, Failure, exit_code},
    load, native,
    paths::Paths,
    postgres,
    stage::stage,
    wall,
};

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
    stage("wall", "bubblewrap, behind which agents run commands", || wall::find(paths))?;
    let mut options = options.to_vec();
    if let Some(at) = options.iter().position(|option| option == "--patroni") {
        let patroni = stage("patroni", "Patroni and etcd, which elect the primary", || {
            postgres::patroni(paths)
        })?;
        options.insert(at + 1, patroni.display().to_string());
    }
    load::released(paths, "fleet", &options)
}

/// Measures what a turn costs, unless costs are named, and runs the program `scale` with these
/// options.
pub(crate) fn scale(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    if options.iter().any(|option| option.split('=').next() == Some("--costs")) {
        let release = || native::build_released(paths, "scale");
        stage("release", "this program, optimised", release)?;
        // A path is relative to the folder in which the developer typed it.
        let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
        let call = Call::new(paths, "scale", paths.released("scale")).folder(here);
        return call.args(options).pass_through().map(exit_code);
    }
    stage("postgres", "PostgreSQL, of which each cluster is made", || postgres::find(paths))?;
    load::released(paths, "scale", options)
}

/// Does a share, with the programs that are built.
pub(crate) fn share(paths: &Paths) -> Result<(), Failure> {
    load::built(paths, "fleet", &SHARE, "the fleet lost, doubled or ran something in vain")
}
