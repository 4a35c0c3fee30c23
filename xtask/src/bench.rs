//! `cargo xtask bench`: measures what things cost, each beside something in the same run.

use std::{env, process::ExitCode};

use crate::{
    browser,
    call::{Call, Failure, exit_code},
    guests, native, packages,
    paths::Paths,
    postgres, run,
    stage::stage,
};

/// Builds everything in its release profile, and runs the program `bench` of the tests with these
/// options.
pub(crate) fn bench(paths: &Paths, options: &[String]) -> Result<ExitCode, Failure> {
    run::build(paths)?;
    stage("npm module", "the web module as the npm package has it", || {
        guests::build_package(paths)
    })?;
    let browser = stage("browser", "finding a browser and its driver", || browser::find(paths))?;
    stage("workbench packages", "npm ci, for the driver of the browser", || {
        packages::install(paths, &paths.web_demo())
    })?;
    stage("peers", "npm ci, for what decisions are compared with", || {
        packages::install(paths, &paths.at("tests/peers"))
    })?;
    stage("postgres", "PostgreSQL, for the store that is in it", || postgres::find(paths))?;
    let programs = || {
        // Some groups measure the program `wakeful`, which they start from the same folder.
        ["bench", "wakeful"].iter().try_for_each(|program| native::build_released(paths, program))
    };
    stage("release", "core, host and the bench, optimised", programs)?;
    // A path is relative to the folder in which the developer typed it.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    let call = Call::new(paths, "bench", paths.released("bench"))
        .folder(here)
        .env("CHROME", &browser.chrome);
    call.args(options).pass_through().map(exit_code)
}
