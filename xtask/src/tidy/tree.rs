//! The tree of source files, read once. Built, installed and generated files are left out.

use std::{fs, io, path::Path};

use super::ignored::Ignored;

/// One file.
#[derive(Debug)]
pub struct File {
    /// The path from the root, with `/` between folders.
    pub path: String,
    /// The text. Empty for a binary file.
    pub text: String,
}

/// All files, in the order of their paths.
#[derive(Debug)]
pub struct Tree {
    /// Sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let read = |path: String| {
            let text = String::from_utf8(fs::read(root.join(&path))?).unwrap_or_default();
            Ok(File { path, text })
        };
        let mut files: Vec<File> =
            source_paths(root)?.into_iter().map(read).collect::<io::Result<_>>()?;
        files.retain(|file| file.extension() != "rs" || !file.text.starts_with("//! Generated "));
        Ok(Self { files })
    }

    /// A tree of these files.
    pub fn from_files(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
                .collect(),
        }
    }

    /// The file at a path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// The paths of all source files, from the root, sorted.
pub fn source_paths(root: &Path) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    paths_below(root, "", Ignored::default(), &mut paths)?;
    paths.sort();
    Ok(paths)
}

fn paths_below(
    folder: &Path,
    relative: &str,
    mut ignored: Ignored,
    paths: &mut Vec<String>,
) -> io::Result<()> {
    let lists = folder.join(".gitignore");
    if lists.is_file() {
        ignored.add(relative, &fs::read_to_string(lists)?);
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if relative.is_empty() { name } else { format!("{relative}/{name}") };
        if ignored.leaves_out(&path) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // A copy, because the patterns of a folder do not hold beside it.
            paths_below(&entry.path(), &path, ignored.clone(), paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

impl File {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// `rs` of `a/b.rs`; empty without one.
    pub(super) fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Whether it is program text.
    pub(super) fn is_source(&self) -> bool {
        matches!(self.extension(), "rs" | "ts" | "tsx" | "mjs" | "js" | "css")
    }

    /// Whether it is a lock file, which a package tool writes.
    pub(super) fn is_lock(&self) -> bool {
        matches!(self.name(), "Cargo.lock" | "package-lock.json")
    }

    /// Whether it is recorded test data, which nobody edits.
    pub(super) fn is_recorded_data(&self) -> bool {
        ["tests/fixtures/", "tests/ledgers/"].iter().any(|folder| self.path.starts_with(folder))
    }

    /// The lines with their numbers from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_holds_this_file_and_nothing_built() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root");
        let tree = Tree::read(root).expect("a tree");
        let this = tree.file("xtask/src/tidy/tree.rs").expect("this file");
        assert_eq!(
            (this.name(), this.extension(), this.is_source(), this.is_lock()),
            ("tree.rs", "rs", true, false)
        );
        assert!(this.text.starts_with("//! The tree"));
        assert!(!tree.files.iter().any(|file| file.path.starts_with("target/") || file.path.contains("node_modules/")));
    }
}
