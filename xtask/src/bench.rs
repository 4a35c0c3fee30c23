//! `cargo xtask bench`: what things cost, each beside something that is measured in the same run.

use std::{env, process::ExitCode};

use crate::{
    browser,
    call::{Call, Failure, exit_code},
    guests, native, packages,
    paths::Paths,
    run,
    stage::stage,
};

/// Builds all that is measured, as it is released, and measures; the options are those of the
/// program `bench` of the tests.
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
    let programs = || {
        ["bench", "wakeful"].iter().try_for_each(|program| native::build_released(paths, program))
    };
    stage("release", "core, host and the bench, optimised", programs)?;
    // A file that is named is one from where the developer stands.
    let here = env::current_dir().unwrap_or_else(|_| paths.root().to_owned());
    let call = Call::new(paths, "bench", paths.released("bench"))
        .folder(here)
        .env("CHROME", &browser.chrome);
    call.args(options).pass_through().map(exit_code)
}
