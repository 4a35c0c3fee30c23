//! The wall around commands: bubblewrap starts each of them in namespaces of its own.
//!
//! What a command may use is mounted at its own path; everything else does not exist for it. It
//! sees only its own processes, has no terminal of the operator, and ends with the host.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::{FileTypeExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
};

use rustix::process::geteuid;

use super::{
    mounts::{Inherited, Mounted},
    network::{Proxy, forward},
};

/// The paths at which packages install bubblewrap. `PATH` is not used: a command could put a
/// program there.
const PROGRAMS: [&str; 3] =
    ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// Programs and libraries of the system.
pub(super) const OF_THE_SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"];

/// What programs ask about the machine.
const ABOUT_THE_MACHINE: [&str; 2] = ["/sys/devices/system", "/sys/fs/cgroup"];

/// What each command has for itself.
const OF_ITS_OWN: [&str; 4] = ["/proc", "/dev", "/sys", "/tmp"];

/// The path at which the program that becomes the command is mounted.
pub(super) const LAUNCHER: &str = "/run/wakeful/launcher";

/// What each command has, whatever its policy.
const ALWAYS: [&str; 9] = [
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
];

/// The rights that root keeps: what belongs to others in its own mounts, it may use. The launcher
/// needs the last three to become another user, and gives them up.
const KEPT_BY_ROOT: [&str; 4] = ["CAP_DAC_OVERRIDE", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"];

/// What one agent's commands may use, beside the system.
pub(super) struct Open {
    pub(super) read: Vec<Mounted>,
    pub(super) write: Vec<Mounted>,
    /// The folder that commands see as `/tmp`.
    pub(super) scratch: PathBuf,
    /// Whether they use the network of the host.
    pub(super) network: bool,
}

/// A bubblewrap that works on this machine, with what it mounts for each command.
#[derive(Clone, Debug)]
pub(super) struct Bubblewrap {
    /// The program, and what it mounts of the system.
    of_the_system: Vec<OsString>,
    /// What of that only root may read. It is looked up once, before the first command, because
    /// looking through the system's folders takes a while.
    hidden: Arc<OnceLock<Vec<PathBuf>>>,
    read: Vec<Mounted>,
    write: Vec<Mounted>,
    scratch: PathBuf,
    /// The program that becomes the command. bubblewrap inherits it by its number.
    launcher: Arc<OwnedFd>,
    /// It runs as long as the confinement, if the policy lists hosts.
    proxy: Option<Arc<Proxy>>,
}

impl Bubblewrap {
    /// Finds bubblewrap, and tries it.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do.
    pub(super) fn new(open: Open, launcher: OwnedFd, proxy: Option<Proxy>) -> Result<Self, String> {
        let of_the_system = of_the_system(tried()?, open.network);
        let hidden = Arc::default();
        let Open { read, write, scratch, .. } = open;
        let (launcher, proxy) = (Arc::new(launcher), proxy.map(Arc::new));
        Ok(Self { of_the_system, hidden, read, write, scratch, launcher, proxy })
    }

    /// Whether commands reach listed hosts, through a proxy.
    pub(super) fn has_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// What to put before the launcher of one command, and what must stay open until it is started.
    pub(super) fn before(&self) -> (Vec<OsString>, Inherited) {
        let mut arguments = Arguments(self.of_the_system.clone());
        // Root reads what belongs to it. Others may not read it, so commands may not either.
        let look = || if geteuid().is_root() { hidden_of_the_system() } else { Vec::new() };
        // A service that has ended took its socket with it, and bubblewrap cannot mount there.
        let there =
            self.hidden.get_or_init(look).iter().filter(|path| path.symlink_metadata().is_ok());
        there.for_each(|path| arguments.hide(path));
        // Settings change while an agent lives, and there are few.
        if geteuid().is_root() {
            hidden(&["/etc".into()]).iter().for_each(|path| arguments.hide(path));
        }
        let [read, write] = [&self.read, &self.write].map(|all| Mounted::opened(all));
        let own = Mounted::opened(&Mounted::resolved(std::slice::from_ref(&self.scratch)));
        // A workspace below `/tmp` would make folders in what is mounted there.
        let is_below = |place| read.iter().chain(&write).any(|seen| seen.to.starts_with(place));
        if let Some(own) = own.first().filter(|_| !is_below("/tmp")) {
            arguments.bind_file("--bind-fd", own.file.as_fd(), Path::new("/tmp"));
            // The same is true below `/var/tmp`.
            if !is_below("/var/tmp") {
                arguments.words(["--symlink", "/tmp", "/var/tmp"]);
            }
        }
        for (how, all) in [("--ro-bind-fd", &read), ("--bind-fd", &write)] {
            all.iter().for_each(|seen| arguments.bind_file(how, seen.file.as_fd(), &seen.to));
        }
        arguments.bind_file("--ro-bind-fd", self.launcher.as_fd(), Path::new(LAUNCHER));
        if let Some(proxy) = &self.proxy {
            arguments.bind("--ro-bind", &proxy.socket(), Path::new(forward::SOCKET));
        }
        arguments.words(["--remount-ro", "/", "--"]);
        (arguments.0, [read, write, own].into_iter().flatten().collect())
    }
}

/// The program, if it works here; else why it does not, and what to do. What has worked once is not
/// tried again: a server has many agents.
fn tried() -> Result<&'static Path, String> {
    static WORKS: OnceLock<&'static Path> = OnceLock::new();
    if let Some(program) = WORKS.get() {
        return Ok(program);
    }
    let found = PROGRAMS.iter().map(Path::new).find(|path| path.is_file());
    let program = found.ok_or(
        "bubblewrap is not installed: install the package `bubblewrap` (`apt-get install \
         bubblewrap`), or run this program in a container that is the wall, with `--wall \
         container` (docs/agent.md)",
    )?;
    let tried = Command::new(program)
        .args(ALWAYS)
        .args(["--unshare-net", "--ro-bind", "/", "/", "--", "/bin/true"])
        .env_clear()
        .output();
    let why = match tried {
        Ok(tried) if tried.status.success() => return Ok(WORKS.get_or_init(|| program)),
        Ok(tried) => String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
        Err(why) => why.to_string(),
    };
    Err(format!(
        "bubblewrap cannot make namespaces here ({why}): allow user namespaces, see \
         docs/platforms.md, or run this program in a container that is the wall, with `--wall \
         container` (docs/agent.md)"
    ))
}

