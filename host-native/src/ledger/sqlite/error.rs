//! Why a ledger file cannot be used, and what to do about it.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{ErrorCode, ffi};
use wakeful_core::{AgentId, LedgerError};

use super::{Anchor, Holder};

/// Why a ledger file cannot be used. Nothing was stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// The file does not exist.
    #[error("`{}` does not exist", .0.display())]
    NoSuchFile(PathBuf),
    /// The path is a folder.
    #[error("`{}` is a folder: name a file in it, as in `{}`", .0.display(), .0.join("ledger.sqlite").display())]
    Folder(PathBuf),
    /// The parent folder does not exist.
    #[error("`{}` cannot be created: the folder `{}` does not exist", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// The file exists, but nothing was ever stored in it.
    #[error("`{}` holds no ledger yet: a writer must open it first; a copy of a live file needs its `-wal` too", .0.display())]
    Empty(PathBuf),
    /// Another program made the file.
    #[error("`{}` is not a Wakeful ledger; it was not changed", .0.display())]
    Foreign(PathBuf),
    /// A newer program made the file.
    #[error("`{}` has schema version {found}, this program reads up to {supported}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        supported: u32,
    },
    /// A part of the file was cut off while it was in use.
    #[error("a part of `{}` or of its `-wal` was cut off while it was in use, so nothing more is stored: restore a backup, or look with `wakeful doctor` at what is left, and start again", .0.display())]
    CutOff(PathBuf),
    /// The name is the address of a store in PostgreSQL.
    #[error("`{0}` is a store, and this works on a ledger file: name a file")]
    NoFile(String),
    /// The file can only be read.
    #[error("`{}` is read-only: give this user the right to write to it and to its folder, or only observe it", .0.display())]
    ReadOnly(PathBuf),
    /// The file cannot be opened.
    #[error(
        "`{}` cannot be opened: this user needs the right to read it, and to write to its folder, where SQLite keeps `-wal` and `-shm` beside it",
        .0.display()
    )]
    CannotOpen(PathBuf),
    /// The disk is full.
    #[error("`{}` cannot grow, the disk is full: nothing was stored; free some space and try again", .0.display())]
    Full(PathBuf),
    /// Another process held the file for too long.
    #[error("`{}` was held by {} for {} s: end what it does with the file, and try again", path.display(), named(by.as_ref()), waited.as_secs())]
    Busy {
        /// The file.
        path: PathBuf,
        /// The process, if the system says which one it is.
        by: Option<Holder>,
        /// How long the call has waited.
        waited: Duration,
    },
    /// The file was deleted or renamed while it was in use.
    #[error("`{}` was deleted or renamed while it was in use, so nothing more is stored: put it back with its `-wal`, or restore a backup, and start again", .0.display())]
    Gone(PathBuf),
    /// The file was replaced by another one while it was in use.
    #[error("`{}` was replaced by another file while it was in use, so nothing more is stored: decide which file is the right one, and start again", .0.display())]
    Replaced(PathBuf),
    /// The file beside the ledger with its newest entries was deleted or replaced.
    #[error("`{}-wal`, which has the newest entries, was deleted or replaced while it was in use, so nothing more is stored: put it back, or look with `wakeful doctor` at what is left, and start again", .0.display())]
    WalGone(PathBuf),
    /// The lock file of an owner cannot be used.
    #[error("`{}` cannot be {done}: {why}; this file says who drives an agent: give this user the right to use it, and its folder a file system with file locks", lock.display())]
    NoLock {
        /// The lock file.
        lock: PathBuf,
        /// What was tried, as in "made".
        done: &'static str,
        /// The system's message.
        why: String,
    },
    /// The file system does not support WAL mode.
    #[error("`{}` cannot use WAL mode (SQLite chose `{mode}`): put it on a local disk, not on a network share", path.display())]
    NoWal {
        /// The file.
        path: PathBuf,
        /// The mode that SQLite chose.
        mode: String,
    },
    /// The ledger in this file is an archive, which takes no appends.
    #[error("`{}` is the archive of agent `{agent}`: nothing is appended here, the ledger continues in `{}`", path.display(), goes_on_in.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// The file in which the ledger continues.
        goes_on_in: PathBuf,
    },
    /// The beginning of the ledger is not where it was moved to.
    #[error("the entries up to {} were moved to `{}`, which cannot be read ({why}): put it back there", anchor.head.seq, anchor.archive.display())]
    NoArchive {
        /// The expected place of the beginning.
        anchor: Anchor,
        /// Why it cannot be read.
        why: String,
    },
    /// The file is damaged.
    #[error("`{}` is damaged ({why}): keep a copy of it with its `-wal`, then restore a backup or rescue what can be read with `sqlite3 {} .recover`", path.display(), path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        why: String,
    },
    /// Reading or writing the disk failed.
    #[error("cannot {doing} `{}`: reading or writing the disk failed ({why}): check the disk and try again", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The verb of the message, as in "append to".
        doing: &'static str,
        /// SQLite's message.
        why: String,
    },
    /// Any other failure.
    #[error("cannot {doing} `{}`: {why}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// The verb of the message, as in "append to".
        doing: &'static str,
        /// SQLite's message.
        why: String,
    },
}

