//! The schema of a ledger file: its mark, its version, and the migrations.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::SqliteError;

/// Marks the file as ours in its header (`PRAGMA application_id`): "Wkfl".
const APPLICATION_ID: i32 = 0x576b_666c;

/// The migrations: the first creates version 1 from an empty file, each later one takes the version
/// before it to its own.
///
/// An entry is stored as its canonical text and its chain (contract 3.4), with the first position
/// of its batch. The primary key of `entries` groups the entries by agent and serves both the head
/// and the pages, so no other index is needed. An anchor says where the entries up to it are, and
/// which head the rest continues. `goes_on_in` is set for an agent whose ledger here is an archive.
/// An owner is the one that drives the agent; `since` is in nanoseconds since 1970. What is kept is
/// the host's own.
const STEPS: &[&str] = &[
    "
    CREATE TABLE agents (
        agent INTEGER PRIMARY KEY,
        agent_id TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE entries (
        agent INTEGER NOT NULL,
        seq INTEGER NOT NULL CHECK (seq > 0),
        batch INTEGER NOT NULL CHECK (batch BETWEEN 1 AND seq),
        chain BLOB NOT NULL CHECK (length(chain) = 32),
        canonical TEXT NOT NULL,
        PRIMARY KEY (agent, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE snapshots (
        agent INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (agent, seq)
    ) STRICT;
",
    "
    CREATE TABLE anchors (
        agent INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL CHECK (seq > 0),
        chain BLOB NOT NULL CHECK (length(chain) = 32),
        archive TEXT NOT NULL
    ) STRICT;
    ALTER TABLE agents ADD COLUMN goes_on_in TEXT;
",
    "
    CREATE TABLE owners (
        agent_id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        pid INTEGER NOT NULL,
        program TEXT NOT NULL,
        since INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE kept (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (kind, name)
    ) STRICT, WITHOUT ROWID;
",
];

/// What the header of a file says.
enum Found {
    /// The file is new.
    Empty,
    /// The file is ours, with this schema version.
    Version(u32),
    /// The file belongs to another program.
    Foreign,
}

/// The newest version: the number of migrations.
pub(super) const NEWEST: u32 = STEPS.len() as u32;

/// Refuses a file of another program, or one that is newer than this program.
pub(super) fn check(path: &Path, connection: &Connection) -> Result<(), SqliteError> {
    version(path, connection).map(|_| ())
}

/// Refuses a file without a schema. An observer does not migrate; it reads every version as it is.
pub(super) fn require_some(path: &Path, connection: &Connection) -> Result<(), SqliteError> {
    match version(path, connection)? {
        0 => Err(SqliteError::Empty(path.to_owned())),
        _ => Ok(()),
    }
}

/// Whether the file has a table. It asks the file itself: what SQLite remembers of the schema may
/// be older than a migration by another process.
pub(super) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?
        .exists([name])
}

/// Migrates a file to the newest version, in one transaction. If two processes do so at once, the
/// second one waits and finds it done.
pub(super) fn migrate(path: &Path, connection: &mut Connection) -> Result<(), SqliteError> {
    let failed = |why| SqliteError::new(path, "migrate", &why);
    if version(path, connection)? == NEWEST {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Read again under the lock: another process may have migrated the file meanwhile.
    let from = version(path, &transaction)?;
    for step in STEPS.iter().skip(from as usize) {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", NEWEST).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// The version of a file that this program can use; 0 if the file is new.
fn version(path: &Path, connection: &Connection) -> Result<u32, SqliteError> {
    match found(connection).map_err(|why| SqliteError::new(path, "open", &why))? {
        Found::Empty => Ok(0),
        Found::Foreign => Err(SqliteError::Foreign(path.to_owned())),
        Found::Version(found) if found > NEWEST => {
            Err(SqliteError::Newer { path: path.to_owned(), found, supported: NEWEST })
        }
        Found::Version(found) => Ok(found),
    }
}

fn found(connection: &Connection) -> rusqlite::Result<Found> {
    // One statement, so that it sees a migration of another process whole or not at all.
    let (application, version, tables): (i32, i64, i64) = connection.query_row(
        "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM \
         pragma_user_version),
                (SELECT count(*) FROM sqlite_schema)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    Ok(match (application, u32::try_from(version)) {
        // Many programs set neither number, so only a file without tables is new.
        (0, Ok(0)) if tables == 0 => Found::Empty,
        (APPLICATION_ID, Ok(version)) if version > 0 => Found::Version(version),
        _ => Found::Foreign,
    })
}
