//! The durable ledger: one SQLite file for many agents, in WAL mode. Every append is on the disk
//! before it returns (contract 3.1, 3.2).
//!
//! One process drives an agent: its owner ([`SqliteFile::own`]). Others may read the file at the
//! same time. If two processes write to one agent, their appends run one after the other. The
//! second one has an old head and gets a conflict.

mod archive;
mod error;
mod group;
mod holder;
mod identity;
mod kept;
mod ledger;
mod owner;
mod patience;
mod schema;
mod snapshots;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use wakeful_core::{AgentId, Head};

use self::{
    group::Group,
    identity::Identity,
    owner::Owning,
    patience::{Bounded, insist},
};

pub use self::{
    archive::{Anchor, ArchiveError},
    error::SqliteError,
    holder::Holder,
    ledger::SqliteLedger,
    owner::{OwnError, Owned, Owner},
    patience::{Obstacle, Patience, Wait},
};

/// More than the number of statements in this crate, so that each is prepared once per file.
const STATEMENTS: usize = 48;

/// A ledger file. Clones, and the ledgers taken from it, share one connection and may be sent to
/// other threads. Appends of several threads at once share an fsync.
#[derive(Clone)]
pub struct SqliteFile {
    path: Arc<PathBuf>,
    connection: Arc<Mutex<Connection>>,
    group: Arc<Group>,
    identity: Identity,
    owning: Arc<Owning>,
    patience: Arc<dyn Patience>,
}

impl fmt::Debug for SqliteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqliteFile").field(&self.path).finish()
    }
}

impl SqliteFile {
    /// The schema version that this program writes, and the newest that it reads.
    pub const SCHEMA: u32 = schema::NEWEST;

    /// Opens a file for reading and writing, creates it if it does not exist, and migrates it to
    /// the newest schema. Its calls wait up to 30 s while another process holds the file.
    ///
    /// # Errors
    /// If the file cannot be opened for writing, belongs to another program, or is newer than this
    /// program.
    pub fn open(path: &Path) -> Result<Self, SqliteError> {
        Self::open_patiently(path, Arc::new(Bounded))
    }

    /// As [`SqliteFile::open`]. `patience` decides how long its calls wait, and this one too.
    ///
    /// # Errors
    /// As [`SqliteFile::open`].
    pub fn open_patiently(path: &Path, patience: Arc<dyn Patience>) -> Result<Self, SqliteError> {
        require_path(path)?;
        let connection = insist(path, &*patience, || Self::connect_to_write(path))?;
        // The migration has read the file, so its `-wal` is open.
        Ok(Self::new(path, connection, Identity::of_writer(path), Owning::of(path), patience))
    }

