//! Where the tests' data and the built guests are.

use std::path::{Path, PathBuf};

/// The folder of the source tree.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A file or folder below `tests/`.
#[must_use]
pub fn data(relative: &str) -> PathBuf {
    root().join("tests").join(relative)
}

/// A guest in the build folder.
///
/// # Panics
/// Where it was not built: a test that cannot run has failed.
#[must_use]
pub fn guest(name: &str) -> PathBuf {
    let path = root().join("target/guest").join(name);
    assert!(path.is_file(), "`{name}` is not built: `cargo xtask test` builds the guests before the tests");
    path
}
