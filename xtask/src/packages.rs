//! Installs the npm packages of a folder by its lock file.

use std::{fs, path::Path};

use crate::{
    call::{Call, Failure},
    paths::Paths,
};

/// Installs the packages of a folder, unless they are newer than its lock file.
pub fn install(paths: &Paths, folder: &Path) -> Result<(), Failure> {
    let time = |name: &str| fs::metadata(folder.join(name)).and_then(|data| data.modified());
    let lock = time("package-lock.json").map_err(|why| {
        Failure::new(format!("cannot read {}: {why}", folder.join("package-lock.json").display()))
    })?;
    // npm writes this file last, so an interrupted installation is repeated.
    if time("node_modules/.package-lock.json").is_ok_and(|installed| installed >= lock) {
        return Ok(());
    }
    npm(paths, "npm-ci", folder).args(["ci", "--no-audit", "--no-fund"]).build()
}

/// A call of npm in a folder.
pub fn npm(paths: &Paths, log: &str, folder: &Path) -> Call {
    Call::new(paths, log, "npm").folder(folder)
}
