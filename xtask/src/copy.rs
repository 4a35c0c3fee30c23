//! Copies of the source tree below target, in which sources are changed: by mutants, by seeded mistakes.
//!
//! A copy stays between runs and only what differs is written, so that cargo builds what changed and nothing else. The tree that a developer
//! works in is never touched, and what an interrupted run left behind is gone with the next.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{call::Failure, paths::Paths, tidy::tree::source_paths};

/// Brings the copy in this folder of target up to date, and gives its root.
pub(crate) fn update(paths: &Paths, folder: &str) -> Result<PathBuf, Failure> {
    let copy = paths.target().join(folder);
    copy_sources(paths.root(), &copy)
        .map_err(|why| Failure::new(format!("cannot copy the tree to {}: {why}; is there room on the disk?", copy.display())))?;
    Ok(copy)
}

fn copy_sources(from: &Path, to: &Path) -> io::Result<()> {
    let sources = source_paths(from)?;
    for path in &sources {
        let (source, target) = (from.join(path), to.join(path));
        let bytes = fs::read(&source)?;
        if fs::read(&target).is_ok_and(|there| there == bytes) {
            continue;
        }
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&target, bytes)?;
    }
    // What the lists of the tree leave out may stay: the copy's own builds.
    let known: BTreeSet<String> = sources.into_iter().collect();
    for path in source_paths(to)?.into_iter().filter(|path| !known.contains(path)) {
        fs::remove_file(to.join(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::files_below;

    #[test]
    fn the_copy_follows_the_tree_and_writes_only_what_differs() {
        let folder = std::env::temp_dir().join(format!("wakeful-copy-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        let write = |path: &str, text: &str| {
            let file = from.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        };
        write(".gitignore", "/target\n");
        write("target/built", "x");
        write("core/a.rs", "a");
        write("core/b.rs", "b");
        copy_sources(&from, &to).expect("a copy");
        let written = |path: &str| fs::metadata(to.join(path)).and_then(|data| data.modified()).expect("a time");
        let before = written("core/a.rs");

        fs::write(to.join("core/b.rs"), "a mutant").expect("a file");
        fs::remove_file(from.join("core/b.rs")).expect("a file");
        write("core/c.rs", "c");
        fs::write(to.join("core/left.rs"), "left behind").expect("a file");
        fs::create_dir_all(to.join("target")).expect("a folder");
        fs::write(to.join("target/built"), "y").expect("a file");
        copy_sources(&from, &to).expect("a copy");
        let copied: Vec<PathBuf> = files_below(&to).expect("files");
        assert_eq!(copied, [".gitignore", "core/a.rs", "core/c.rs", "target/built"].map(|path| to.join(path)));
        assert_eq!(written("core/a.rs"), before, "what is equal is not written again");
        fs::remove_dir_all(&folder).expect("it goes");
    }
}
