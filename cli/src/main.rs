//! The `wakeful` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A confined command starts as this program, which restricts itself and then becomes the
    // command.
    #[cfg(target_os = "linux")]
    if let Some(could_not) = wakeful_agent::confine::launched() {
        return could_not;
    }
    wakeful::commands::main()
}
