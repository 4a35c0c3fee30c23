//! Whether the path of an open file still leads to that file. A file that was deleted, renamed or
//! replaced stays open and takes appends, which no one will ever find.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use super::{SqliteError, beside};

/// How an open file was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// Nothing is at its path.
    Gone,
    /// Another file is at its path.
    Replaced,
    /// The file with its newest entries is not the one that was opened.
    WalGone,
}

/// The identity of an open file. Clones share the finding that it was lost.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    path: Arc<PathBuf>,
    ledger: Option<FileId>,
    /// The `-wal` file, which exists for as long as a writer has the ledger open.
    wal: Option<FileId>,
    lost: Arc<OnceLock<Loss>>,
}

impl Identity {
    /// The files that a writer has open. Call it after the first transaction, which opens the
    /// `-wal` file.
    pub(super) fn of_writer(path: &Path) -> Self {
        let wal = FileId::find(&beside(path, "-wal")).ok();
        Self { wal, ..Self::of_reader(path) }
    }

    /// The file that a reader has open.
    pub(super) fn of_reader(path: &Path) -> Self {
        // A relative path would lead elsewhere if the program changed its folder.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let ledger = FileId::find(&path).ok();
        Self { path: Arc::new(path), ledger, wal: None, lost: Arc::default() }
    }

    /// A ledger in memory, which cannot be lost.
    pub(super) fn none() -> Self {
        Self { path: Arc::default(), ledger: None, wal: None, lost: Arc::default() }
    }

    /// Fails if the file was lost, now or earlier. A file that came back may lack entries, so it
    /// stays lost.
    pub(super) fn check(&self, named: &Path) -> Result<(), SqliteError> {
        match self.lost.get().copied().or_else(|| self.look()) {
            None => Ok(()),
            Some(loss) => Err(error(*self.lost.get_or_init(|| loss), named)),
        }
    }

    /// Why the file was lost; `None` if it was not.
    pub(super) fn lost(&self, named: &Path) -> Option<SqliteError> {
        self.lost.get().map(|loss| error(*loss, named))
    }

    fn look(&self) -> Option<Loss> {
        let ledger = self.ledger?;
        match FileId::find(&self.path) {
            Ok(found) if found != ledger => return Some(Loss::Replaced),
            Err(why) if is_missing(&why) => return Some(Loss::Gone),
            // If the folder cannot be read now, nothing is known about the file.
            Ok(_) | Err(_) => {}
        }
        let wal = self.wal?;
        match FileId::find(&beside(&self.path, "-wal")) {
            Ok(found) if found != wal => Some(Loss::WalGone),
            Err(why) if is_missing(&why) => Some(Loss::WalGone),
            Ok(_) | Err(_) => None,
        }
    }
}

fn is_missing(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn error(loss: Loss, path: &Path) -> SqliteError {
    let path = path.to_owned();
    match loss {
        Loss::Gone => SqliteError::Gone(path),
        Loss::Replaced => SqliteError::Replaced(path),
        Loss::WalGone => SqliteError::WalGone(path),
    }
}

/// What names a file of this machine, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    #[cfg(unix)]
    fn find(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }

    /// Windows lets nobody delete or rename a file that SQLite has open.
    #[cfg(not(unix))]
    fn find(_: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
