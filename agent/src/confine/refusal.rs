//! Why something may not be done, and what to do instead.

use std::path::PathBuf;

/// Why a command was not run. Its text says what, why, and what to do; [`Refusal::code`] is for
/// programs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The folder is not in the workspace.
    #[error("cannot run in `{asked}`: it is outside the workspace `{}`; name a folder inside, relative to the workspace", root.display())]
    ExecutionRoot {
        /// What was asked for.
        asked: String,
        /// The workspace.
        root: PathBuf,
    },
    /// There is no such folder in the workspace.
    #[error(
        "cannot run in `{asked}`: there is no such folder in the workspace; make it first, or \
         name another"
    )]
    NoFolder {
        /// What was asked for.
        asked: String,
    },
    /// The policy denies the command.
    #[error(
        "`{command}` is not run: the policy denies `{rule}`; do without, or ask the operator to \
         run it or to change `commands.deny`"
    )]
    Denied {
        /// The command, in a few words.
        command: String,
        /// What the policy says.
        rule: String,
    },
    /// The policy does not name the command.
    #[error(
        "`{command}` is not run: the policy allows only {allowed}; use one of these, or ask the \
         operator to change `commands.allow`"
    )]
    NotAllowed {
        /// The command, in a few words.
        command: String,
        /// What it names.
        allowed: String,
    },
    /// It cannot be said what would run.
    #[error(
        "the command line is not run: {what}, so the policy cannot be applied to it; write the \
         program and its words out"
    )]
    Unreadable {
        /// What cannot be read.
        what: String,
    },
    /// It is no shell whose command lines can be judged.
    #[error("`{shell}` does not run the command line: name one of {known}, or leave `shell` out")]
    Shell {
        /// What was asked for.
        shell: String,
        /// Those that do.
        known: String,
    },
    /// A path is outside of all that commands may read.
    #[error("`{path}` is outside the workspace `{}`, and the policy does not open it; work inside (temporary files go to $TMPDIR), or ask the operator to change `files.read` or `files.write`", root.display())]
    PathOutside {
        /// The path, as it was written.
        path: String,
        /// The workspace.
        root: PathBuf,
    },
    /// A path may be read, and is written.
    #[error(
        "`{path}` may be read but not written; write inside the workspace, or ask the operator to \
         change `files.write`"
    )]
    NotWritable {
        /// The path, as it was written.
        path: String,
    },
}

impl Refusal {
    /// The refusal in a word that does not change.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ExecutionRoot { .. } => "execution_root_violation",
            Self::NoFolder { .. } => "workdir_not_found",
            Self::Denied { .. } => "command_denied",
            Self::NotAllowed { .. } => "command_not_allowed",
            Self::Unreadable { .. } => "command_unreadable",
            Self::Shell { .. } => "shell_not_allowed",
            Self::PathOutside { .. } => "path_outside_workspace",
            Self::NotWritable { .. } => "path_not_writable",
        }
    }
}
