//! Paths of the tests' data and of the built guests.

use std::path::{Path, PathBuf};

/// The root folder of the source tree.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A file or folder of the source tree.
#[must_use]
pub fn tree(relative: &str) -> PathBuf {
    root().join(relative)
}

/// A file or folder below `tests/`.
#[must_use]
pub fn data(relative: &str) -> PathBuf {
    root().join("tests").join(relative)
}

/// A guest in the build folder.
///
/// # Panics
/// If it was not built: a test that cannot run has failed.
#[must_use]
pub fn guest(name: &str) -> PathBuf {
    let path = root().join("target/guest").join(name);
    assert!(
        path.exists(),
        "`{name}` is not built: `cargo xtask test` builds the guests before the tests"
    );
    path
}

/// A program in the build folder.
///
/// # Panics
/// If it was not built: a test that cannot run has failed.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let path = root().join("target/debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "`{name}` is not built: `cargo build -p {name}` builds it");
    path
}

/// The files of all scenarios, in the order of their paths.
///
/// # Panics
/// If the folder cannot be read.
#[must_use]
pub fn scenarios() -> Vec<PathBuf> {
    let mut folders = vec![data("scenarios")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of scenarios") {
            let path = entry.expect("an entry of the folder").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
