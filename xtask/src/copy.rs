//! Copies of the source tree below target, in which sources are changed: by mutants, by seeded
//! mistakes, by another version of the core.
//!
//! A copy stays between runs and only what differs is written, so that cargo builds what changed
//! and nothing else. The tree that a developer works in is never touched, and what an interrupted
//! run left behind is gone with the next.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    call::{Call, Failure},
    paths::Paths,
    stage::stage,
    tidy::tree::source_paths,
};

/// The files of a copy: where each stands in it, and what it is a copy of.
type Sources = BTreeMap<String, PathBuf>;

/// Brings the copy in this folder of target up to date, and gives its root.
pub fn update(paths: &Paths, folder: &str) -> Result<PathBuf, Failure> {
    brought(paths, folder, sources)
}

/// The same, but the room of this name, a folder of the tree, is the one that stands in another
/// folder.
pub fn update_but(paths: &Paths, folder: &str, room: &str, of: &Path) -> Result<PathBuf, Failure> {
    let room = format!("{room}/");
    brought(paths, folder, |root| {
        let mut all = sources(root)?;
        all.retain(|path, _| !path.starts_with(&room));
        all.extend(sources(of)?.into_iter().filter(|(path, _)| path.starts_with(&room)));
        Ok(all)
    })
}

fn brought(
    paths: &Paths,
    folder: &str,
    sources: impl FnOnce(&Path) -> io::Result<Sources>,
) -> Result<PathBuf, Failure> {
    let copy = paths.target().join(folder);
    let why = |why: io::Error| {
        Failure::new(format!(
            "cannot copy the tree to {}: {why}; is there room on the disk?",
            copy.display()
        ))
    };
    sources(paths.root()).and_then(|sources| copy_sources(&sources, &copy)).map_err(why)?;
    Ok(copy)
}

/// Takes over what is compiled in these folders, so that in the copy only what differs is compiled
/// again; dependencies know no place. What is there already stays.
pub fn take_over(paths: &Paths, copy: &Path, folders: &[&str]) -> Result<(), Failure> {
    for folder in folders {
        let (from, to) = (paths.at(folder), copy.join(folder));
        if to.exists() || !from.exists() {
            continue;
        }
        if let Some(above) = to.parent() {
            fs::create_dir_all(above)
                .map_err(|why| Failure::new(format!("cannot make {}: {why}", above.display())))?;
        }
        // With its times, by which cargo knows what is new.
        stage("copy", folder, || {
            Call::new(paths, "copy", "cp").arg("-a").arg(from).arg(to).recorded()
        })?;
    }
    Ok(())
}

/// All source files of a tree.
fn sources(root: &Path) -> io::Result<Sources> {
    Ok(source_paths(root)?.into_iter().map(|path| (path.clone(), root.join(path))).collect())
}

fn copy_sources(sources: &Sources, to: &Path) -> io::Result<()> {
    for (path, source) in sources {
        let target = to.join(path);
        let bytes = fs::read(source)?;
        if fs::read(&target).is_ok_and(|there| there == bytes) {
            continue;
        }
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&target, bytes)?;
    }
    // What the lists of the tree leave out may stay: the copy's own builds.
    for path in source_paths(to)?.into_iter().filter(|path| !sources.contains_key(path)) {
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
        let copy = || copy_sources(&sources(&from).expect("sources"), &to).expect("a copy");
        write(".gitignore", "/target\n");
        write("target/built", "x");
        write("core/a.rs", "a");
        write("core/b.rs", "b");
        copy();
        let written = |path: &str| {
            fs::metadata(to.join(path)).and_then(|data| data.modified()).expect("a time")
        };
        let before = written("core/a.rs");

        fs::write(to.join("core/b.rs"), "a mutant").expect("a file");
        fs::remove_file(from.join("core/b.rs")).expect("a file");
        write("core/c.rs", "c");
        fs::write(to.join("core/left.rs"), "left behind").expect("a file");
        fs::create_dir_all(to.join("target")).expect("a folder");
        fs::write(to.join("target/built"), "y").expect("a file");
        copy();
        let copied: Vec<PathBuf> = files_below(&to).expect("files");
        assert_eq!(
            copied,
            [".gitignore", "core/a.rs", "core/c.rs", "target/built"].map(|path| to.join(path))
        );
        assert_eq!(written("core/a.rs"), before, "what is equal is not written again");
        fs::remove_dir_all(&folder).expect("it goes");
    }
}