impl SqliteError {
    /// Turns an error of SQLite into one that says what to do with the file.
    pub(super) fn new(path: &Path, doing: &'static str, why: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let said = why.to_string();
        match why.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign(path),
            // SQLite also says "read-only" if it cannot create its own files beside a ledger that
            // can be read.
            Some(ErrorCode::ReadOnly) if !is_of_the_folder(why) => Self::ReadOnly(path),
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::AuthorizationForStatementDenied,
            ) => Self::CannotOpen(path),
            Some(ErrorCode::DiskFull) => Self::Full(path),
            // On a full disk the file of shared memory cannot grow either.
            Some(ErrorCode::SystemIoFailure) if extended(why) == ffi::SQLITE_IOERR_SHMSIZE => {
                Self::Full(path)
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { path, by: None, waited: Duration::ZERO }
            }
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, why: said },
            Some(ErrorCode::SystemIoFailure) => Self::Disk { path, doing, why: said },
            // A column holds a value that our schema does not allow.
            None if is_of_a_column(why) => Self::Damaged { path, why: said },
            _ => Self::Other { path, doing, why: said },
        }
    }
}

/// Whether the files beside the ledger, `-wal` and `-shm`, cannot be created or written.
fn is_of_the_folder(why: &rusqlite::Error) -> bool {
    let of_folder = [
        ffi::SQLITE_READONLY_CANTINIT,
        ffi::SQLITE_READONLY_CANTLOCK,
        ffi::SQLITE_READONLY_DIRECTORY,
        ffi::SQLITE_READONLY_RECOVERY,
    ];
    of_folder.contains(&extended(why))
}

/// SQLite's extended error code; 0 if the error is not SQLite's.
fn extended(why: &rusqlite::Error) -> i32 {
    why.sqlite_error().map_or(0, |error| error.extended_code)
}

fn named(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), Holder::to_string)
}

fn is_of_a_column(why: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        why,
        E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..)
    )
}

impl From<SqliteError> for LedgerError {
    fn from(why: SqliteError) -> Self {
        Self::Failed { message: why.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: i32) -> String {
        let why = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        SqliteError::new(Path::new("FILE"), "append to", &why).to_string()
    }

    #[test]
    fn each_failure_of_sqlite_says_what_to_do() {
        let starts = [
            (ffi::SQLITE_NOTADB, "`FILE` is not a Wakeful ledger"),
            (ffi::SQLITE_READONLY, "`FILE` is read-only: give this user the right to write"),
            (ffi::SQLITE_READONLY_DIRECTORY, "`FILE` cannot be opened: this user needs the right"),
            (ffi::SQLITE_CANTOPEN, "`FILE` cannot be opened: this user needs the right"),
            (ffi::SQLITE_PERM, "`FILE` cannot be opened: this user needs the right"),
            (ffi::SQLITE_FULL, "`FILE` cannot grow, the disk is full: nothing was stored"),
            (ffi::SQLITE_BUSY, "`FILE` was held by another process for 0 s: end what it does"),
            (ffi::SQLITE_IOERR_SHMSIZE, "`FILE` cannot grow, the disk is full"),
            (ffi::SQLITE_CORRUPT, "`FILE` is damaged ("),
            (
                ffi::SQLITE_IOERR_FSYNC,
                "cannot append to `FILE`: reading or writing the disk failed (",
            ),
            (ffi::SQLITE_NOMEM, "cannot append to `FILE`: "),
        ];
        for (code, start) in starts {
            assert!(said(code).starts_with(start), "{code}: {}", said(code));
        }
    }

    #[test]
    fn a_column_that_holds_what_no_schema_lets_in_is_damage() {
        let why =
            rusqlite::Error::InvalidColumnType(0, "canonical".into(), rusqlite::types::Type::Blob);
        assert!(matches!(
            SqliteError::new(Path::new("FILE"), "read", &why),
            SqliteError::Damaged { .. }
        ));
    }
}
