//! How much disk a command uses.
//!
//! No limit of the kernel covers folders, so the tending thread looks. What is free is one call;
//! what lies in the folders of the command takes a walk. The walks of one command take at most a
//! fiftieth of the time.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::statvfs;

use super::Limits;

/// The time before the first look, and the shortest time between two.
const PAUSE: Duration = Duration::from_secs(1);

/// The time between two walks, in lengths of the last one.
const RARELY: u32 = 50;

/// The length of a block in the metadata of a file.
const BLOCK: u64 = 512;

/// The folders that a command fills.
pub(super) struct Disk {
    folders: Vec<PathBuf>,
    /// The bytes that were free in the file system of each folder when the command started.
    free: Vec<u64>,
    /// The bytes in the folders when it started, as far as that is known.
    before: Option<u64>,
    next_look: Instant,
    next_walk: Instant,
}

impl Disk {
    pub(super) fn of(folders: Vec<PathBuf>, now: Instant) -> Self {
        let free = folders.iter().map(|folder| free(folder)).collect();
        let first = now + PAUSE;
        Self { folders, free, before: None, next_look: first, next_walk: first }
    }

    /// When to look again.
    pub(super) fn next_look(&self) -> Instant {
        self.next_look
    }

    /// Looks if it is time to. Returns whether the command uses too much.
    pub(super) fn is_overused(&mut self, limits: &Limits, now: Instant) -> bool {
        if now < self.next_look {
            return false;
        }
        self.next_look = now + PAUSE;
        let left: Vec<u64> = self.folders.iter().map(|folder| free(folder)).collect();
        let is_full = self
            .free
            .iter()
            .zip(&left)
            // What was scarce before, the command has not used up.
            .any(|(before, left)| left < before && *left < limits.disk_free_bytes);
        is_full || self.has_grown(limits, now, &left)
    }

    fn has_grown(&mut self, limits: &Limits, now: Instant, left: &[u64]) -> bool {
        let Some(most) = limits.disk_bytes.filter(|_| now >= self.next_walk) else { return false };
        let used: u64 = self.folders.iter().map(|folder| used(folder)).sum();
        self.next_walk = Instant::now() + PAUSE.max(now.elapsed() * RARELY);
        let taken =
            || self.free.iter().zip(left).map(|(before, left)| before.saturating_sub(*left));
        // The first walk comes after the start. What the file systems have lost since then is the
        // most that the command can have added.
        let before = *self.before.get_or_insert_with(|| used.saturating_sub(taken().sum()));
        used.saturating_sub(before) > most
    }
}

/// The bytes that are free for users in the file system of a folder. If it cannot be asked, nothing
/// is known to be missing.
fn free(folder: &Path) -> u64 {
    statvfs(folder).map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The bytes of the files in a folder and below it, in its file system. What cannot be read is left
/// out.
fn used(folder: &Path) -> u64 {
    let Ok(root) = fs::symlink_metadata(folder) else { return 0 };
    let mut bytes = 0_u64;
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.dev() != root.dev() {
                continue;
            }
            if metadata.is_dir() {
                open.push(entry.path());
            }
            // A file with several names counts once if all of them are here.
            bytes += metadata.blocks() * BLOCK / metadata.nlink().max(1);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn write(path: &Path, bytes: usize) -> io::Result<()> {
        fs::write(path, vec![1; bytes])
    }

    #[test]
    fn what_lies_in_a_folder_counts_by_its_blocks_and_once() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        fs::create_dir(root.join("below"))?;
        let empty = used(root);
        write(&root.join("below/one"), 1 << 20)?;
        fs::hard_link(root.join("below/one"), root.join("two"))?;
        std::os::unix::fs::symlink(root, root.join("loop"))?;
        let grown = used(root) - empty;
        assert!((1 << 20..(1 << 20) + (64 << 10)).contains(&grown), "{grown}");
        assert_eq!(used(&root.join("missing")), 0);
        Ok(())
    }

    #[test]
    fn a_folder_that_grows_beyond_the_limit_is_noticed_and_one_that_was_large_is_not()
    -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        write(&folder.path().join("before"), 4 << 20)?;
        let limits = Limits { disk_bytes: Some(2 << 20), disk_free_bytes: 0, ..Limits::default() };
        let start = Instant::now();
        let mut disk = Disk::of(vec![folder.path().to_owned()], start);
        // Walks rest between two looks, so each look is in another minute.
        let mut at =
            |minute: u64| disk.is_overused(&limits, start + Duration::from_secs(60 * minute));
        assert!(!at(0), "it is too early to look");
        assert!(!at(1), "what was there does not count");
        write(&folder.path().join("after"), 3 << 20)?;
        assert!(at(2));
        Ok(())
    }

    #[test]
    fn a_file_system_without_room_is_noticed_if_it_had_some() {
        let limits = Limits { disk_bytes: None, disk_free_bytes: u64::MAX, ..Limits::default() };
        let start = Instant::now();
        let mut disk = Disk::of(vec![PathBuf::from("/")], start);
        disk.free = vec![u64::MAX];
        assert!(disk.is_overused(&limits, start + PAUSE));
        disk.free = vec![0];
        assert!(!disk.is_overused(&limits, start + PAUSE * 2), "it was full before");
    }
}
