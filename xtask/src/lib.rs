//! Builds, runs, tests and tidies Wakeful: the library below `cargo xtask`.
//!
//! The crate `wakeful-proof` uses the public modules.

mod attack;
mod browser;
mod busy;
pub mod call;
mod command_line;
pub mod copy;
mod counts;
mod crosscheck;
mod debian;
pub mod forward;
pub mod graph;
pub mod guests;
mod js_tests;
pub mod native;
pub mod needed;
mod npm;
mod package;
pub mod packages;
pub mod paths;
mod postgres;
pub mod python;
mod run;
mod serve;
pub mod set_up;
mod shares;
mod soak;
pub mod stage;
pub mod stamp;
mod test;
pub mod tidy;
mod times;
pub mod tools;
mod wall;
pub mod web_demo;
pub mod windows;

use std::process::ExitCode;

use command_line::Command;
use paths::Paths;

/// Reads the command line of this process and runs the command.
///
/// The exit code is 0 for success, 1 if something failed, 2 if the command line is wrong, and 3 if
/// a tool is missing.
pub fn main() -> ExitCode {
    // Before the root is searched, because help does not need the tree.
    let command = command_line::read(std::env::args().skip(1)).unwrap_or_else(|told| told.exit());
    let done = Paths::find().and_then(|paths| match command {
        Command::Run => run::run(&paths),
        Command::Serve { port } => serve::serve(&paths, port),
        Command::Test(options) => test::test(&paths, &options),
        Command::Npm => npm::npm(&paths),
        Command::Package { no_install } => package::package(&paths, !no_install),
        Command::Tidy(options) => tidy::tidy(&paths, options),
        Command::Crosscheck(random) => crosscheck::crosscheck(&paths, random),
        Command::Soak(request) => soak::soak(&paths, &request),
        Command::Attack(request) => attack::attack(&paths, &request),
        Command::Busy => busy::busy(&paths),
        Command::Forwarded(words) => forward::forward(&paths, &words),
    });
    done.unwrap_or_else(|failure| {
        failure.show();
        ExitCode::FAILURE
    })
}
