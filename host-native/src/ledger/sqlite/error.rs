//! Why a file of ledgers cannot be used, and what to do about it.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use wakeful_core::{AgentId, LedgerError};

use super::Anchor;

/// Why a file of ledgers cannot be used. Nothing was stored then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// Nothing is there to read.
    #[error("`{}` does not exist", .0.display())]
    NoSuchFile(PathBuf),
    /// A folder is there.
    #[error("`{}` is a folder: name a file in it, as in `{}`", .0.display(), .0.join("ledger.sqlite").display())]
    Folder(PathBuf),
    /// The folder that it should be in is not there.
    #[error("`{}` cannot be created: the folder `{}` does not exist", path.display(), folder.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// It is there, and nothing was ever stored in it.
    #[error("`{}` holds no ledger yet: it is empty until a writer has opened it, and a copy of a live one needs its `-wal` too", .0.display())]
    Empty(PathBuf),
    /// Another program's file is there.
    #[error("`{}` is no file of ledgers: another program made it, and it was left as it is", .0.display())]
    Foreign(PathBuf),
    /// A newer program made it.
    #[error("`{}` has schema version {found}, this program reads up to {supported}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that is read.
        supported: u32,
    },
    /// It may be read only.
    #[error("`{}` is read-only: give this user the right to write to it and to its folder, or only observe it", .0.display())]
    ReadOnly(PathBuf),
    /// It may not be opened at all.
    #[error(
        "`{}` cannot be opened: this user needs the right to read it, and to write to its folder, where SQLite keeps `-wal` and `-shm` beside it",
        .0.display()
    )]
    CannotOpen(PathBuf),
    /// There is no space left.
    #[error("`{}` cannot grow: the disk is full; free some space and try again, nothing was stored", .0.display())]
    Full(PathBuf),
    /// Another process held it for too long.
    #[error("`{}` was held by another process for {} s: find out which one writes to it, and try again", .0.display(), super::BUSY_TIMEOUT.as_secs())]
    Busy(PathBuf),
    /// Its folder cannot hold it.
    #[error("`{}` cannot be kept in WAL mode (SQLite chose `{mode}`): put it on a local disk, not on a network share", path.display())]
    NoWal {
        /// The file.
        path: PathBuf,
        /// The mode that SQLite chose.
        mode: String,
    },
    /// It is an archive.
    #[error("`{}` is the archive of agent `{agent}`, whose ledger goes on in `{}`: nothing is appended here", path.display(), goes_on_in.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
        /// Where the ledger goes on.
        goes_on_in: PathBuf,
    },
    /// It is the rest of a ledger whose beginning is not where it was moved to.
    #[error("the entries up to {} were moved to `{}`, which cannot be read ({why}): put it back there", anchor.head.seq, anchor.archive.display())]
    NoArchive {
        /// Where they should be.
        anchor: Anchor,
        /// Why they cannot be read.
        why: String,
    },
    /// It is damaged.
    #[error("`{}` is damaged ({why}): keep a copy of it with its `-wal`, then restore a backup or rescue what can be read with `sqlite3 {} .recover`", path.display(), path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        why: String,
    },
    /// The disk failed.
    #[error("cannot {doing} `{}`: reading or writing the disk failed ({why}): check the disk and try again", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What was to be done.
        doing: &'static str,
        /// What SQLite says.
        why: String,
    },
    /// Something else.
    #[error("cannot {doing} `{}`: {why}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What was to be done.
        doing: &'static str,
        /// What SQLite says.
        why: String,
    },
}

impl SqliteError {
    /// What SQLite's error means for the file.
    pub(super) fn new(path: &Path, doing: &'static str, why: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let said = why.to_string();
        match why.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign(path),
            Some(ErrorCode::ReadOnly) if !is_of_the_folder(why) => Self::ReadOnly(path),
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::AuthorizationForStatementDenied,
            ) => Self::CannotOpen(path),
            Some(ErrorCode::DiskFull) => Self::Full(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, why: said },
            Some(ErrorCode::SystemIoFailure) => Self::Disk { path, doing, why: said },
            // A column holds what no schema of ours lets in.
            None if is_of_a_column(why) => Self::Damaged { path, why: said },
            _ => Self::Other { path, doing, why: said },
        }
    }
}

/// Whether it is the files beside the ledger, `-wal` and `-shm`, that cannot be made or written.
fn is_of_the_folder(why: &rusqlite::Error) -> bool {
    use rusqlite::ffi;
    let code = why.sqlite_error().map(|error| error.extended_code);
    let of_folder = [
        ffi::SQLITE_READONLY_CANTINIT,
        ffi::SQLITE_READONLY_CANTLOCK,
        ffi::SQLITE_READONLY_DIRECTORY,
        ffi::SQLITE_READONLY_RECOVERY,
    ];
    code.is_some_and(|code| of_folder.contains(&code))
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
    use rusqlite::ffi;

    use super::*;

    fn said(code: i32) -> String {
        let why = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        SqliteError::new(Path::new("FILE"), "append to", &why).to_string()
    }

    #[test]
    fn each_failure_of_sqlite_says_what_to_do() {
        let starts = [
            (ffi::SQLITE_NOTADB, "`FILE` is no file of ledgers"),
            (ffi::SQLITE_READONLY, "`FILE` is read-only: give this user the right to write"),
            (ffi::SQLITE_READONLY_DIRECTORY, "`FILE` cannot be opened: this user needs the right"),
            (ffi::SQLITE_CANTOPEN, "`FILE` cannot be opened: this user needs the right"),
            (ffi::SQLITE_PERM, "`FILE` cannot be opened: this user needs the right"),
            (ffi::SQLITE_FULL, "`FILE` cannot grow: the disk is full; free some space"),
            (ffi::SQLITE_BUSY, "`FILE` was held by another process for 30 s: find out which one"),
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
