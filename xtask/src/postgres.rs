//! PostgreSQL, for the tests of the ledger that is in it. They start servers of their own.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::{
    call::Failure,
    debian,
    paths::{Paths, on_path},
    python,
};

/// The line that installs it.
const INSTALL: &str = "apt-get install postgresql";

/// The folder of Debian's versions.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Whether its programs are there: in the folder of the variable `PG_BIN`, or as Debian installs
/// them.
pub(crate) fn is_there() -> bool {
    let has = |folder: &Path| folder.join("initdb").is_file();
    env::var_os("PG_BIN").is_some_and(|folder| has(Path::new(&folder)))
        || fs::read_dir(VERSIONS)
            .is_ok_and(|all| all.flatten().any(|it| has(&it.path().join("bin"))))
}

/// Installs it if it is missing.
pub(crate) fn find(paths: &Paths) -> Result<(), Failure> {
    if is_there() {
        return Ok(());
    }
    let missing = format!("PostgreSQL is missing: {INSTALL}, or name its folder in PG_BIN");
    debian::install(paths, "postgres", &["postgresql"], &missing)
}

/// Installs etcd if it is missing, and Patroni from the registry of Python. Returns the program of
/// Patroni.
///
/// Debian 12 has Patroni 3.0.2. If that one was stopped for longer than its lock, it takes the lock
/// back from the new primary, and what that one had committed is lost (mended in 3.0.3).
pub(crate) fn patroni(paths: &Paths) -> Result<PathBuf, Failure> {
    if on_path("etcd").is_none() {
        let missing = "etcd is missing: apt-get install etcd-server";
        debian::install(paths, "etcd", &["etcd-server"], missing)?;
    }
    python::patroni(paths)
}
