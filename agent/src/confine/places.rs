//! Which files commands may use.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::workspace::real_path;

/// Programs, libraries, and information about the system.
const OF_THE_SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
];

/// Devices that hold no data of any user.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The files and folders that commands may use, by their real paths.
#[derive(Clone, Debug)]
pub(super) struct Places {
    home: Option<PathBuf>,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    devices: Vec<PathBuf>,
}

impl Places {
    /// A workspace, and what is open beside it and the system. Paths that do not exist are left
    /// out.
    pub(super) fn new(
        root: &Path,
        home: Option<&Path>,
        read: Vec<PathBuf>,
        write: Vec<PathBuf>,
    ) -> Self {
        let real = |paths: Vec<PathBuf>| {
            paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect::<Vec<_>>()
        };
        let system = OF_THE_SYSTEM.into_iter().map(PathBuf::from).chain(open_in_etc()).collect();
        Self {
            home: home.map(Path::to_owned),
            read: [real(system), real(read)].concat(),
            write: [vec![root.to_owned()], real(write)].concat(),
            devices: real(DEVICES.map(PathBuf::from).to_vec()),
        }
    }

    /// The same with other real paths, which are not resolved again.
    pub(super) fn and(mut self, read: &[PathBuf], write: &[PathBuf]) -> Self {
        self.read.extend_from_slice(read);
        self.write.extend_from_slice(write);
        self
    }

    pub(super) fn read(&self) -> &[PathBuf] {
        &self.read
    }

    pub(super) fn write(&self) -> &[PathBuf] {
        &self.write
    }

    pub(super) fn devices(&self) -> &[PathBuf] {
        &self.devices
    }

    /// Whether commands may read a real path.
    pub(super) fn is_readable(&self, path: &Path) -> bool {
        self.is_writable(path) || self.read.iter().any(|place| path.starts_with(place))
    }

    /// Whether commands may write a real path.
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        self.write.iter().chain(&self.devices).any(|place| path.starts_with(place))
    }

    /// Whether a shell can read the user's profile.
    pub(super) fn shows_home(&self) -> bool {
        self.home.as_deref().is_some_and(|home| self.is_readable(&real_path(home)))
    }
}

/// The settings of the system that every user may read. The others may hold secrets.
fn open_in_etc() -> Vec<PathBuf> {
    let is_open = |path: &Path| {
        let wanted = if path.is_dir() { 0o005 } else { 0o004 };
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & wanted == wanted)
    };
    fs::read_dir("/etc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_open(path))
        .collect()
}