    fn connect_to_write(path: &Path) -> Result<Connection, SqliteError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = connect(path, flags)?;
        let failed = |why| SqliteError::new(path, "open", &why);
        if connection.is_readonly("main").map_err(failed)? {
            return Err(SqliteError::ReadOnly(path.to_owned()));
        }
        // Check first: a file of another program must not even be switched to WAL.
        schema::check(path, &connection)?;
        enter_wal_mode(path, &connection)?;
        connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
        // On macOS, fsync alone leaves data in the disk's own cache. Other systems ignore this
        // setting.
        connection.pragma_update(None, "fullfsync", true).map_err(failed)?;
        schema::migrate(path, &mut connection)?;
        Ok(connection)
    }

    /// Opens a file as an observer: reads what is committed, even while another process writes, and
    /// changes nothing.
    ///
    /// # Errors
    /// If the file does not exist, cannot be read, or is newer than this program.
    pub fn open_read_only(path: &Path) -> Result<Self, SqliteError> {
        require_path(path)?;
        if !path.exists() {
            return Err(SqliteError::NoSuchFile(path.to_owned()));
        }
        let connection = insist(path, &Bounded, || {
            let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            schema::require_some(path, &connection)?;
            Ok(connection)
        })?;
        let patience = Arc::new(Bounded);
        Ok(Self::new(path, connection, Identity::of_reader(path), Owning::of(path), patience))
    }

    /// A file in memory, which lives as long as its ledgers. Errors name it by `path`.
    pub(super) fn in_memory(path: &Path) -> Result<Self, SqliteError> {
        let mut connection = Connection::open_in_memory()
            .map_err(|why| SqliteError::new(path, "make room for", &why))?;
        schema::migrate(path, &mut connection)?;
        let patience = Arc::new(Bounded);
        Ok(Self::new(path, connection, Identity::none(), Owning::default(), patience))
    }

    /// The agents that have entries in this file, sorted by id.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn agents(&self) -> Result<Vec<AgentId>, SqliteError> {
        self.call("list the agents of", |connection| {
            let mut statement =
                connection.prepare_cached("SELECT agent_id FROM agents ORDER BY agent_id")?;
            statement.query_map([], |row| row.get::<_, String>(0).map(AgentId::from))?.collect()
        })
    }

    /// The newest entry of each agent that has entries, sorted by id.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn heads(&self) -> Result<Vec<(AgentId, Head)>, SqliteError> {
        self.call("read the heads in", |connection| {
            let mut statement = connection.prepare_cached(
                "SELECT agent_id, agent FROM agents WHERE EXISTS
                     (SELECT 1 FROM entries WHERE entries.agent = agents.agent)
                 ORDER BY agent_id",
            )?;
            let numbers = statement
                .query_map([], |row| Ok((AgentId::from(row.get::<_, String>(0)?), row.get(1)?)))?;
            numbers
                .map(|found| {
                    let (agent_id, agent) = found?;
                    Ok((agent_id, ledger::head(connection, agent)?))
                })
                .collect()
        })
    }

    /// A number that changes when another connection, such as that of another process, has changed
    /// the file. Own changes do not change it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn version(&self) -> Result<i64, SqliteError> {
        self.call("read the version of", |connection| {
            connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
        })
    }

    /// Why this file was lost: it was deleted, renamed or replaced while it was in use. `None` if
    /// no call has found that. Each later call fails with the same error, and stores nothing.
    #[must_use]
    pub fn lost(&self) -> Option<SqliteError> {
        self.identity.lost(&self.path)
    }

    /// The ledger of one agent; empty if the file does not have this agent. Nothing is written
    /// before the first append.
    #[must_use]
    pub fn ledger(&self, agent_id: &AgentId) -> SqliteLedger {
        SqliteLedger::new(self.clone(), agent_id.clone())
    }

    /// The path that the file was opened with.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn new(
        path: &Path,
        connection: Connection,
        identity: Identity,
        owning: Owning,
        patience: Arc<dyn Patience>,
    ) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Self {
            path: Arc::new(path.to_owned()),
            connection: Arc::new(Mutex::new(connection)),
            group: Arc::default(),
            identity,
            owning: Arc::new(owning),
            patience,
        }
    }

    /// Fails if the file was lost.
    fn check(&self) -> Result<(), SqliteError> {
        self.identity.check(&self.path, || is_whole(&self.path))
    }

    /// Calls SQLite while patience lasts. A call that fails must have changed nothing. The
    /// connection is free between two attempts, so that other threads can read meanwhile.
    fn call<T>(
        &self,
        doing: &'static str,
        mut call: impl FnMut(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        insist(&self.path, &*self.patience, || {
            let mut connection = self.connection();
            self.check()?;
            call(&mut connection).map_err(|why| SqliteError::new(&self.path, doing, &why))
        })
    }

    /// A panic while the lock was held leaves no open transaction: dropping one rolls it back.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Switches a file to WAL mode, if it is not in it yet. If several processes switch a new file at
/// once, SQLite refuses some of them immediately as busy, because two that wait for each other
/// would wait for ever.
fn enter_wal_mode(path: &Path, connection: &Connection) -> Result<(), SqliteError> {
    let mode = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
        .map_err(|why| SqliteError::new(path, "open", &why))?;
    if mode == "wal" { Ok(()) } else { Err(SqliteError::NoWal { path: path.to_owned(), mode }) }
}

/// Whether SQLite can read all of a file. It asks through a connection of its own, because an old
/// one has parts of the file in its memory.
fn is_whole(path: &Path) -> Result<bool, SqliteError> {
    let found = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|connection| {
        connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
            .map_err(|why| SqliteError::new(path, "check", &why))
    });
    match found {
        Ok(found) => Ok(found == "ok"),
        Err(why @ SqliteError::Busy { .. }) => Err(why),
        Err(_) => Ok(false),
    }
}

/// Refuses the address of a store, of which SQLite would make folders and a file.
fn require_path(path: &Path) -> Result<(), SqliteError> {
    match path.to_str().filter(|name| super::is_address(name)) {
        Some(name) => Err(SqliteError::NoFile(name.to_owned())),
        None => Ok(()),
    }
}

/// A file that SQLite keeps beside a ledger.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens a connection with the settings that reading and writing share.
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, SqliteError> {
    // A path with a folder is always a file: SQLite would take the bare name `:memory:` for
    // something else.
    let path = &Path::new(".").join(path);
    if path.is_dir() {
        return Err(SqliteError::Folder(path.to_owned()));
    }
    if let Some(parent) =
        path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir())
    {
        return Err(SqliteError::NoFolder { path: path.to_owned(), folder: parent.to_owned() });
    }
    let failed = |why| SqliteError::new(path, "open", &why);
    // The mutex in `SqliteFile` guards the connection, so SQLite needs none.
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(failed)?;
    connection.busy_handler(Some(patience::wait_for_another())).map_err(failed)?;
    // SQLite plans a statement anew for each value that its plan may depend on. Our plans depend on
    // none, and each read and append compares a position, so it would plan each of them.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(failed)?;
    // A file from another machine must not run code through its schema, and a damaged page must be
    // detected before its content is used.
    connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    connection.pragma_update(None, "cell_size_check", true).map_err(failed)?;
    Ok(connection)
}
