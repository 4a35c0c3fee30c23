//! The `wakeful` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    wakeful::cli::main()
}
