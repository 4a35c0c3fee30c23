//! What commands may do.
//!
//! A [`Policy`] is what people write. A [`Confinement`] is a policy over a [`Workspace`] and is
//! passed to [`Running::start`]. It works in two ways. [`Confinement::judge`] reads a command line
//! before it runs, and refuses it with a reason and a way out ([`Refusal`]). The kernel (Landlock)
//! restricts the processes themselves: this program is started again, gives up its rights, and
//! becomes the command. [`Redactor`] removes secrets from the output of commands.
//!
//! [`Running::start`]: crate::command::Running::start

mod environment;
mod judge;
mod kernel;
mod launch;
mod places;
mod policy;
mod redact;
mod refusal;
mod words;
mod workspace;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use judge::Judge;
use kernel::{Held, Rights};
use places::Places;

pub use launch::launched;
pub use policy::{
    Commands, Environment, Files, Kernel, NamePattern, Place, Policy, PolicyLimits, Words,
};
pub use redact::{RedactedStream, Redactor};
pub use refusal::Refusal;
pub use workspace::Workspace;

/// The `PATH` of commands if they may read no folder of the host's `PATH`.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What belongs to the host, around a workspace.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The program that becomes the commands. Its `main` must begin with [`launched`], as that of
    /// `wakeful` does.
    pub launcher: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// An existing folder for temporary files of the commands (`TMPDIR`).
    pub scratch: PathBuf,
    /// Other paths that commands may write, such as the `.git` of a worktree's repository.
    pub also_write: Vec<PathBuf>,
}

/// Why commands cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel cannot enforce the policy.
    #[error(
        "commands are not run: {missing}; use a newer kernel with Landlock, or set `kernel = \
         \"best_effort\"` in the policy"
    )]
    Kernel {
        /// What the kernel cannot enforce.
        missing: String,
    },
    /// A path cannot be passed to the launcher.
    #[error("`{}` is not valid UTF-8, so commands cannot be confined to it; rename the folder", .0.display())]
    NotText(PathBuf),
}

/// A policy over a workspace.
#[derive(Clone, Debug)]
pub struct Confinement {
    policy: Policy,
    workspace: Workspace,
    places: Places,
    scratch: PathBuf,
    /// The program and arguments to put before a command.
    before: Vec<OsString>,
    held: Held,
}

impl Confinement {
    /// Applies a policy to a workspace.
    ///
    /// # Errors
    /// If the kernel cannot enforce the policy and the policy requires it, or a path is not valid
    /// UTF-8.
    pub fn new(
        policy: Policy,
        workspace: Workspace,
        around: &Surroundings,
    ) -> Result<Self, ConfineError> {
        let held = Held::here();
        let missing = not_held(&policy, held);
        if policy.kernel == Kernel::Required && !missing.is_empty() {
            return Err(ConfineError::Kernel { missing: missing.join("; ") });
        }
        let home = around.home.as_deref();
        let open = |places: &[Place]| {
            places.iter().filter_map(|place| place.path(home)).collect::<Vec<_>>()
        };
        let write =
            [open(&policy.files.write), vec![around.scratch.clone()], around.also_write.clone()]
                .concat();
        let places = Places::new(workspace.root(), home, open(&policy.files.read), write);
        let rights = Rights {
            read: places.read().to_vec(),
            write: places.write().to_vec(),
            devices: places.devices().to_vec(),
            network: policy.network,
            is_required: policy.kernel == Kernel::Required,
        };
        // The rights cross to the launcher as JSON, which holds only text.
        if let Some(path) =
            [&rights.read, &rights.write].into_iter().flatten().find(|path| path.to_str().is_none())
        {
            return Err(ConfineError::NotText(path.clone()));
        }
        let before = launch::before(&around.launcher, &rights);
        Ok(Self { policy, workspace, places, scratch: around.scratch.clone(), before, held })
    }

