//! Whether the path of an open file still leads to that file. A file that was deleted, renamed or
//! replaced stays open and takes appends, which no one will ever find.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
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
    /// A part of it was cut off.
    CutOff,
}

/// What a look at the paths of an open file finds.
enum Look {
    AsItWas,
    /// It became smaller: another process has tidied it up, or has cut it off.
    Smaller,
    Lost(Loss),
}

/// The identity of an open file. Clones share the finding that it was lost.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    path: Arc<PathBuf>,
    ledger: Option<FileId>,
    /// The `-wal` file, which exists for as long as a writer has the ledger open.
    wal: Option<FileId>,
    /// The sizes of the two files when they were last looked at.
    sizes: Arc<Mutex<[Size; 2]>>,
    lost: Arc<OnceLock<Loss>>,
}

impl Identity {
    /// The files that a writer has open. Call it after the first transaction, which opens the
    /// `-wal` file.
    pub(super) fn of_writer(path: &Path) -> Self {
        let wal = FileId::find(&beside(path, "-wal")).ok().map(|(id, _)| id);
        Self { wal, ..Self::of_reader(path) }
    }

    /// The file that a reader has open.
    pub(super) fn of_reader(path: &Path) -> Self {
        // A relative path would lead elsewhere if the program changed its folder.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let ledger = FileId::find(&path).ok().map(|(id, _)| id);
        Self { path: Arc::new(path), ledger, ..Self::none() }
    }

    /// A ledger in memory, which cannot be lost.
    pub(super) fn none() -> Self {
        Self {
            path: Arc::default(),
            ledger: None,
            wal: None,
            sizes: Arc::default(),
            lost: Arc::default(),
        }
    }

    /// Fails if the file was lost, now or earlier. A file that came back may lack entries, so it
    /// stays lost. `is_whole` examines a file that became smaller.
    pub(super) fn check(
        &self,
        named: &Path,
        is_whole: impl FnOnce() -> Result<bool, SqliteError>,
    ) -> Result<(), SqliteError> {
        let loss = match self.lost.get() {
            Some(loss) => *loss,
            None => match self.look() {
                Look::AsItWas => return Ok(()),
                Look::Smaller if is_whole()? => {
                    self.accept();
                    return Ok(());
                }
                Look::Smaller => Loss::CutOff,
                Look::Lost(loss) => loss,
            },
        };
        Err(error(*self.lost.get_or_init(|| loss), named))
    }

    /// Why the file was lost; `None` if it was not.
    pub(super) fn lost(&self, named: &Path) -> Option<SqliteError> {
        self.lost.get().map(|loss| error(*loss, named))
    }

    fn look(&self) -> Look {
        let Some(ledger) = self.ledger else { return Look::AsItWas };
        let size = match FileId::find(&self.path) {
            Ok((found, _)) if found != ledger => return Look::Lost(Loss::Replaced),
            // Even to examine it would do harm: SQLite deletes the `-wal` of an empty file.
            Ok((_, Size { length: 0, .. })) => return Look::Lost(Loss::CutOff),
            Ok((_, size)) => size,
            Err(why) if is_missing(&why) => return Look::Lost(Loss::Gone),
            // If the folder cannot be read now, nothing is known about the file.
            Err(_) => return Look::AsItWas,
        };
        // A reader may have the file open before a writer makes its `-wal`.
        let Some(wal) = self.wal else { return Look::AsItWas };
        let wal_size = match FileId::find(&beside(&self.path, "-wal")) {
            Ok((found, _)) if found != wal => return Look::Lost(Loss::WalGone),
            Ok((_, size)) => size,
            Err(why) if is_missing(&why) => return Look::Lost(Loss::WalGone),
            Err(_) => return Look::AsItWas,
        };
        let mut known = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        if size.is_below(known[0]) || wal_size.is_below(known[1]) {
            return Look::Smaller;
        }
        *known = [size, wal_size];
        Look::AsItWas
    }

    /// Takes the sizes of the next look as those of the whole file.
    fn accept(&self) {
        *self.sizes.lock().unwrap_or_else(PoisonError::into_inner) = Default::default();
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
        Loss::CutOff => SqliteError::CutOff(path),
    }
}

/// How large a file is.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    /// In bytes.
    length: u64,
    /// The blocks that it takes on the disk. An append of ours to a file that was cut off makes it
    /// as long as before, with a hole.
    blocks: u64,
}

impl Size {
    fn is_below(self, known: Self) -> bool {
        self.length < known.length || self.blocks < known.blocks
    }
}

/// What names a file of this machine, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// The file at a path, and its size.
    #[cfg(unix)]
    fn find(path: &Path) -> io::Result<(Self, Size)> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path)?;
        let size = Size { length: found.len(), blocks: found.blocks() };
        Ok((Self { device: found.dev(), inode: found.ino() }, size))
    }

    /// Windows lets nobody delete or rename a file that SQLite has open.
    #[cfg(not(unix))]
    fn find(_: &Path) -> io::Result<(Self, Size)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
