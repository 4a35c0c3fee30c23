//! Refusals: why a command may not run, and what to do instead.

use std::path::PathBuf;

/// Why a command was not run. The text says what was refused, why, and what to do;
/// [`Refusal::code`] is for programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The folder is outside the workspace.
    #[error("cannot run in `{asked}`: it is outside the workspace `{}`; name a folder inside, relative to the workspace", root.display())]
    ExecutionRoot {
        /// The folder that was asked for.
        asked: String,
        /// The workspace.
        root: PathBuf,
    },
    /// The folder does not exist in the workspace.
    #[error(
        "cannot run in `{asked}`: there is no such folder in the workspace; create it first, or \
         name another one"
    )]
    NoFolder {
        /// The folder that was asked for.
        asked: String,
    },
}

impl Refusal {
    /// A stable code for the refusal.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ExecutionRoot { .. } => "execution_root_violation",
            Self::NoFolder { .. } => "workdir_not_found",
        }
    }
}
