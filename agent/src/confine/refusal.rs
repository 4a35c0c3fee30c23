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
    /// The policy denies the command.
    #[error(
        "`{command}` is not run: the policy denies `{rule}`; do without it, or ask the operator to \
         run it or to change `commands.deny`"
    )]
    Denied {
        /// The first words of the command.
        command: String,
        /// The rule of the policy.
        rule: String,
    },
    /// The policy does not allow the command.
    #[error(
        "`{command}` is not run: the policy allows only {allowed}; use one of these, or ask the \
         operator to change `commands.allow`"
    )]
    NotAllowed {
        /// The first words of the command.
        command: String,
        /// The commands that the policy allows.
        allowed: String,
    },
    /// It is not clear what would run.
    #[error(
        "the command line is not run: {what}, so the policy cannot be applied to it; write out the \
         program and its arguments"
    )]
    Unreadable {
        /// The part that cannot be judged.
        what: String,
    },
    /// The shell is not one whose command lines can be judged.
    #[error("`{shell}` cannot run the command line: use one of {known}, or omit `shell`")]
    Shell {
        /// The shell that was asked for.
        shell: String,
        /// The shells that can be used.
        known: String,
    },
    /// Commands may not read the path.
    #[error("`{path}` is outside the workspace `{}`, and the policy does not open it; work inside (temporary files go to $TMPDIR), or ask the operator to change `files.read` or `files.write`", root.display())]
    PathOutside {
        /// The path as it was written.
        path: String,
        /// The workspace.
        root: PathBuf,
    },
    /// Commands may read the path but not write it.
    #[error(
        "`{path}` may be read but not written; write inside the workspace, or ask the operator to \
         change `files.write`"
    )]
    NotWritable {
        /// The path as it was written.
        path: String,
    },
}

impl Refusal {
    /// A stable code for the refusal.
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
