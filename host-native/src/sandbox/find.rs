//! Finding the guest: what the user names, else the environment, else the build folder, else what this program carries.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    guest::{Guest, GuestError},
    limits::Pool,
    runtime::{Compiler, Runtime},
};

/// The guest that was put into this program.
#[cfg(feature = "embed-guest")]
const EMBEDDED: Option<&[u8]> = Some(include_bytes!(env!("WAKEFUL_GUEST", "set WAKEFUL_GUEST to the built component")));
#[cfg(not(feature = "embed-guest"))]
const EMBEDDED: Option<&[u8]> = None;

/// Where the build puts the guest, below the target folder.
const BUILT: &str = "guest/wakeful.component.wasm";

/// There is no guest anywhere.
#[derive(Debug, thiserror::Error)]
#[error("there is no guest: build it with `cargo xtask run`, or name one with --guest or WAKEFUL_GUEST")]
pub struct NoGuest;

/// Finds and compiles the guest: that of [`file`], else the embedded one; none where there is none.
///
/// # Errors
/// Where the one that was found cannot be used.
pub fn find(named: Option<&Path>, compiler: Compiler) -> Result<Option<Guest>, GuestError> {
    let runtime = || Runtime::with(compiler, Pool::default());
    if let Some(path) = file(named) {
        return runtime()?.load(&path).map(Some);
    }
    EMBEDDED.map(|bytes| runtime()?.compile(bytes, "the embedded guest")).transpose()
}

/// The file of the guest: `named`, else `WAKEFUL_GUEST`, else that of the build folder; none where there is none.
#[must_use]
pub(crate) fn file(named: Option<&Path>) -> Option<PathBuf> {
    let from_environment = env::var_os("WAKEFUL_GUEST").map(PathBuf::from);
    named.map(Path::to_owned).or(from_environment).or_else(|| built(BUILT))
}

/// A file in the target folder that this program was built into.
pub(crate) fn built(file: &str) -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    program.ancestors().map(|folder| folder.join(file)).find(|path| path.is_file())
}