    /// The policy that is applied.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The workspace of the commands.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Checks whether a command line may run in a folder that [`Workspace::resolve`] returned. A
    /// line whose commands are not clear is refused.
    ///
    /// # Errors
    /// Why it may not run, and what to do instead.
    pub fn judge(&self, cmd: &str, workdir: &Path) -> Result<(), Refusal> {
        self.judgement().judge(cmd, workdir)
    }

    /// Checks whether this program may be the shell of a command line.
    ///
    /// # Errors
    /// Why it may not, and what to do instead.
    pub fn judge_shell(&self, shell: &str) -> Result<(), Refusal> {
        self.judgement().shell(shell)
    }

    fn judgement(&self) -> Judge<'_> {
        Judge { commands: &self.policy.commands, places: &self.places }
    }

    /// The environment of commands: the host's variables that the policy allows, `PATH` without
    /// folders that commands may not read, and a `TMPDIR` of their own.
    pub fn environment(
        &self,
        from: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<String, String> {
        let mut all = self.policy.environment(from);
        let path = all.get("PATH").map_or(USUAL_PATH, String::as_str);
        let is_open = |folder: &&str| {
            // A relative entry would name another folder in each working directory, and commands
            // can write there.
            folder.starts_with('/')
                && Path::new(folder).canonicalize().is_ok_and(|real| self.places.is_readable(&real))
        };
        let open: Vec<&str> = path.split(':').filter(is_open).collect();
        let path = if open.is_empty() { USUAL_PATH.to_owned() } else { open.join(":") };
        all.insert("PATH".to_owned(), path);
        // `/tmp` is not open to commands, so programs need another folder for temporary files.
        all.insert("TMPDIR".to_owned(), self.scratch.to_string_lossy().into_owned());
        all
    }

    /// The parts of the policy that are not enforced here, one sentence each.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let mut all = not_held(&self.policy, self.held);
        if !self.held.scopes {
            all.push(
                "commands can send signals to other processes of the user: this needs Linux 6.12"
                    .to_owned(),
            );
        }
        if !self.policy.network {
            all.push("commands can use UDP: the kernel cannot block it".to_owned());
        }
        all.push(
            "commands can use the sockets of local services that the user can use, such as \
             Docker's: the kernel cannot block them"
                .to_owned(),
        );
        all
    }

    /// Whether a shell can read the user's profile.
    pub(crate) fn shows_home(&self) -> bool {
        self.places.shows_home()
    }
}

/// The command that starts a program, under a confinement if there is one.
pub(crate) fn command(confinement: Option<&Confinement>, program: &str) -> Command {
    match confinement.and_then(|confinement| confinement.before.split_first()) {
        None => Command::new(program),
        Some((launcher, arguments)) => {
            let mut command = Command::new(launcher);
            command.args(arguments).arg(program);
            command
        }
    }
}

/// The parts of a policy that the kernel cannot enforce.
fn not_held(policy: &Policy, held: Held) -> Vec<String> {
    let files = "commands can use files outside their workspace: this needs Linux 6.2 with \
                 Landlock (`lsm=landlock,...`)";
    let tcp = "commands can use TCP: this needs Linux 6.7 with Landlock";
    let missing = [(held.files, files), (held.tcp || policy.network, tcp)];
    missing.into_iter().filter(|(is_held, _)| !is_held).map(|(_, what)| what.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_cannot_hold_counts_where_the_policy_asks_for_it() {
        let missing = |files, tcp, network| {
            let policy = Policy { network, ..Policy::default() };
            let all = not_held(&policy, Held { files, tcp, scopes: true });
            all.iter()
                .map(|line| line.split(':').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        let (files, tcp) =
            ("commands can use files outside their workspace", "commands can use TCP");
        assert_eq!(missing(true, true, false), [""; 0]);
        assert_eq!(
            missing(true, false, true),
            [""; 0],
            "a policy that allows the network needs no restriction of it"
        );
        assert_eq!(missing(true, false, false), [tcp]);
        assert_eq!(missing(false, false, true), [files]);
        assert_eq!(missing(false, false, false), [files, tcp]);
    }
}
