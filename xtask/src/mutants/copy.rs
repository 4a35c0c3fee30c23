//! The copy of the source tree in which mutants are tried: target/mutants/tree.
//!
//! It stays between runs and only what differs is written, so that cargo builds what changed and nothing else. The tree that a developer
//! works in is never touched, and a mutant that an interrupted run left behind is gone with the next.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    call::Failure,
    paths::{Paths, files_below},
    tidy::tree::source_paths,
};

/// Brings the copy up to date, and gives its root.
pub(super) fn update(paths: &Paths) -> Result<PathBuf, Failure> {
    let copy = paths.target().join("mutants/tree");
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
    let known: BTreeSet<PathBuf> = sources.iter().map(|path| to.join(path)).collect();
    for file in files_below(to)?.into_iter().filter(|file| !known.contains(file)) {
        fs::remove_file(file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        copy_sources(&from, &to).expect("a copy");
        let copied: Vec<PathBuf> = files_below(&to).expect("files");
        assert_eq!(copied, [".gitignore", "core/a.rs", "core/c.rs"].map(|path| to.join(path)));
        assert_eq!(written("core/a.rs"), before, "what is equal is not written again");
        fs::remove_dir_all(&folder).expect("it goes");
    }
}
