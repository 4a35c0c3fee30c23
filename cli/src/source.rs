//! The source tree, for engines and cases that are in it and not in this program.

use std::{env, path::PathBuf};

/// A file or folder of the source tree: below the current folder or an ancestor of it, else below
/// an ancestor of this program.
pub(crate) fn find(relative: &str) -> Option<PathBuf> {
    let here = env::current_dir().ok();
    let program = env::current_exe().ok();
    let places = here.iter().chain(&program).flat_map(|place| place.ancestors());
    places.map(|folder| folder.join(relative)).find(|path| path.exists())
}
