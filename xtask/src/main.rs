//! `cargo xtask`: builds, runs, serves and tests Wakeful with one command each.
//!
//! The exit code is 0 when all went well, 1 when something failed, 2 when the command line was not understood, 3 when a program that
//! measures is not installed.

mod bench;
mod browser;
mod call;
mod command_line;
mod copy;
mod coverage;
mod crash;
mod crosscheck;
mod deny;
mod fuzz;
mod guests;
mod js_tests;
mod miri;
mod model;
mod mutants;
mod native;
mod needed;
mod night;
mod npm;
mod package;
mod packages;
mod paths;
mod proof;
mod python;
mod run;
mod seeded;
mod self_contained;
mod semver;
mod serve;
mod set_up;
mod sim;
mod stage;
mod stamp;
mod test;
mod tidy;
mod tools;
mod versions;
mod web_demo;
mod world;

use std::process::ExitCode;

use command_line::Command;
use paths::Paths;

fn main() -> ExitCode {
    if let Some(code) = coverage::instrument::wrap_rustc() {
        return code;
    }
    let command = match command_line::read(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(why) => {
            anstream::eprintln!("{}: {why}\n\n{}", stage::red("error"), command_line::USAGE);
            return ExitCode::from(2);
        }
    };
    if let Command::Help(text) = command {
        anstream::println!("{text}");
        return ExitCode::SUCCESS;
    }
    let done = Paths::find().and_then(|paths| match command {
        Command::Run => run::run(&paths),
        Command::Serve { port } => serve::serve(&paths, port),
        Command::Test { bless } => test::test(&paths, bless),
        Command::Npm => npm::npm(&paths),
        Command::Package { installs } => package::package(&paths, installs),
        Command::Tidy { list } => tidy::tidy(&paths, list),
        Command::Mutants(request) => mutants::mutants(&paths, &request),
        Command::Crosscheck(random) => crosscheck::crosscheck(&paths, random),
        Command::Crash(options) => crash::crash(&paths, &options),
        Command::Sim(options) => sim::sim(&paths, &options),
        Command::SimAgainst { revision, options } => versions::against(&paths, &revision, &options),
        Command::Model(options) => model::model(&paths, &options),
        Command::Bench(options) => bench::bench(&paths, &options),
        Command::Fuzz(request) => fuzz::fuzz(&paths, &request),
        Command::World => world::world(&paths),
        Command::Coverage => coverage::coverage(&paths),
        Command::Miri => miri::miri(&paths),
        Command::Deny => deny::deny(&paths),
        Command::Semver { against } => semver::semver(&paths, against.as_deref()),
        Command::Seeded { methods } => seeded::seeded(&paths, &methods),
        Command::Night(request) => night::night(&paths, &request),
        Command::Proof => proof::proof(&paths),
        Command::Help(_) => Ok(ExitCode::SUCCESS),
    });
    done.unwrap_or_else(|failure| {
        failure.show();
        ExitCode::FAILURE
    })
}
