//! Finds the guest: first the file that the user names, then `WAKEFUL_GUEST`, then the embedded
//! guest, then the build folder.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    guest::{Guest, GuestError},
    limits::Pool,
    runtime::{Compiler, Runtime},
};

/// The guest inside this program. Published programs embed it; programs built in the source tree
/// find it in the build folder.
#[cfg(feature = "embed-guest")]
const EMBEDDED: Option<&[u8]> =
    Some(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/guest/wakeful.component.wasm")));
#[cfg(not(feature = "embed-guest"))]
const EMBEDDED: Option<&[u8]> = None;

/// The path at which the build puts the guest, relative to the target folder.
const BUILT: &str = "guest/wakeful.component.wasm";

/// No guest was found.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no guest: build it with `cargo xtask run`, or name one with --guest or WAKEFUL_GUEST"
)]
pub struct NoGuest;

/// Finds and compiles the guest: first the file `named`, then `WAKEFUL_GUEST`, then the embedded
/// guest, then the build folder. Returns `None` if there is no guest.
///
/// # Errors
/// If the guest that was found cannot be used.
pub fn find(
    named: Option<&Path>,
    compiler: Compiler,
    pool: Pool,
) -> Result<Option<Guest>, GuestError> {
    let runtime = || Runtime::with(compiler, pool);
    if let Some(path) = file(named) {
        return runtime()?.load(&path).map(Some);
    }
    EMBEDDED.map(|bytes| runtime()?.compile(bytes, "the embedded guest")).transpose()
}

/// The file of the guest: first `named`, then `WAKEFUL_GUEST` unless it is empty, then the build
/// folder unless a guest is embedded.
#[must_use]
pub fn file(named: Option<&Path>) -> Option<PathBuf> {
    let from_environment =
        env::var_os("WAKEFUL_GUEST").filter(|path| !path.is_empty()).map(PathBuf::from);
    let from_build = || if EMBEDDED.is_some() { None } else { built(BUILT) };
    named.map(Path::to_owned).or(from_environment).or_else(from_build)
}

/// A file in the target folder that this program was built into; `None` if there is no such file.
#[must_use]
pub fn built(file: &str) -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    // Programs lie in a folder of the target folder, and tests one folder deeper.
    program.ancestors().map(|folder| folder.join(file)).find(|path| path.is_file())
}
