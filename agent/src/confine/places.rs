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

/// Names of a process's own streams. They lead somewhere else in each process.
const STREAMS: [&str; 4] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/"];

/// The files and folders that commands may use, by their real paths.
#[derive(Clone, Debug)]
pub(super) struct Places {
    root: PathBuf,
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
            root: root.to_owned(),
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

    pub(super) fn root(&self) -> &Path {
        &self.root
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

    /// The target of a path, relative to a folder.
    pub(super) fn resolve(&self, folder: &Path, text: &str) -> PathBuf {
        real_path(&folder.join(self.below_home(text).unwrap_or_else(|| text.into())))
    }

    /// The target of a word of a command, if it is a path. That is a path from the root whose first
    /// folder exists, one below the home folder, or one relative to a known folder. If the shell
    /// expands a part of the word, only the folder before that part counts.
    pub(super) fn meant(&self, word: &str, folder: Option<&Path>) -> Option<PathBuf> {
        let below_home = self.below_home(word);
        let text = below_home.as_deref().and_then(Path::to_str).unwrap_or(word);
        let text = match text.find(['$', '`', '*', '?', '[', '{']) {
            Some(made) => &text[..text[..made].rfind('/')?],
            None => text,
        };
        let from_root = text
            .strip_prefix('/')
            .map(|below| below.trim_start_matches('/').split('/').next().unwrap_or_default());
        let is_stream = STREAMS.iter().any(|stream| text.starts_with(stream));
        match from_root {
            _ if text.is_empty() || is_stream => None,
            // A single slash is more often a separator than the root folder, which commands may not
            // read anyway.
            Some("") => None,
            // Many words begin with a slash and are not paths, such as `/foo/d` for `sed`.
            Some(first) => Path::new("/").join(first).exists().then(|| real_path(text.as_ref())),
            None => folder.map(|folder| real_path(&folder.join(text))),
        }
    }

    /// Resolves `~/x` and `$HOME/x`, if the home folder is known.
    fn below_home(&self, text: &str) -> Option<PathBuf> {
        let below = ["~", "$HOME", "${HOME}"].iter().find_map(|home| text.strip_prefix(home))?;
        let home = self.home.as_deref()?;
        (below.is_empty() || below.starts_with('/'))
            .then(|| home.join(below.trim_start_matches('/')))
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
