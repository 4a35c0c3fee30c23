//! The `wakeful` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(could_not) = wakeful_agent::confine::launched() {
        return could_not;
    }
    wakeful::commands::main()
}
