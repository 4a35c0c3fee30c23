//! What commands may do.
//!
//! A [`Policy`] is what people write. A [`Confinement`] is a policy over a [`Workspace`] and is
//! passed to [`Running::start`]. The kernel restricts the processes themselves: this program is
//! started again behind the wall, gives up its rights, and becomes the command. What a command line
//! says does not matter. [`Redactor`] removes secrets from the output of commands.
//!
//! [`Running::start`]: crate::command::Running::start

mod calls;
mod container;
mod environment;
mod launch;
mod mounts;
mod network;
mod places;
mod policy;
mod redact;
mod refusal;
mod report;
mod resources;
mod user;
mod wall;
mod workspace;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, io,
    path::{Path, PathBuf},
    process::Command,
};

use launch::Rights;
use mounts::{Mounted, opened_program};
use places::Places;
pub(crate) use report::WALL;
use rustix::process::geteuid;
use serde::Serialize;
use user::User;
use wall::Bubblewrap;

pub use launch::launched;
pub(crate) use mounts::Inherited;
use network::Proxy;
pub use network::{HostError, HostRule, Network};
pub use policy::{Environment, Files, Leftovers, NamePattern, Place, Policy, PolicyLimits};
pub(crate) use redact::INSTEAD;
pub use redact::{RedactedStream, Redactor};
pub use refusal::Refusal;
pub use user::hide_memory;
pub use workspace::Workspace;

/// The `PATH` of commands if they may read no folder of the host's `PATH`.
pub(crate) const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What keeps commands in their workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wall {
    /// bubblewrap: namespaces of its own for each command.
    #[default]
    Bubblewrap,
    /// The container in which this program runs. It holds the program together with its commands.
    Container,
}

impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Container => "the container",
        })
    }
}

/// What belongs to the host, around a workspace.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// What keeps commands in their workspace.
    pub wall: Wall,
    /// The program that becomes the commands. Its `main` must begin with [`launched`], as that of
    /// `wakeful` does.
    pub launcher: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// An existing folder for temporary files of the commands (`TMPDIR`).
    pub scratch: PathBuf,
    /// An existing folder that commands cannot write, for the log of their requests and the socket
    /// of their proxy.
    pub output: PathBuf,
    /// Other real paths that commands may read, such as the `.git` of a worktree's repository. A
    /// link is not followed: a command of another agent may have put it there.
    pub also_read: Vec<PathBuf>,
    /// Other real paths that commands may write, such as the branches of that repository.
    pub also_write: Vec<PathBuf>,
}

/// Why commands cannot be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// bubblewrap cannot be used.
    #[error("commands are not run: {why}")]
    Wall {
        /// Why not, and what to do.
        why: String,
    },
    /// The program that becomes the commands cannot be opened.
    #[error("commands are not run: cannot open `{}`: {why}", path.display())]
    Launcher {
        /// The program.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// There is no container.
    #[error(
        "commands are not run: `--wall container` is for a program in a container, and nothing \
         says that this process is in one; leave it out and install bubblewrap, or see \
         docs/agent.md for a container"
    )]
    NoContainer,
    /// The chosen wall cannot enforce a list of hosts.
    #[error(
        "commands are not run: a list of hosts in `network` needs bubblewrap; leave out `--wall \
         container`, or write `true` in the policy and limit the network of the container"
    )]
    Hosts,
    /// The proxy to the listed hosts cannot be started.
    #[error("commands are not run: cannot start their proxy in `{}`: {why}", path.display())]
    Proxy {
        /// The folder of its socket and its log.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
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
    /// The program and arguments that become a command.
    becomes: Vec<OsString>,
    barrier: Barrier,
    user: Option<User>,
    /// Whether the kernel limits the number of processes.
    are_counted: bool,
}

/// A wall that was found.
#[derive(Clone, Debug)]
enum Barrier {
    /// It is put before each command.
    Bubblewrap(Bubblewrap),
    /// The sign by which it was found.
    Container(String),
}

