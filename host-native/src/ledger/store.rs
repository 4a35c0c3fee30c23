//! A place of agents: a file of SQLite, or a store in PostgreSQL. A program takes either by its
//! name, and does not ask which it is.

use std::{fmt, path::Path};

use wakeful_core::{AgentId, EntryBytes, Head, Ledger, LedgerError, Seq};

use super::{
    Address, Anchor, PostgresError, PostgresLedger, PostgresStore, SqliteError, SqliteFile,
    SqliteLedger,
};

/// A place of agents. Clones share its connections.
#[derive(Clone, Debug)]
pub enum Store {
    /// A file of this machine.
    Sqlite(SqliteFile),
    /// A store that many machines use.
    Postgres(PostgresStore),
}

/// The ledger of one agent in a [`Store`].
#[derive(Clone, Debug)]
pub enum StoreLedger {
    /// In a file.
    Sqlite(SqliteLedger),
    /// In a store.
    Postgres(PostgresLedger),
}

/// Why a place cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file cannot.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
    /// A store cannot.
    #[error(transparent)]
    Postgres(#[from] PostgresError),
}

/// As it is named.
impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(file) => file.path().display().fmt(f),
            Self::Postgres(store) => store.address().shown().fmt(f),
        }
    }
}

impl Store {
    /// Opens a place for reading and writing: the address of a store, or the path of a file. It is
    /// made if it does not exist.
    ///
    /// # Errors
    /// If the name is a wrong address, or the place cannot be used.
    pub fn open(name: &Path) -> Result<Self, StoreError> {
        Ok(match Address::of(name)? {
            Some(address) => Self::Postgres(PostgresStore::open(&address)?),
            None => Self::Sqlite(SqliteFile::open(name)?),
        })
    }

    /// As [`Store::open`], but nothing is made or changed.
    ///
    /// # Errors
    /// As [`Store::open`], and if the place does not exist.
    pub fn open_read_only(name: &Path) -> Result<Self, StoreError> {
        Ok(match Address::of(name)? {
            Some(address) => Self::Postgres(PostgresStore::open_read_only(&address)?),
            None => Self::Sqlite(SqliteFile::open_read_only(name)?),
        })
    }

    /// The agents that have entries, sorted by id.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        Ok(match self {
            Self::Sqlite(file) => file.agents()?,
            Self::Postgres(store) => store.agents()?,
        })
    }

    /// The ledger of one agent.
    #[must_use]
    pub fn ledger(&self, agent: &AgentId) -> StoreLedger {
        match self {
            Self::Sqlite(file) => StoreLedger::Sqlite(file.ledger(agent)),
            Self::Postgres(store) => StoreLedger::Postgres(store.ledger(agent)),
        }
    }
}

impl StoreLedger {
    /// The newest entry; [`Head::START`] if there is none.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn head(&mut self) -> Result<Head, LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.head(),
            Self::Postgres(ledger) => ledger.head(),
        }
    }

    /// Reads entries as [`Ledger::read`] does, each with the position of the first entry of its
    /// batch (contract 1.1).
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn read_with_batches(
        &mut self,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<(EntryBytes, Seq)>, LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.read_with_batches(after, limit),
            Self::Postgres(ledger) => ledger.read_with_batches(after, limit),
        }
    }

    /// The entry after which the ledger begins, if its old entries were moved into an archive file.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn anchor(&mut self) -> Result<Option<Anchor>, LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.anchor(),
            Self::Postgres(_) => Ok(None),
        }
    }

    /// Why the old entries of an anchor cannot be read; `None` if they can.
    pub fn missing(&mut self, anchor: &Anchor) -> Option<SqliteError> {
        match self {
            Self::Sqlite(ledger) => ledger.archive(anchor).err(),
            Self::Postgres(_) => None,
        }
    }

    /// The place in which the ledger goes on; `None` if it does so here.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn goes_on_in(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(match self {
            Self::Sqlite(ledger) => {
                ledger.goes_on_in()?.map(|path| path.to_string_lossy().into_owned())
            }
            Self::Postgres(ledger) => ledger.goes_on_in()?,
        })
    }
}

impl Ledger for StoreLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.append(expected, batch),
            Self::Postgres(ledger) => ledger.append(expected, batch),
        }
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.read(after, limit),
            Self::Postgres(ledger) => ledger.read(after, limit),
        }
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.load_snapshot(),
            Self::Postgres(ledger) => ledger.load_snapshot(),
        }
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.store_snapshot(head, write),
            Self::Postgres(ledger) => ledger.store_snapshot(head, write),
        }
    }
}
