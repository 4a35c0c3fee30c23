//! A place of agents: a file of SQLite, or a store in PostgreSQL. A program takes either by its
//! name, and does not ask which it is.

use std::{borrow::Cow, fmt, path::Path};

use wakeful_core::{AgentId, Clock, EntryBytes, Head, Ledger, LedgerError, Seq, Timestamp};

use super::{
    Address, Anchor, Claim, ClaimError, OwnError, Owned, Owner, Placed, PostgresError,
    PostgresLedger, PostgresStore, SqliteError, SqliteFile, SqliteLedger, StoreClock, Worker,
    WorkerOptions,
};
use crate::clock::SystemClock;

/// A place of agents. Clones share its connections.
#[derive(Clone, Debug)]
pub enum Store {
    /// A file of this machine.
    Sqlite(SqliteFile),
    /// A store that many machines use.
    Postgres(PostgresStore),
    /// Such a store, of which this process is a worker.
    Worker(Worker),
}

/// The ledger of one agent in a [`Store`].
#[derive(Clone, Debug)]
pub enum StoreLedger {
    /// In a file.
    Sqlite(SqliteLedger),
    /// In a store.
    Postgres(PostgresLedger),
}

/// An agent that this process drives. If it is dropped otherwise than by one of its methods, as in
/// a panic, the next driver in this process must restart the agent.
#[derive(Debug)]
#[must_use = "dropping it says that the agent did not come to rest"]
pub enum Own {
    /// One of a file.
    Sqlite(Owned),
    /// One of a store.
    Worker(Claim),
}

/// Who drives an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrivenBy {
    /// A process of this machine.
    Process(Owner),
    /// A worker of the store.
    Worker(Placed),
}

/// The clock by which the agents of a [`Store`] wait: that of this machine for a file, and the
/// database's for a store.
#[derive(Clone, Debug)]
pub enum StoreTime {
    /// Of this machine.
    System(SystemClock),
    /// Of the database.
    Store(StoreClock),
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

/// Why an agent cannot be driven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwningError {
    /// Of a file.
    #[error(transparent)]
    Sqlite(#[from] OwnError),
    /// Of a store.
    #[error(transparent)]
    Worker(#[from] ClaimError),
    /// The process did not join the workers of the store.
    #[error("{0}: this process is not a worker of the store: join it first")]
    NotJoined(String),
}

impl OwningError {
    /// Whether another one drives the agent.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        matches!(
            self,
            Self::Sqlite(OwnError::Driven { .. }) | Self::Worker(ClaimError::Driven { .. })
        )
    }
}

/// As it is named.
impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::File(file) => file.path().display().fmt(f),
            Kind::Shared(store) => store.address().shown().fmt(f),
        }
    }
}

impl From<SqliteFile> for Store {
    fn from(file: SqliteFile) -> Self {
        Self::Sqlite(file)
    }
}

