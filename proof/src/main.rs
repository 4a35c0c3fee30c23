//! The long checks, called through `cargo xtask`: mutants, coverage, seeded mistakes, other
//! versions, nights, fuzzing and Miri. It also writes docs/proof.md, the page about all of them.
//!
//! The exit code is 0 for success, 1 if something failed, 2 if the command line is wrong, and 3 if
//! a tool is missing.

mod command_line;
mod coverage;
mod deny;
mod licences;
mod fuzz;
mod miri;
mod mutants;
mod night;
mod page;
mod seeded;
mod self_contained;
mod semver;
mod versions;

use std::process::ExitCode;

use command_line::Command;
use xtask::{paths::Paths, stage::red};

fn main() -> ExitCode {
    let command = match command_line::read(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(why) => {
            anstream::eprintln!("{}: {why}; `cargo xtask --help` has all commands", red("error"));
            return ExitCode::from(2);
        }
    };
    // Before the root is searched, because help does not need the tree.
    if let Command::Help(text) = command {
        anstream::println!("{text}");
        return ExitCode::SUCCESS;
    }
    let done = Paths::find().and_then(|paths| match command {
        Command::SimAgainst { revision, options } => versions::against(&paths, &revision, &options),
        Command::Fuzz(request) => fuzz::fuzz(&paths, &request),
        Command::Coverage => coverage::coverage(&paths),
        Command::Mutants(request) => mutants::mutants(&paths, &request),
        Command::Miri => miri::miri(&paths),
        Command::Deny => deny::deny(&paths),
        Command::Semver { against } => semver::semver(&paths, against.as_deref()),
        Command::Seeded { methods } => seeded::seeded(&paths, &methods),
        Command::Night(request) => night::night(&paths, &request),
        Command::Proof => page::proof(&paths),
        Command::ProofCheck => page::check(&paths),
        Command::Help(_) => Ok(ExitCode::SUCCESS),
    });
    done.unwrap_or_else(|failure| {
        failure.show();
        ExitCode::FAILURE
    })
}
