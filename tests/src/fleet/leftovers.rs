//! Folders and networks of processes that have ended. A process that is killed leaves what it made,
//! and so does one that keeps a server in a static. The next one removes it.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// The file of a folder that its process has locked. The system unlocks it when the process ends.
const LOCK: &str = "in-use";

/// A folder that is removed in the end.
pub(super) struct Folder {
    folder: TempDir,
    /// It is unlocked when it is closed.
    _lock: fs::File,
}

impl Folder {
    /// Makes one. Those of processes that have ended are removed, if their names begin with this.
    pub(super) fn new(prefix: &str) -> io::Result<Self> {
        for folder in left(&env::temp_dir(), prefix)? {
            // Another process may be removing it just now.
            let _ = fs::remove_dir_all(folder);
        }
        let folder = tempfile::Builder::new().prefix(prefix).tempdir()?;
        // It has its name only when it is locked, so that nobody takes it for one that was left.
        let new = folder.path().join("new");
        let lock = fs::File::create(&new)?;
        lock.lock()?;
        fs::rename(new, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The folders with this prefix whose processes have ended.
fn left(within: &Path, prefix: &str) -> io::Result<Vec<PathBuf>> {
    let is_left = |folder: &PathBuf| {
        let lock = fs::File::open(folder.join(LOCK));
        lock.is_ok_and(|lock| lock.try_lock().is_ok())
    };
    let named = fs::read_dir(within)?.flatten();
    let named = named.filter(|it| it.file_name().to_string_lossy().starts_with(prefix));
    Ok(named.map(|it| it.path()).filter(is_left).collect())
}

/// The process that a network is named after, as `wf12` and `wf12n1` are.
pub(super) fn owner(network: &str) -> Option<u32> {
    network.strip_prefix("wf")?.split('n').next()?.parse().ok()
}

/// Whether a process has ended.
pub(super) fn has_ended(process: u32) -> bool {
    !Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_no_process_uses_is_left() {
        let within = tempfile::tempdir().expect("a folder");
        let at = |name: &str| within.path().join(name);
        for name in ["a-used", "a-left", "a-new", "b-left"] {
            fs::create_dir(at(name)).expect("a folder");
        }
        let lock = |name: &str| fs::File::create(at(name).join(LOCK)).expect("a file");
        let used = lock("a-used");
        used.lock().expect("it is locked");
        drop((lock("a-left"), lock("b-left")));
        assert_eq!(left(within.path(), "a-").expect("they are read"), [at("a-left")]);
        drop(used);
        assert_eq!(left(within.path(), "a-").expect("they are read").len(), 2);
    }

    #[test]
    fn a_network_names_its_process() {
        assert_eq!(["wf12", "wf12n1", "eth0", "wfx"].map(owner), [Some(12), Some(12), None, None]);
        assert!(!has_ended(std::process::id()));
    }
}
