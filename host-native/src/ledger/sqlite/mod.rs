//! The durable ledger: one SQLite file for many agents, in WAL mode, every append on the disk
//! before it returns (contract 3.1, 3.2).
//!
//! One process drives an agent, others may read the file meanwhile. Two writers of one agent are
//! both let through, one after the other; the one that comes second with an old head is told so.

mod archive;
mod error;
mod group;
mod ledger;
mod schema;
mod snapshots;

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, OpenFlags};
use wakeful_core::{AgentId, Head};

use self::{
    group::Group,
    ledger::{Appended, Row},
};

pub use self::{
    archive::{Anchor, ArchiveError},
    error::SqliteError,
    ledger::SqliteLedger,
};

/// How long a call waits for another process before it fails.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it pauses between two tries.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// More statements than this crate has, so that each is prepared once per file.
const STATEMENTS: usize = 32;

/// A file of ledgers. Clones and the ledgers taken from it share one connection; they may be sent
/// to other threads, and what is appended by several threads at once shares a sync.
#[derive(Clone, Debug)]
pub struct SqliteFile {
    path: Arc<PathBuf>,
    connection: Arc<Mutex<Connection>>,
    group: Arc<Group>,
}

impl SqliteFile {
    /// The version of the schema that this program writes, and the newest that it reads.
    pub const SCHEMA: u32 = schema::NEWEST;

    /// Opens a file for reading and writing, creates it where there is none, and brings it to the
    /// newest schema.
    ///
    /// # Errors
    /// Where the file cannot be opened for writing, is another program's, or is newer than this
    /// program.
    pub fn open(path: &Path) -> Result<Self, SqliteError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = connect(path, flags)?;
        let failed = |why| SqliteError::new(path, "open", &why);
        if connection.is_readonly("main").map_err(failed)? {
            return Err(SqliteError::ReadOnly(path.to_owned()));
        }
        // First the check: a file of another program is not even switched to WAL.
        schema::check(path, &connection)?;
        enter_wal_mode(path, &connection)?;
        connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
        // Where fsync alone leaves data in the disk's own cache (macOS); without effect elsewhere.
        connection.pragma_update(None, "fullfsync", true).map_err(failed)?;
        schema::migrate(path, &mut connection)?;
        Ok(Self::new(path, connection))
    }

    /// Opens a file as an observer: reads what is committed, also while another process writes, and
    /// changes nothing.
    ///
    /// # Errors
    /// Where there is no such file, it cannot be read, or it is newer than this program.
    pub fn open_read_only(path: &Path) -> Result<Self, SqliteError> {
        if !path.exists() {
            return Err(SqliteError::NoSuchFile(path.to_owned()));
        }
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        schema::require_some(path, &connection)?;
        Ok(Self::new(path, connection))
    }

    /// A file in memory, which is gone with the last ledger of it. Errors name it by `path`.
    pub(super) fn in_memory(path: &Path) -> Result<Self, SqliteError> {
        let mut connection = Connection::open_in_memory()
            .map_err(|why| SqliteError::new(path, "make room for", &why))?;
        schema::migrate(path, &mut connection)?;
        Ok(Self::new(path, connection))
    }

    /// The agents that have entries here, by id.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn agents(&self) -> Result<Vec<AgentId>, SqliteError> {
        let connection = self.connection();
        let list = || -> rusqlite::Result<Vec<AgentId>> {
            let mut statement =
                connection.prepare_cached("SELECT agent_id FROM agents ORDER BY agent_id")?;
            statement.query_map([], |row| row.get::<_, String>(0).map(AgentId::from))?.collect()
        };
        list().map_err(|why| SqliteError::new(&self.path, "list the agents", &why))
    }

    /// The ledger of one agent; empty where the file knows no such agent. Nothing is written before
    /// the first append.
    #[must_use]
    pub fn ledger(&self, agent_id: &AgentId) -> SqliteLedger {
        SqliteLedger::new(self.clone(), agent_id.clone())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn new(path: &Path, connection: Connection) -> Self {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Self {
            path: Arc::new(path.to_owned()),
            connection: Arc::new(Mutex::new(connection)),
            group: Arc::default(),
        }
    }

    fn append(
        &self,
        agent_id: &AgentId,
        expected: &Head,
        rows: Vec<Row>,
    ) -> rusqlite::Result<Appended> {
        self.group.append(&self.connection, agent_id, expected, rows)
    }

    /// A thread that panicked while it held the connection left no transaction open: dropping one
    /// rolls it back.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Switches a file to WAL mode; one that is in it stays. Where several processes switch a new file
/// at once, SQLite refuses some of them without any waiting, since two that wait for each other
/// would wait for ever: they let go and try again.
fn enter_wal_mode(path: &Path, connection: &Connection) -> Result<(), SqliteError> {
    let since = Instant::now();
    loop {
        match connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
        {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => return Err(SqliteError::NoWal { path: path.to_owned(), mode }),
            Err(why) => match SqliteError::new(path, "open", &why) {
                SqliteError::Busy(_) if since.elapsed() < BUSY_TIMEOUT => thread::sleep(BUSY_PAUSE),
                why => return Err(why),
            },
        }
    }
}

thread_local! {
    /// Since when this thread waits for another process.
    static WAITS_SINCE: Cell<Instant> = Cell::new(Instant::now());
}

/// Waits a little while another process holds the file, and says whether to try again. SQLite's own
/// handler waits up to 100 ms between two tries, so that a process that appends without pause keeps
/// another out for seconds.
fn wait_for_another(tries: i32) -> bool {
    if tries == 0 {
        WAITS_SINCE.set(Instant::now());
    }
    thread::sleep(BUSY_PAUSE);
    WAITS_SINCE.get().elapsed() < BUSY_TIMEOUT
}

/// A connection with the settings that reading and writing share.
fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, SqliteError> {
    // As a file, whatever it is called: SQLite alone would take `:memory:` for something else.
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
    // The mutex of `SqliteFile` is the one that guards the connection.
    let mut connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(failed)?;
    connection.busy_handler(Some(wait_for_another)).map_err(failed)?;
    // A file from elsewhere brings no code along, and a damaged page is found before it is
    // believed.
    connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    connection.pragma_update(None, "cell_size_check", true).map_err(failed)?;
    Ok(connection)
}