/// The two kinds of places.
pub(super) enum Kind<'a> {
    File(&'a SqliteFile),
    Shared(&'a PostgresStore),
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

    /// The place as one of those who drive agents in it. A file needs nothing for that; a store
    /// gets a worker.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub fn join(self, options: &WorkerOptions) -> Result<Self, StoreError> {
        Ok(match self {
            Self::Postgres(store) => Self::Worker(store.join(options)?),
            joined => joined,
        })
    }

    pub(super) fn kind(&self) -> Kind<'_> {
        match self {
            Self::Sqlite(file) => Kind::File(file),
            Self::Postgres(store) => Kind::Shared(store),
            Self::Worker(worker) => Kind::Shared(worker.store()),
        }
    }

    /// The place for those who only read. Of a file it is opened a second time, so that they do not
    /// wait for a writer's disk.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn for_reading(&self) -> Result<Self, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => Self::Sqlite(SqliteFile::open_read_only(file.path())?),
            Kind::Shared(store) => Self::Postgres(store.clone()),
        })
    }

    /// The file, if it is one.
    #[must_use]
    pub fn file(&self) -> Option<&SqliteFile> {
        match self.kind() {
            Kind::File(file) => Some(file),
            Kind::Shared(_) => None,
        }
    }

    /// The worker that this process is, if it joined a store.
    #[must_use]
    pub fn worker(&self) -> Option<&Worker> {
        match self {
            Self::Worker(worker) => Some(worker),
            _ => None,
        }
    }

    /// The clock by which its agents wait.
    #[must_use]
    pub fn clock(&self) -> StoreTime {
        self.worker()
            .map_or(StoreTime::System(SystemClock), |worker| StoreTime::Store(worker.clock()))
    }

    /// A name that all processes of this machine have for it, however it was named.
    #[must_use]
    pub fn real_name(&self) -> String {
        match self.kind() {
            Kind::File(file) => {
                let path = file.path();
                let real = path.canonicalize().map_or(Cow::Borrowed(path), Cow::Owned);
                real.display().to_string()
            }
            Kind::Shared(store) => store.address().shown().to_owned(),
        }
    }

    /// The agents that have entries, sorted by id.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn agents(&self) -> Result<Vec<AgentId>, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => file.agents()?,
            Kind::Shared(store) => store.agents()?,
        })
    }

    /// The newest entry of each agent that has entries, sorted by id.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn heads(&self) -> Result<Vec<(AgentId, Head)>, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => file.heads()?,
            Kind::Shared(store) => store.heads()?,
        })
    }

    /// The ledger of one agent. To append to one that this process drives, use that of its
    /// [`Own::ledger`].
    #[must_use]
    pub fn ledger(&self, agent: &AgentId) -> StoreLedger {
        match self.kind() {
            Kind::File(file) => StoreLedger::Sqlite(file.ledger(agent)),
            Kind::Shared(store) => StoreLedger::Postgres(store.ledger(agent)),
        }
    }

    /// Claims an agent for this process, so that it alone drives it.
    ///
    /// # Errors
    /// If another one drives the agent, or the place cannot be written.
    pub fn own(&self, agent: &AgentId) -> Result<Own, OwningError> {
        match self {
            Self::Sqlite(file) => Ok(Own::Sqlite(file.own(agent)?)),
            Self::Worker(worker) => Ok(Own::Worker(worker.claim(agent)?)),
            Self::Postgres(_) => Err(OwningError::NotJoined(self.to_string())),
        }
    }

    /// Who drives these agents. Those that nobody drives are left out.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn owners_of(&self, agents: &[AgentId]) -> Result<Vec<DrivenBy>, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => {
                let mut owners = file.owners()?;
                owners.retain(|owner| agents.contains(&owner.agent_id));
                owners.into_iter().map(DrivenBy::Process).collect()
            }
            Kind::Shared(store) => {
                store.placed_of(agents)?.into_iter().map(DrivenBy::Worker).collect()
            }
        })
    }

    /// Keeps a text under a kind and a name, in the place of an earlier one.
    ///
    /// # Errors
    /// If the place cannot be written.
    pub fn keep(&self, kind: &str, name: &str, value: &str) -> Result<(), StoreError> {
        match self.kind() {
            Kind::File(file) => file.keep(kind, name, value)?,
            Kind::Shared(store) => store.keep(kind, name, value)?,
        }
        Ok(())
    }

    /// The names and texts of a kind, sorted by name.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn kept(&self, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => file.kept(kind)?,
            Kind::Shared(store) => store.kept(kind)?,
        })
    }

    /// The text of a name; `None` if there is none.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn kept_one(&self, kind: &str, name: &str) -> Result<Option<String>, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => file.kept_one(kind, name)?,
            Kind::Shared(store) => store.kept_one(kind, name)?,
        })
    }

    /// Forgets the text of a name. Returns whether there was one.
    ///
    /// # Errors
    /// If the place cannot be written.
    pub fn forget(&self, kind: &str, name: &str) -> Result<bool, StoreError> {
        Ok(match self.kind() {
            Kind::File(file) => file.forget(kind, name)?,
            Kind::Shared(store) => store.forget(kind, name)?,
        })
    }
}

impl Own {
    /// Whether the agent must be taken over with a restart: its last driver did not come to rest.
    #[must_use]
    pub fn is_restart(&self) -> bool {
        match self {
            Self::Sqlite(owned) => owned.is_restart(),
            Self::Worker(claim) => claim.is_restart(),
        }
    }

    /// The ledger, as its driver uses it. In a store, its appends are refused once another worker
    /// has the agent.
    #[must_use]
    pub fn ledger(&self) -> StoreLedger {
        match self {
            Self::Sqlite(owned) => StoreLedger::Sqlite(owned.ledger()),
            Self::Worker(claim) => StoreLedger::Postgres(claim.ledger()),
        }
    }

    /// Whether the agent is certainly this process's own still.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        match self {
            Self::Sqlite(_) => true,
            Self::Worker(claim) => claim.is_sure(),
        }
    }

    /// The agent rests, and stays this process's own. To own it again is not a restart.
    pub fn rest(self) {
        match self {
            Self::Sqlite(owned) => owned.rest(),
            Self::Worker(claim) => claim.wait_at_rest(),
        }
    }

    /// Gives the agent up as it is, so that another process may own it at once.
    ///
    /// # Errors
    /// If the place cannot be written. Then the agent stays this process's own.
    pub fn release(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(owned) => owned.release()?,
            Self::Worker(claim) => claim.hand_over()?,
        }
        Ok(())
    }
}

impl Clock for StoreTime {
    fn now(&mut self) -> Timestamp {
        match self {
            Self::System(clock) => clock.now(),
            Self::Store(clock) => clock.now(),
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
            Self::Sqlite(ledger) => ledger.missing(anchor),
            Self::Postgres(_) => None,
        }
    }

    /// What is stored beside the entries and does not fit them, such as the head that the store
    /// keeps of the agent; `None` if there is nothing.
    ///
    /// # Errors
    /// If the place cannot be read.
    pub fn astray(&mut self) -> Result<Option<String>, LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.astray(),
            Self::Postgres(ledger) => ledger.astray(),
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
