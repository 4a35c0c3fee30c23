//! Finds the source tree, for engines and cases that are not part of this program.

use std::{env, path::PathBuf};

/// Finds a file or folder of the source tree: below the current folder or an ancestor of it,
/// otherwise below an ancestor of this program.
pub(crate) fn find(relative: &str) -> Option<PathBuf> {
    let here = env::current_dir().ok();
    let program = env::current_exe().ok();
    let places = here.iter().chain(&program).flat_map(|place| place.ancestors());
    places.map(|folder| folder.join(relative)).find(|path| path.exists())
}
