//! Finding the guest: what the user names, else the environment, else what this program carries,
//! else the build folder.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    guest::{Guest, GuestError},
    limits::Pool,
    runtime::{Compiler, Runtime},
};

/// The guest that was put into this program: a published one carries it, one that is built in the
/// source tree finds it in the build folder.
#[cfg(feature = "embed-guest")]
const EMBEDDED: Option<&[u8]> =
    Some(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/guest/wakeful.component.wasm")));
#[cfg(not(feature = "embed-guest"))]
const EMBEDDED: Option<&[u8]> = None;

/// Where the build puts the guest, below the target folder.
const BUILT: &str = "guest/wakeful.component.wasm";

/// There is no guest anywhere.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no guest: build it with `cargo xtask run`, or name one with --guest or WAKEFUL_GUEST"
)]
pub struct NoGuest;

/// Finds and compiles the guest: the one that is named or that `WAKEFUL_GUEST` names, else the
/// embedded one, else that of the build folder; none where there is none.
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

/// The file of the guest: `named`, else `WAKEFUL_GUEST` unless it is empty, else, where none is
/// embedded, that of the build folder.
#[must_use]
pub fn file(named: Option<&Path>) -> Option<PathBuf> {
    let from_environment =
        env::var_os("WAKEFUL_GUEST").filter(|path| !path.is_empty()).map(PathBuf::from);
    let from_build = || if EMBEDDED.is_some() { None } else { built(BUILT) };
    named.map(Path::to_owned).or(from_environment).or_else(from_build)
}

/// A file in the target folder that this program was built into; none where there is no such file.
#[must_use]
pub fn built(file: &str) -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    program.ancestors().map(|folder| folder.join(file)).find(|path| path.is_file())
}
