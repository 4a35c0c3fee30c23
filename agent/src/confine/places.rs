//! Which files commands may use.

use std::path::{Path, PathBuf};

use super::{wall::OF_THE_SYSTEM, workspace::real_path};

/// The files and folders that commands may use, by their real paths.
#[derive(Clone, Debug)]
pub(super) struct Places {
    home: Option<PathBuf>,
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl Places {
    /// A workspace, and what is open beside it and the programs of the system. Paths that do not
    /// exist are left out.
    pub(super) fn new(
        root: &Path,
        home: Option<&Path>,
        read: Vec<PathBuf>,
        write: Vec<PathBuf>,
    ) -> Self {
        let real = |paths: Vec<PathBuf>| {
            paths.into_iter().filter_map(|path| path.canonicalize().ok()).collect::<Vec<_>>()
        };
        Self {
            home: home.map(Path::to_owned),
            read: [real(OF_THE_SYSTEM.map(PathBuf::from).to_vec()), real(read)].concat(),
            write: [vec![root.to_owned()], real(write)].concat(),
        }
    }

    /// The same with other real paths, which are not resolved again.
    pub(super) fn and(mut self, read: &[PathBuf], write: &[PathBuf]) -> Self {
        self.read.extend_from_slice(read);
        self.write.extend_from_slice(write);
        self
    }

    /// Whether commands may read a real path.
    pub(super) fn is_readable(&self, path: &Path) -> bool {
        self.is_writable(path) || self.read.iter().any(|place| path.starts_with(place))
    }

    /// Whether commands may write a real path.
    pub(super) fn is_writable(&self, path: &Path) -> bool {
        self.write.iter().any(|place| path.starts_with(place))
    }

    /// Whether a shell can read the user's profile.
    pub(super) fn shows_home(&self) -> bool {
        self.home.as_deref().is_some_and(|home| self.is_readable(&real_path(home)))
    }
}
