//! `cargo xtask`: builds, runs, serves and tests Wakeful with one command each.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
