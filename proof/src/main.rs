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

use clap::Parser;
use command_line::{Cli, Command};
use xtask::paths::Paths;

fn main() -> ExitCode {
    // Before the root is searched, because help does not need the tree.
    let command = Cli::parse().command;
    let done = Paths::find().and_then(|paths| match command {
        Command::Sim { against, seed, families, days } => {
            let numbers = [("--seed", seed), ("--families", families), ("--days", days)];
            let given = numbers.iter().filter_map(|(name, number)| Some((*name, (*number)?)));
            let options: Vec<String> =
                given.flat_map(|(name, number)| [name.to_owned(), number.to_string()]).collect();
            versions::against(&paths, &against, &options)
        }
        Command::Fuzz(request) => fuzz::fuzz(&paths, &request),
        Command::Coverage => coverage::coverage(&paths),
        Command::Mutants(request) => mutants::mutants(&paths, &request),
        Command::Miri => miri::miri(&paths),
        Command::Deny => deny::deny(&paths),
        Command::Semver { against } => semver::semver(&paths, against.as_deref()),
        Command::Seeded { methods } => seeded::seeded(&paths, &methods),
        Command::Night(request) => night::night(&paths, &request),
        Command::Proof { check: false } => page::proof(&paths),
        Command::Proof { check: true } => page::check(&paths),
    });
    done.unwrap_or_else(|failure| {
        failure.show();
        ExitCode::FAILURE
    })
}
