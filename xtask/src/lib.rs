//! Builds, runs, tests and tidies Wakeful: the library below `cargo xtask`.
//!
//! The crate `wakeful-proof` uses the public modules.

mod attack;
mod bench;
mod browser;
pub mod call;
pub mod command_line;
pub mod copy;
mod crash;
mod crosscheck;
mod debian;
mod fleet;
pub mod guests;
mod js_tests;
mod load;
mod model;
pub mod native;
pub mod needed;
mod npm;
mod package;
pub mod packages;
pub mod paths;
mod postgres;
pub mod proof;
pub mod python;
mod run;
mod serve;
pub mod set_up;
mod sim;
mod soak;
pub mod stage;
pub mod stamp;
pub mod test;
pub mod tidy;
pub mod tools;
pub mod web_demo;
pub mod windows;
mod wall;
mod world;

use std::process::ExitCode;

use command_line::Command;
use paths::Paths;

/// Reads the command line of this process and runs the command.
///
/// The exit code is 0 for success, 1 if something failed, 2 if the command line is wrong, and 3 if
/// a tool is missing.
pub fn main() -> ExitCode {
    let command = match command_line::read(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(why) => {
            anstream::eprintln!("{}: {why}\n\n{}", stage::red("error"), command_line::USAGE);
            return ExitCode::from(2);
        }
    };
    // Before the root is searched, because help does not need the tree.
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
        Command::Crosscheck(random) => crosscheck::crosscheck(&paths, random),
        Command::Crash(options) => crash::crash(&paths, &options),
        Command::Sim(options) => sim::sim(&paths, &options),
        Command::Soak(request) => soak::soak(&paths, &request),
        Command::Attack(request) => attack::attack(&paths, &request),
        Command::Model(options) => model::model(&paths, &options),
        Command::Load(options) => load::load(&paths, &options),
        Command::Fleet(options) => fleet::fleet(&paths, &options),
        Command::Scale(options) => fleet::scale(&paths, &options),
        Command::Bench(options) => bench::bench(&paths, &options),
        Command::World => world::world(&paths),
        Command::Proof(words) => proof::forward(&paths, &words),
        Command::Help(_) => Ok(ExitCode::SUCCESS),
    });
    done.unwrap_or_else(|failure| {
        failure.show();
        ExitCode::FAILURE
    })
}
