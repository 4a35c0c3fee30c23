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
    /// If the folder does not exist.
    pub fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        match root.is_dir() {
            true => Ok(Self { root }),
            false => Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("`{}` is not a folder", root.display()),
            )),
        }
    }

    /// The real path of the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder in which a command runs: the root, or the requested folder, absolute or relative
    /// to the root.
    ///
    /// # Errors
    /// If the folder is outside the workspace, also by way of `..` or a link, or does not exist.
    pub fn resolve(&self, workdir: Option<&str>) -> Result<PathBuf, Refusal> {
        let Some(asked) = workdir else { return Ok(self.root.clone()) };
        let wanted = self.root.join(asked);
        // Check the place before the existence: an error must not reveal which files exist outside.
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

/// The target of a path. Links are resolved as far as the path exists; the rest is taken literally.
pub(super) fn real_path(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            // Links are resolved first, so `..` leaves the target of a link, as in the kernel.
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
