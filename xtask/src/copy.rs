//! Copies of the source tree below target, for changes to sources: mutants, seeded mistakes,
//! another version of the core.
//!
//! A copy stays between runs, and only files that differ are written, so that cargo rebuilds only
//! what changed. The developer's tree is never touched. The next run removes what an interrupted
//! run left behind.

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

/// The files of a copy: the path of each in the copy, and its source.
type Sources = BTreeMap<String, PathBuf>;

/// Updates the copy in this folder of target. Returns its root.
pub fn update(paths: &Paths, folder: &str) -> Result<PathBuf, Failure> {
    brought(paths, folder, sources)
}

/// The same, but the folder with this name comes from another place.
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

/// Copies compiled artifacts into the copy, so that only changed packages are compiled again;
/// dependencies do not depend on the path. Existing artifacts stay.
pub fn take_over(paths: &Paths, copy: &Path, folders: &[&str]) -> Result<(), Failure> {
    for folder in folders {
        let (from, to) = (paths.at(folder), copy.join(folder));
        // Without built artifacts in the tree, the copy compiles everything itself.
        if to.exists() || !from.exists() {
            continue;
        }
        if let Some(above) = to.parent() {
            fs::create_dir_all(above)
                .map_err(|why| Failure::new(format!("cannot make {}: {why}", above.display())))?;
        }
        // Keep the times, because cargo uses them to detect changes.
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
        // A new modification time would let cargo compile the file again.
        if fs::read(&target).is_ok_and(|there| there == bytes) {
            continue;
        }
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&target, bytes)?;
    }
    // Ignored files stay: they are the copy's own builds.
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
