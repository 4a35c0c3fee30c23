//! The folder in which an agent works.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use super::Refusal;

/// The folder in which an agent works, with all links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace at a folder.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        match root.is_dir() {
            true => Ok(Self { root }),
            false => Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("`{}` is no folder", root.display()),
            )),
        }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder in which a command runs: the root, or what was asked for, absolute or relative to
    /// the root.
    ///
    /// # Errors
    /// It is outside, also by `..` or a link, or not there.
    pub fn resolve(&self, workdir: Option<&str>) -> Result<PathBuf, Refusal> {
        let Some(asked) = workdir else { return Ok(self.root.clone()) };
        let wanted = self.root.join(asked);
        // What is outside is not even looked at: whether it is there is nobody's business.
        let outside =
            || Refusal::ExecutionRoot { asked: asked.to_owned(), root: self.root.clone() };
        let is_inside = |path: &Path| path.starts_with(&self.root);
        match wanted.canonicalize() {
            Ok(real) if !is_inside(&real) => Err(outside()),
            Ok(real) if real.is_dir() => Ok(real),
            Err(_) if !is_inside(&real_path(&wanted)) => Err(outside()),
            Ok(_) | Err(_) => Err(Refusal::NoFolder { asked: asked.to_owned() }),
        }
    }
}

/// Where a path leads: its links are resolved as far as it is there, and the rest is taken by its
/// words.
pub(super) fn real_path(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            Component::CurDir => {}
            other => {
                real.push(other);
                real = real.canonicalize().unwrap_or(real);
            }
        }
    }
    real
}
