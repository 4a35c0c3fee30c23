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

use serde::{Deserialize, Serialize};
use wakeful_core::json;

use super::{
    calls,
    network::forward,
    resources::Resources,
    user::{User, give_up_rights},
};

/// The hidden subcommand, and the option that passes the rights.
const NAME: &str = "confined-exec";
const OPTION: &str = "--spec-json";

/// Passes the rights to a command that reaches its network through a forwarder.
const OPTION_FORWARDED: &str = "--forwarded-spec-json";

/// The exit code of shells for a program that was found but cannot be run.
const CANNOT_RUN: u8 = 126;

/// The first file after the standard streams.
const FIRST_INHERITED: i32 = 3;

/// Why a command was not executed.
#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("{NAME} is for the host itself: {NAME} {OPTION} RIGHTS -- PROGRAM [ARGUMENT]...")]
    Arguments,
    #[error("{NAME}: {0}")]
    Rights(#[from] serde_json::Error),
    #[error("cannot limit the command: {0}")]
    Resources(io::Error),
    #[error("the kernel cannot filter system calls: {0}")]
    Calls(#[from] calls::FilterError),
    #[error("cannot give up the rights of root: {0}; run the host as another user")]
    Root(io::Error),
    #[error("cannot start the way to the allowed hosts: {0}")]
    Forwarder(io::Error),
    #[error("cannot run `{program}`: {why}")]
    Program { program: String, why: io::Error },
}

/// What is left to a process and to everything that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rights {
    /// How much each process may use.
    pub(super) resources: Resources,
    /// The user that the command becomes; `None` leaves it that of the host.
    pub(super) user: Option<User>,
}

/// What to put before a program and its arguments, so that it runs with only these rights. A
/// program that is forwarded gets a forwarder beside it.
pub(super) fn before(launcher: &Path, rights: Rights, is_forwarded: bool) -> Vec<OsString> {
    [
        launcher.as_os_str(),
        OsStr::new(NAME),
        OsStr::new(if is_forwarded { OPTION_FORWARDED } else { OPTION }),
        OsStr::new(&json::write(&rights)),
        OsStr::new("--"),
    ]
    .map(OsStr::to_owned)
    .to_vec()
}

/// Becomes the command, or the forwarder beside it, if this process was started for that, and
/// returns only if it cannot. Must be called at the beginning of `main`, before there are other
/// threads.
#[must_use]
pub fn launched() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let name = arguments.next()?;
    let arguments: Vec<OsString> = arguments.collect();
    let why = match name.to_str()? {
        NAME => become_command(&arguments).to_string(),
        forward::NAME => become_forwarder(&arguments),
        _ => return None,
    };
    eprintln!("wakeful: {why}");
    Some(ExitCode::from(CANNOT_RUN))
}

fn restrict(rights: &str) -> Result<(), LaunchError> {
    let rights: Rights = serde_json::from_str(rights)?;
    // What the operator's shell left open for the host is not for commands.
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    give_up_rights(rights.user).map_err(|why| LaunchError::Root(why.into()))?;
    rights.resources.restrict().map_err(|why| LaunchError::Resources(why.into()))?;
    // Last: the others need some of these calls.
    Ok(calls::restrict()?)
}

fn become_forwarder(arguments: &[OsString]) -> String {
    match arguments {
        [rights] if rights.to_str().is_some() => {
            forward::run(&rights.to_string_lossy(), |rights| {
                restrict(rights).map_err(|why| why.to_string())
            })
        }
        _ => LaunchError::Arguments.to_string(),
    }
}

fn become_command(arguments: &[OsString]) -> LaunchError {
    let [option, rights, dashes, program, arguments @ ..] = arguments else {
        return LaunchError::Arguments;
    };
    let is_forwarded = option == OPTION_FORWARDED;
    let is_known = is_forwarded || option == OPTION;
    let Some(rights) = rights.to_str().filter(|_| is_known && dashes == "--") else {
        return LaunchError::Arguments;
    };
    // The forwarder is started with the rights of this process, and gives up the same ones.
    let forwarded =
        if is_forwarded { forward::start(rights).map_err(LaunchError::Forwarder) } else { Ok(()) };
    match forwarded.and_then(|()| restrict(rights)) {
        Err(why) => why,
        Ok(()) => {
            let why = Command::new(program).args(arguments).exec();
            LaunchError::Program { program: program.to_string_lossy().into_owned(), why }
        }
    }
}
