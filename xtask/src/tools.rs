//! The build tools of xtask/tools. They are built into target/tools, and again only if their source
//! changes.

use std::{fs, io, path::Path};

use crate::{
    call::{Call, Failure},
    paths::{Paths, files_below},
    stamp,
};

/// Builds the tools, unless they were built from the same files.
pub fn build(paths: &Paths) -> Result<(), Failure> {
    let source = paths.at("xtask/tools");
    let stamp = paths.target().join("tools/stamp");
    let now = stamp_of(&source)
        .map_err(|why| Failure::new(format!("cannot read {}: {why}", source.display())))?;
    if paths.tools().is_file() && fs::read_to_string(&stamp).is_ok_and(|then| then == now) {
        return Ok(());
    }
    Call::cargo(paths, "tools", "build")
        .args(["--locked", "--manifest-path"])
        .arg(source.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", paths.target().join("tools"))
        .build()?;
    // Last, so that an interrupted build is repeated.
    fs::write(&stamp, now)
        .map_err(|why| Failure::new(format!("cannot write {}: {why}", stamp.display())))
}

/// The manifest, the lock and the source.
fn stamp_of(source: &Path) -> io::Result<String> {
    let mut files = vec![source.join("Cargo.toml"), source.join("Cargo.lock")];
    files.extend(files_below(&source.join("src"))?);
    stamp::of_files(source, files)
}
