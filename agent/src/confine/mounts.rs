//! What is mounted for a command: opened first, and mounted as it is.
//!
//! By a path, a command of another agent could swap a folder for a link while bubblewrap looks.

use std::{
    fs,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};

/// A real path, and the path at which commands see it.
#[derive(Clone, Debug)]
pub(super) struct Mounted {
    real: PathBuf,
    to: PathBuf,
}

/// A file or folder of the host, opened for its children, and the path at which commands see it.
pub(super) struct Seen {
    pub(super) file: OwnedFd,
    pub(super) to: PathBuf,
}

/// Files that must stay open until the command is started, because it inherits them.
#[derive(Debug, Default)]
pub(crate) struct Inherited(#[allow(dead_code)] Vec<OwnedFd>);

impl FromIterator<Seen> for Inherited {
    fn from_iter<I: IntoIterator<Item = Seen>>(all: I) -> Self {
        Self(all.into_iter().map(|seen| seen.file).collect())
    }
}

impl Mounted {
    /// The real paths of files and folders, each with the path at which commands see it. What does
    /// not exist is left out.
    pub(super) fn resolved(paths: &[PathBuf]) -> Vec<Self> {
        let mut all = Vec::new();
        for path in paths {
            let Ok(real) = path.canonicalize() else { continue };
            if *path != real {
                all.push(Self { real: real.clone(), to: path.clone() });
            }
            all.push(Self { to: real.clone(), real });
        }
        all
    }

    /// Real paths, which are not resolved again: what is a link there by now leads elsewhere.
    pub(super) fn as_they_are(paths: &[PathBuf]) -> Vec<Self> {
        paths.iter().map(|real| Self { real: real.clone(), to: real.clone() }).collect()
    }

    /// Opens all for one command. What is gone, or has become a link, is left out.
    pub(super) fn opened(all: &[Self]) -> Vec<Seen> {
        all.iter().filter_map(Self::open).collect()
    }

    fn open(&self) -> Option<Seen> {
        // With these flags a link is opened itself.
        let file = open(&self.real, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty()).ok()?;
        let kind = FileType::from_raw_mode(fstat(&file).ok()?.st_mode);
        (!kind.is_symlink() && is_at(&file, &self.real)).then(|| Seen { file, to: self.to.clone() })
    }
}

/// Whether an open file is at this real path. A command of another agent may have put a link in its
/// place since the path was resolved.
fn is_at(file: &OwnedFd, path: &Path) -> bool {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::read_link(own).is_ok_and(|real| real == path)
}

/// A program, opened so that children inherit it. A command that replaces the file replaces
/// nothing.
pub(super) fn opened_program(program: &Path) -> std::io::Result<OwnedFd> {
    Ok(open(program, OFlags::RDONLY, Mode::empty())?)
}
