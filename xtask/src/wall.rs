//! bubblewrap, which keeps the commands of agents in their workspace, and what attacks on it need.
//! The tests of agents need them.

use std::path::Path;

use crate::{call::Failure, debian, paths::Paths};

/// The line that installs all of it.
pub(crate) const INSTALL: &str = "apt-get install bubblewrap python3 util-linux git";

/// Packages, and the paths at which the product and the tests look for their programs.
const PACKAGES: [(&str, &[&str]); 4] = [
    ("bubblewrap", &["/usr/bin/bwrap", "/usr/local/bin/bwrap"]),
    ("python3", &["/usr/bin/python3"]),
    ("util-linux", &["/usr/bin/setpriv"]),
    ("git", &["/usr/bin/git"]),
];

/// The packages that are missing.
pub(crate) fn missing() -> Vec<&'static str> {
    let is_missing = |paths: &[&str]| !paths.iter().any(|path| Path::new(path).is_file());
    PACKAGES.iter().filter(|(_, paths)| is_missing(paths)).map(|(name, _)| *name).collect()
}

/// Installs what is missing.
pub(crate) fn find(paths: &Paths) -> Result<(), Failure> {
    let names = missing();
    if !cfg!(target_os = "linux") || names.is_empty() {
        return Ok(());
    }
    let all = names.join(" and ");
    debian::install(paths, "wall", &names, &format!("{all} missing; install all: {INSTALL}"))
}
