//! The files that `.gitignore` excludes: built, installed and generated ones.
//!
//! It reads the forms that are used here: a name anywhere below, a path from the folder of the
//! file, and `*` at the start. An unknown form excludes nothing, so that a file is rather checked
//! than missed.

/// The lines of all `.gitignore` files from the root down, each with its folder.
#[derive(Clone, Debug, Default)]
pub(super) struct Ignored {
    patterns: Vec<(String, String)>,
}

impl Ignored {
    /// Adds the file of one folder; the root is the empty path.
    pub(super) fn add(&mut self, folder: &str, text: &str) {
        let lines =
            text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        self.patterns
            .extend(lines.map(|line| (folder.to_owned(), line.trim_end_matches('/').to_owned())));
    }

    /// Whether a path from the root is excluded. An excluded folder excludes everything in it.
    pub(super) fn leaves_out(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        // No `.gitignore` names this folder, because git never adds it.
        name == ".git"
            || self.patterns.iter().any(|(folder, pattern)| matches(folder, pattern, path, name))
    }
}

fn matches(folder: &str, pattern: &str, path: &str, name: &str) -> bool {
    let from_folder = if folder.is_empty() {
        Some(path)
    } else {
        path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'))
    };
    let Some(from_folder) = from_folder else { return false };
    match (pattern.strip_prefix('*'), pattern.contains('/')) {
        (Some(end), false) => name.ends_with(end),
        (_, true) => from_folder == pattern.trim_start_matches('/'),
        (None, false) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_paths_and_endings_are_left_out_where_they_are_written() {
        let mut ignored = Ignored::default();
        ignored.add("", "# built\n/target\nnode_modules/\n*.log\n");
        ignored.add("web-demo", "dist\npublic/bundle.json\n");
        for path in [
            "target",
            "web-demo/node_modules",
            "a/b.log",
            "web-demo/dist",
            "web-demo/x/dist",
            "web-demo/public/bundle.json",
            ".git",
        ] {
            assert!(ignored.leaves_out(path), "{path}");
        }
        for path in [
            "core/target",
            "core/dist",
            "public/bundle.json",
            "web-demo2/dist",
            "core/src/log.rs",
            ".gitignore",
            "web-demo/public",
        ] {
            assert!(!ignored.leaves_out(path), "{path}");
        }
    }
}
