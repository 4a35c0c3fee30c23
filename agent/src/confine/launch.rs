//! The process between the host and a command: it gives up its rights and becomes the command.
//!
//! The host has threads and needs its rights. So it starts its own program again as `wakeful
//! confined-exec`, which restricts itself and executes the command in its place.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitCode},
};

use wakeful_core::json;

use super::kernel::{Rights, give_up_capabilities};

/// The hidden subcommand, and the option that passes the rights.
const NAME: &str = "confined-exec";
const OPTION: &str = "--spec-json";

/// The exit code of shells for a program that was found but cannot be run.
const CANNOT_RUN: u8 = 126;

/// Why a command was not executed.
#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("{NAME} is for the host itself: {NAME} {OPTION} RIGHTS -- PROGRAM [ARGUMENT]...")]
    Arguments,
    #[error("{NAME}: {0}")]
    Rights(#[from] serde_json::Error),
    #[error(
        "the kernel cannot enforce the policy: {0}; use a kernel with Landlock, or set `kernel = \
         \"best_effort\"` in the policy"
    )]
    Kernel(#[from] landlock::RulesetError),
    #[error("cannot give up the rights of root: {0}; run the host as another user")]
    Capabilities(io::Error),
    #[error("cannot run `{program}`: {why}")]
    Program { program: String, why: io::Error },
}

/// What to put before a program and its arguments, so that it runs with only these rights.
pub(super) fn before(launcher: &Path, rights: &Rights) -> Vec<OsString> {
    [
        launcher.as_os_str(),
        OsStr::new(NAME),
        OsStr::new(OPTION),
        OsStr::new(&json::write(rights)),
        OsStr::new("--"),
    ]
    .map(OsStr::to_owned)
    .to_vec()
}

/// Becomes the command if this process was started for that, and returns only if it cannot. Must be
/// called at the beginning of `main`, before there are other threads.
#[must_use]
pub fn launched() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    arguments.next().filter(|first| first == NAME)?;
    let arguments: Vec<OsString> = arguments.collect();
    let why = become_command(&arguments);
    eprintln!("wakeful: {why}");
    Some(ExitCode::from(CANNOT_RUN))
}

fn restrict(rights: &str) -> Result<(), LaunchError> {
    let rights: Rights = serde_json::from_str(rights)?;
    // Landlock alone is not enough: as root, a command could still read the memory and the
    // environment of the host.
    give_up_capabilities().map_err(|why| LaunchError::Capabilities(why.into()))?;
    Ok(rights.restrict()?)
}

fn become_command(arguments: &[OsString]) -> LaunchError {
    let [option, rights, dashes, program, arguments @ ..] = arguments else {
        return LaunchError::Arguments;
    };
    let Some(rights) = rights.to_str().filter(|_| option == OPTION && dashes == "--") else {
        return LaunchError::Arguments;
    };
    match restrict(rights) {
        Err(why) => why,
        Ok(()) => {
            let why = Command::new(program).args(arguments).exec();
            LaunchError::Program { program: program.to_string_lossy().into_owned(), why }
        }
    }
}
