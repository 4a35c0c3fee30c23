//! `cargo xtask`: build, run, serve and test Wakeful with one command each.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
