//! Which process holds a file. Linux lists all file locks with their owners; other systems do not
//! say.

use std::{fmt, path::Path};

/// A process that holds a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The id of the process.
    pub pid: u32,
    /// The name of its program. It is empty if it cannot be read.
    pub name: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            write!(f, "process {}", self.pid)
        } else {
            write!(f, "process {} (`{}`)", self.pid, self.name)
        }
    }
}

impl Holder {
    /// The process that keeps writers out of this ledger file.
    #[cfg(target_os = "linux")]
    pub(super) fn find(path: &Path) -> Option<Self> {
        use std::{fs, os::unix::fs::MetadataExt, process};

        let inode = |path: &Path| Some(fs::metadata(path).ok()?.ino());
        let locks = fs::read_to_string("/proc/locks").ok()?;
        // In WAL mode writers exclude each other by a lock in the shared memory. A process in
        // exclusive mode locks the file itself.
        let pid = inode(&super::beside(path, "-shm"))
            .and_then(|shm| writer(&locks, shm, Some(WRITE_LOCK)))
            .or_else(|| writer(&locks, inode(path)?, None))?;
        // This process may wait for itself, if it has opened the file twice.
        if pid == process::id() {
            return None;
        }
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        Some(Self { pid, name: name.trim_end().to_owned() })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn find(_: &Path) -> Option<Self> {
        None
    }
}

/// The byte of the `-shm` file that a writer locks (`WAL_WRITE_LOCK` in SQLite).
#[cfg(target_os = "linux")]
const WRITE_LOCK: u64 = 120;

/// The process with a write lock on this inode, in the text of `/proc/locks`. With `byte`, only a
/// lock over that byte counts.
#[cfg(target_os = "linux")]
fn writer(locks: &str, inode: u64, byte: Option<u64>) -> Option<u32> {
    locks.lines().find_map(|line| {
        // `3: POSIX  ADVISORY  WRITE 1201 fe:00:131 120 120`; waiting ones have `->` after the
        // number.
        let mut words = line.split_whitespace().skip(1);
        if words.next()? == "->" || words.nth(1)? != "WRITE" {
            return None;
        }
        let (pid, file, start, end) = (words.next()?, words.next()?, words.next()?, words.next()?);
        let is_over = |byte: u64| {
            start.parse().is_ok_and(|start: u64| start <= byte)
                && (end == "EOF" || end.parse().is_ok_and(|end: u64| byte <= end))
        };
        let is_it = file.rsplit(':').next()?.parse() == Ok(inode) && byte.is_none_or(is_over);
        // A process outside this container has no id here.
        is_it.then(|| pid.parse().ok()).flatten().filter(|pid| *pid > 0)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_writer_is_the_process_with_a_write_lock_over_the_byte() {
        let locks = "\
            1: POSIX  ADVISORY  READ 11 fe:00:131 123 123\n\
            2: POSIX  ADVISORY  WRITE 12 fe:00:131 121 122\n\
            2: -> POSIX  ADVISORY  WRITE 13 fe:00:131 120 120\n\
            3: FLOCK  ADVISORY  WRITE 14 fe:00:7 0 EOF\n\
            4: POSIX  ADVISORY  WRITE -1 fe:00:132 0 EOF\n\
            5: POSIX  ADVISORY  WRITE 15 fe:00:131 120 120\n";
        assert_eq!(writer(locks, 131, Some(120)), Some(15));
        assert_eq!(writer(locks, 131, None), Some(12));
        assert_eq!(writer(locks, 7, Some(120)), Some(14));
        assert_eq!(writer(locks, 132, None), None);
        assert_eq!(writer(locks, 1, None), None);
    }
}