/// The program, and what it mounts of the system.
fn of_the_system(program: &Path, network: bool) -> Vec<OsString> {
    let mut arguments = Arguments(vec![program.into()]);
    arguments.words(ALWAYS);
    if !network {
        arguments.words(["--unshare-net"]);
    }
    if geteuid().is_root() {
        arguments.words(["--cap-drop", "ALL"]);
        KEPT_BY_ROOT.iter().for_each(|kept| arguments.words(["--cap-add", kept]));
    }
    OF_THE_SYSTEM.iter().for_each(|path| arguments.as_it_is(Path::new(path)));
    // As a whole, because bubblewrap takes a while for each mount.
    arguments.words(["--ro-bind", "/etc", "/etc"]);
    // A link that leads out of it, such as the one to the name servers, leads to what is mounted
    // there.
    for link in children("/etc").iter().filter(|path| path.is_symlink() && !leads_inside(path)) {
        let is_own = |real: &PathBuf| OF_ITS_OWN.iter().any(|own| real.starts_with(own));
        let real = link.canonicalize().ok().filter(|real| is_for_all(real) && !is_own(real));
        if let Some(real) = real {
            arguments.bind("--ro-bind-try", &real, &real);
        }
    }
    ABOUT_THE_MACHINE.iter().for_each(|path| arguments.words(["--ro-bind-try", path, path]));
    arguments.0
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn words<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        self.0.extend(words.into_iter().map(OsString::from));
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([OsStr::new(how), from.as_os_str(), to.as_os_str()].map(OsStr::to_owned));
    }

    /// The same for what is open.
    fn bind_file(&mut self, how: &str, from: BorrowedFd<'_>, to: &Path) {
        let from = from.as_raw_fd().to_string();
        self.0.extend([OsStr::new(how), OsStr::new(&from), to.as_os_str()].map(OsStr::to_owned));
    }

    /// A file, folder or link of the system, readable. What does not exist is left out.
    fn as_it_is(&mut self, path: &Path) {
        match fs::read_link(path) {
            // A link out of what is mounted would lead nowhere.
            Ok(target) if leads_inside(path) => self.bind("--symlink", &target, path),
            // It may be gone before bubblewrap looks.
            _ if path.exists() => self.bind("--ro-bind-try", path, path),
            _ => {}
        }
    }

    /// Nothing is readable there.
    fn hide(&mut self, path: &Path) {
        if path.is_dir() {
            self.words(["--perms", "0000", "--tmpfs"]);
            self.0.push(path.into());
        } else {
            self.bind("--ro-bind", Path::new("/dev/null"), path);
        }
    }
}

/// Whether a link leads to something that is mounted.
fn leads_inside(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| {
        real.starts_with("/etc") || OF_THE_SYSTEM.iter().any(|place| real.starts_with(place))
    })
}

fn children(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Whether everybody may read it.
fn is_for_all(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| {
        let wanted = if metadata.is_dir() { 0o005 } else { 0o004 };
        metadata.permissions().mode() & wanted == wanted
    })
}

/// What of the system and of the kernel not everybody may read. It is looked for again for each
/// confinement, because a service may have come since the last one.
fn hidden_of_the_system() -> Vec<PathBuf> {
    let of_kernel = children("/proc").into_iter().filter(|path| path.is_file());
    let places: Vec<_> = OF_THE_SYSTEM.iter().map(PathBuf::from).chain(of_kernel).collect();
    hidden(&places)
}

/// What below these places not everybody may read. Links are not followed.
fn hidden(places: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> =
        places.iter().filter(|place| !place.is_symlink()).cloned().collect();
    while let Some(path) = left.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let mode = metadata.permissions().mode();
        if metadata.is_dir() {
            if mode & 0o005 == 0o005 {
                left.extend(children(&path));
            } else {
                found.push(path);
            }
        } else if metadata.is_file() && mode & 0o004 == 0 || metadata.file_type().is_socket() {
            // A socket is of a service, and can be used although its folder is only readable.
            found.push(path);
        }
    }
    found.sort();
    found
}