impl Confinement {
    /// Applies a policy to a workspace.
    ///
    /// # Errors
    /// If the wall cannot be used, or a path is not valid UTF-8.
    pub fn new(
        policy: Policy,
        workspace: Workspace,
        around: &Surroundings,
    ) -> Result<Self, ConfineError> {
        // The ledger and the environment of commands hold only text.
        let texts = [workspace.root(), &around.scratch];
        if let Some(path) = texts.into_iter().find(|path| path.to_str().is_none()) {
            return Err(ConfineError::NotText(path.to_owned()));
        }
        let user = User::of_commands(&around.scratch);
        let home = around.home.as_deref();
        let written = policy.files.written(home);
        // What lies in a folder that commands write is theirs already. A link that they leave there
        // must not open what it leads to when the host starts again.
        let is_theirs = |path: &PathBuf| {
            let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
            let mut own = written.iter().map(PathBuf::as_path).chain([workspace.root()]);
            folder.is_some_and(|folder| own.any(|place| folder.starts_with(place)))
        };
        let open = |places: &[Place]| {
            let paths = places.iter().filter_map(|place| place.path(home));
            paths.filter(|path| !is_theirs(path)).collect::<Vec<_>>()
        };
        let read = open(&policy.files.read);
        let write = [open(&policy.files.write), vec![around.scratch.clone()]].concat();
        let places = Places::new(workspace.root(), home, read.clone(), write.clone())
            .and(&around.also_read, &around.also_write);
        // The kernel counts the processes of a user, in the namespace of the user.
        let are_counted = match around.wall {
            Wall::Bubblewrap => user.is_some() || !geteuid().is_root(),
            Wall::Container => user.is_some(),
        };
        let mut resources = policy.limits.resources();
        resources.processes = resources.processes.filter(|_| are_counted);
        let rights = Rights { resources, user };
        let scratch = around.scratch.clone();
        let (becomes, barrier) = match around.wall {
            Wall::Container => {
                if policy.network.hosts().is_some() {
                    return Err(ConfineError::Hosts);
                }
                let sign = container::sign(Path::new("/")).ok_or(ConfineError::NoContainer)?;
                (launch::before(&around.launcher, rights, false), Barrier::Container(sign))
            }
            Wall::Bubblewrap => {
                let proxy = policy.network.hosts().map(|hosts| Proxy::start(hosts, &around.output));
                let proxy = proxy
                    .transpose()
                    .map_err(|why| ConfineError::Proxy { path: around.output.clone(), why })?;
                let launcher = opened_program(&around.launcher)
                    .map_err(|why| ConfineError::Launcher { path: around.launcher.clone(), why })?;
                let root = [workspace.root().to_owned()];
                let resolved = Mounted::resolved;
                let as_they_are = Mounted::as_they_are;
                let open = wall::Open {
                    read: [resolved(&read), as_they_are(&around.also_read)].concat(),
                    write: [resolved(&write), as_they_are(&around.also_write), as_they_are(&root)]
                        .concat(),
                    scratch: scratch.clone(),
                    network: policy.network.is_open(),
                };
                let bubblewrap = Bubblewrap::new(open, launcher, proxy)
                    .map_err(|why| ConfineError::Wall { why })?;
                let launcher = Path::new(wall::LAUNCHER);
                let becomes = launch::before(launcher, rights, bubblewrap.has_proxy());
                (becomes, Barrier::Bubblewrap(bubblewrap))
            }
        };
        Ok(Self { policy, workspace, places, scratch, becomes, barrier, user, are_counted })
    }

    /// What keeps commands in their workspace.
    pub(crate) fn wall(&self) -> Wall {
        if self.has_namespaces() { Wall::Bubblewrap } else { Wall::Container }
    }

    /// Whether each command has namespaces of its own. Then it ends with its first process.
    pub(crate) fn has_namespaces(&self) -> bool {
        self.bubblewrap().is_some()
    }

    fn bubblewrap(&self) -> Option<&Bubblewrap> {
        match &self.barrier {
            Barrier::Bubblewrap(bubblewrap) => Some(bubblewrap),
            Barrier::Container(_) => None,
        }
    }

    /// Whether commands may read a real path. In a container all is theirs.
    fn is_readable(&self, path: &Path) -> bool {
        !self.has_namespaces() || self.places.is_readable(path)
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

    /// The folder for temporary files.
    pub(crate) fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The environment of commands: the host's variables that the policy allows, `PATH` without
    /// folders that commands may not read, a `TMPDIR` of their own, and the way to their proxy.
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
                && Path::new(folder).canonicalize().is_ok_and(|real| self.is_readable(&real))
        };
        let open: Vec<&str> = path.split(':').filter(is_open).collect();
        let path = if open.is_empty() { USUAL_PATH.to_owned() } else { open.join(":") };
        all.insert("PATH".to_owned(), path);
        // `/tmp` is not open to commands, so programs need another folder for temporary files.
        all.insert("TMPDIR".to_owned(), self.scratch.to_string_lossy().into_owned());
        if self.user.is_some() && !all.contains_key("GIT_CONFIG_COUNT") {
            // Commands do not own the workspace, and git asks for that.
            all.extend(for_git(&[("safe.directory", "*")]));
        }
        if self.bubblewrap().is_some_and(Bubblewrap::has_proxy) {
            all.extend(network::variables());
        }
        all
    }

    /// A program of the host by its absolute path, from outside what commands can write; `None` if
    /// there is none.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let usual = OsString::from(USUAL_PATH);
        let of_host = std::env::var_os("PATH").unwrap_or_default();
        [usual, of_host]
            .iter()
            .flat_map(std::env::split_paths)
            .filter_map(|folder| folder.join(name).canonicalize().ok())
            .find(|path| path.is_file() && self.is_readable(path) && !self.places.is_writable(path))
    }

    /// Whether a shell can read the user's profile.
    pub(crate) fn shows_home(&self) -> bool {
        !self.has_namespaces() || self.places.shows_home()
    }
}

/// Variables that give git these settings.
fn for_git(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    let count = ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
    let each = settings.iter().enumerate().flat_map(|(at, (name, value))| {
        [
            (format!("GIT_CONFIG_KEY_{at}"), (*name).to_owned()),
            (format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()),
        ]
    });
    each.chain([count]).collect()
}

/// The command that starts a program, under a confinement if there is one, and what must stay open
/// until it is started. On a terminal of its own it is in a session of its own already.
pub(crate) fn command(
    confinement: Option<&Confinement>,
    program: &str,
    on_terminal: bool,
) -> (Command, Inherited) {
    let plain = || (Command::new(program), Inherited::default());
    let Some(confinement) = confinement else { return plain() };
    let (mut before, inherited) =
        confinement.bubblewrap().map(Bubblewrap::before).unwrap_or_default();
    before.extend_from_slice(&confinement.becomes);
    let Some((first, arguments)) = before.split_first() else { return plain() };
    let mut command = Command::new(first);
    if confinement.has_namespaces() && !on_terminal {
        // Otherwise it could type into the terminal of the operator.
        command.arg("--new-session");
    }
    command.args(arguments).arg(program);
    (command, inherited)
}
