//! Who drives an agent: one row per agent names its owner, and the lock on a file beside the ledger
//! says that the owner lives (contract 2.4, decision 069).
//!
//! The system gives a lock up when its process ends, however it ends. So a row of a dead owner is
//! known at once, and nothing has to be renewed. All that is done with rows and lock files is done
//! in a write transaction of the ledger, which keeps other processes out meanwhile.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fmt,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, MAIN_DB, OptionalExtension, TransactionBehavior, params};
use wakeful_core::{AgentId, Clock, Timestamp};

use super::{Holder, SqliteError, SqliteFile, SqliteLedger, beside, schema};
use crate::{clock::SystemClock, token::hex};

/// What stands between the name of a ledger and the id of an owner in the name of a lock file.
const LOCK: &str = "-owner-";

/// The digits of an owner's id.
const DIGITS: usize = 32;

/// The owners that are open in this process. The number of a process does not tell them, because
/// it is the same in many containers.
static HERE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Who drives an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The agent.
    pub agent_id: AgentId,
    /// The id of the process, in its own container.
    pub pid: u32,
    /// The name of its program. It is empty if it is not known.
    pub program: String,
    /// Since when it owns the agent.
    pub since: Timestamp,
    /// Whether the file that was asked owns it, by this value or a clone.
    pub is_own: bool,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Holder { pid: self.pid, name: self.program.clone() }.fmt(f)
    }
}

/// Why an agent cannot be owned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnError {
    /// Another one drives it. `here` says whether that one is in this process.
    #[error("agent `{agent}` is driven by {} since {}: {}", whom(by, *here), by.since, advice(*here))]
    Driven {
        /// The agent.
        agent: AgentId,
        /// Who drives it.
        by: Owner,
        /// Whether this process drives it already.
        here: bool,
    },
    /// The file cannot be used.
    #[error(transparent)]
    Sqlite(#[from] SqliteError),
}

fn whom(by: &Owner, here: bool) -> String {
    if here { "this process".to_owned() } else { by.to_string() }
}

fn advice(here: bool) -> &'static str {
    if here {
        "use its handle, or end it there first"
    } else {
        "say things to it with `wakeful send`, or end that process first"
    }
}

/// An agent that this process drives. If it is dropped without [`Owned::rest`] or
/// [`Owned::release`], as in a panic, its next driver in this process must restart it.
#[must_use = "dropping it says that the agent did not come to rest"]
#[derive(Debug)]
pub struct Owned {
    file: SqliteFile,
    agent: AgentId,
    is_restart: bool,
}

impl Owned {
    /// Whether the agent must be taken over with a restart: the last driver was another process, or
    /// ended in this one without resting.
    #[must_use]
    pub fn is_restart(&self) -> bool {
        self.is_restart
    }

    /// The ledger of the agent.
    #[must_use]
    pub fn ledger(&self) -> SqliteLedger {
        self.file.ledger(&self.agent)
    }

    /// The agent rests and is dropped from memory. It stays this process's own; owning it again is
    /// not a restart.
    pub fn rest(self) {
        self.file.owning.open().insert(self.agent.clone(), Held::Rests);
    }

    /// Gives the agent up, so that another process may own it at once.
    ///
    /// # Errors
    /// If the file cannot be written. Then the agent stays this process's own until the file is
    /// closed.
    pub fn release(self) -> Result<(), SqliteError> {
        let Some(owner) = self.file.owning.id() else { return Ok(()) };
        self.file.call("release an agent in", |connection| {
            connection
                .prepare_cached("DELETE FROM owners WHERE agent_id = ?1 AND owner = ?2")?
                .execute([self.agent.as_str(), &owner])
                .map(drop)
        })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let mut open = self.file.owning.open();
        // One that rests stays known as such.
        if open.get(&self.agent) == Some(&Held::IsDriven) {
            open.remove(&self.agent);
        }
    }
}

impl SqliteFile {
    /// Claims an agent for this process, so that it alone drives it. It stays so until it is
    /// released, the process ends, or the last clone of this file is dropped.
    ///
    /// # Errors
    /// If another one drives the agent, or the ledger or its lock file cannot be written.
    pub fn own(&self, agent: &AgentId) -> Result<Owned, OwnError> {
        let before = self.owning.open().insert(agent.clone(), Held::IsDriven);
        if before == Some(Held::IsDriven) {
            return Err(self.driven_here(agent));
        }
        // From here on, leaving this function early gives the agent back.
        let mut owned = Owned { file: self.clone(), agent: agent.clone(), is_restart: true };
        let claimed = self.call("own an agent in", |connection| {
            // SQLite says so only at the first change, and the lock file comes before that.
            if connection.is_readonly(MAIN_DB)? {
                return Ok(Err(SqliteError::ReadOnly(self.path().to_owned()).into()));
            }
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let claimed = self.owning.claim(&transaction, agent)?;
            if matches!(claimed, Ok(Claimed::Anew)) {
                transaction.commit()?;
            }
            Ok(claimed)
        });
        match claimed.map_err(OwnError::from).and_then(|claimed| claimed) {
            Ok(Claimed::Anew) => Ok(owned),
            Ok(Claimed::Before) => {
                owned.is_restart = before != Some(Held::Rests);
                Ok(owned)
            }
            Err(why) => {
                // It was not opened, so it still rests.
                if before == Some(Held::Rests) {
                    owned.rest();
                }
                Err(why)
            }
        }
    }

    /// The owners of agents: who drives what, and since when. Dead owners are left out.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn owners(&self) -> Result<Vec<Owner>, SqliteError> {
        let rows = self.call("read the owners in", |connection| {
            // An observer does not migrate, and older files have no owners.
            if !schema::has_table(connection, "owners")? {
                return Ok(Vec::new());
            }
            let mut statement = connection.prepare_cached(
                "SELECT agent_id, owner, pid, program, since FROM owners ORDER BY agent_id",
            )?;
            statement.query_map([], Row::read)?.collect()
        })?;
        let mut living = BTreeMap::new();
        let mut owners = Vec::new();
        for row in rows {
            let lives = *living
                .entry(row.id.clone())
                // If its lock file cannot be read, the owner may live, so it is shown.
                .or_insert_with(|| self.owning.lives(&row.id).unwrap_or(true));
            if lives {
                owners.push(self.owning.owner(row));
            }
        }
        Ok(owners)
    }

    fn driven_here(&self, agent: &AgentId) -> OwnError {
        let by = self.owners().map(|owners| owners.into_iter().find(|it| it.agent_id == *agent));
        match by {
            Ok(Some(by)) => OwnError::Driven { agent: agent.clone(), by, here: true },
            // Another thread is about to write the row.
            Ok(None) => {
                let by = Owner {
                    agent_id: agent.clone(),
                    pid: process::id(),
                    program: program(),
                    since: SystemClock.now(),
                    is_own: true,
                };
                OwnError::Driven { agent: agent.clone(), by, here: true }
            }
            Err(why) => why.into(),
        }
    }
}

/// What became of an agent that this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    IsDriven,
    Rests,
}

/// How an agent was claimed.
#[derive(Debug)]
enum Claimed {
    /// A row was written.
    Anew,
    /// The row has named this owner before.
    Before,
}

/// The row of an agent.
struct Row {
    agent_id: AgentId,
    id: String,
    pid: u32,
    program: String,
    since: Timestamp,
}

impl Row {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            agent_id: AgentId::from(row.get::<_, String>(0)?),
            id: row.get(1)?,
            pid: row.get(2)?,
            program: row.get(3)?,
            since: Timestamp::from_nanos(row.get(4)?),
        })
    }
}

/// What an open file, with its clones, owns.
#[derive(Debug, Default)]
pub(super) struct Owning {
    /// The real path of the ledger, which all names of it share; `None` in memory.
    ledger: Option<PathBuf>,
    own: Mutex<Option<Own>>,
    /// The agents that this owner has opened.
    agents: Mutex<BTreeMap<AgentId, Held>>,
}

impl Owning {
    /// Nothing yet, in the ledger at this path.
    pub(super) fn of(path: &Path) -> Self {
        // A relative path would lead elsewhere if the program changed its folder.
        let ledger = path.canonicalize().or_else(|_| std::path::absolute(path));
        Self { ledger: Some(ledger.unwrap_or_else(|_| path.to_owned())), ..Self::default() }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<AgentId, Held>> {
        held(&self.agents)
    }

    fn id(&self) -> Option<String> {
        held(&self.own).as_ref().map(|own| own.id.clone())
    }

    /// Writes the row of an agent, if no other owner has it. The transaction must hold the file.
    fn claim(
        &self,
        transaction: &Connection,
        agent: &AgentId,
    ) -> rusqlite::Result<Result<Claimed, OwnError>> {
        let mut statement = transaction.prepare_cached(
            "SELECT agent_id, owner, pid, program, since FROM owners WHERE agent_id = ?1",
        )?;
        let row = statement.query_row([agent.as_str()], Row::read).optional()?;
        let own = self.id();
        if row.as_ref().is_some_and(|row| Some(&row.id) == own.as_ref()) {
            return Ok(Ok(Claimed::Before));
        }
        if let Some(row) = row {
            match self.lives(&row.id) {
                Ok(false) => {}
                Ok(true) => {
                    let here = held(&HERE).contains(&row.id);
                    let by = self.owner(row);
                    return Ok(Err(OwnError::Driven { agent: agent.clone(), by, here }));
                }
                Err(why) => return Ok(Err(self.failed(&row.id, "opened", &why).into())),
            }
        }
        self.tidy();
        let id = match self.known() {
            Ok(id) => id,
            Err(why) => return Ok(Err(why.into())),
        };
        transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO owners (agent_id, owner, pid, program, since) VALUES (?1, \
                 ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                agent.as_str(),
                id,
                process::id(),
                program(),
                SystemClock.now().as_nanos()
            ])?;
        Ok(Ok(Claimed::Anew))
    }

    /// The id of this owner, with its lock file.
    fn known(&self) -> Result<String, SqliteError> {
        let mut own = held(&self.own);
        if let Some(own) = &*own {
            return Ok(own.id.clone());
        }
        let id = random().map_err(|why| self.failed("", "named", &why))?;
        let lock = match &self.ledger {
            None => None,
            Some(ledger) => {
                let path = lock_of(ledger, &id);
                Some(Lock::new(ledger, path).map_err(|why| self.failed(&id, "made", &why))?)
            }
        };
        held(&HERE).insert(id.clone());
        *own = Some(Own { id: id.clone(), _lock: lock });
        Ok(id)
    }

    /// Whether an owner lives: its lock file exists and is locked.
    fn lives(&self, id: &str) -> io::Result<bool> {
        let Some(ledger) = self.ledger.as_deref().filter(|_| self.id().as_deref() != Some(id))
        else {
            return Ok(true);
        };
        // The id came from the file, and a path with it must not lead elsewhere.
        if is_id(id) { is_locked(&lock_of(ledger, id)) } else { Ok(false) }
    }

    /// Removes the lock files of dead owners.
    fn tidy(&self) {
        let Some(ledger) = &self.ledger else { return };
        let (Some(folder), Some(name)) = (ledger.parent(), ledger.file_name()) else { return };
        let Ok(files) = fs::read_dir(folder) else { return };
        for file in files.flatten() {
            let found = file.file_name();
            let rest = found.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
            let id = rest.and_then(|rest| rest.strip_prefix(LOCK.as_bytes()));
            let is_dead = id
                .and_then(|id| std::str::from_utf8(id).ok())
                .is_some_and(|id| is_id(id) && self.lives(id).is_ok_and(|lives| !lives));
            if is_dead {
                // One that stays is only untidy.
                drop(fs::remove_file(file.path()));
            }
        }
    }

    fn owner(&self, row: Row) -> Owner {
        let is_own = self.id() == Some(row.id);
        Owner {
            agent_id: row.agent_id,
            pid: row.pid,
            program: row.program,
            since: row.since,
            is_own,
        }
    }

    fn failed(&self, id: &str, done: &'static str, why: &io::Error) -> SqliteError {
        let ledger = self.ledger.clone().unwrap_or_default();
        SqliteError::NoLock { lock: lock_of(&ledger, id), done, why: why.to_string() }
    }
}

/// The owner that an open file is, from its first claim on.
#[derive(Debug)]
struct Own {
    id: String,
    _lock: Option<Lock>,
}

impl Drop for Own {
    fn drop(&mut self) {
        held(&HERE).remove(&self.id);
    }
}

/// A locked file that says that an owner lives.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Makes and locks the file. Nobody else looks at it before a row names it, because that needs
    /// the transaction that the caller has.
    fn new(ledger: &Path, path: PathBuf) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        // From here on, an error removes the file.
        let lock = Self { path, file };
        share(ledger, &lock.file)?;
        lock.file.try_lock().map_err(io::Error::from)?;
        Ok(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed first: a file that is missing and one that is not locked both say the same.
        drop(fs::remove_file(&self.path));
        // A process that is just being started may have a copy of the open file.
        drop(self.file.unlock());
    }
}

/// Lets those look at a lock file who may use the ledger.
#[cfg(unix)]
fn share(ledger: &Path, file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let of = fs::metadata(ledger)?;
    // Only root may give files away, and others may give them only to groups of their own. A ledger
    // of another user is shared by its mode then.
    if fchown(file, Some(of.uid()), Some(of.gid())).is_err() {
        drop(fchown(file, None, Some(of.gid())));
    }
    file.set_permissions(of.permissions())
}

/// On Windows a new file has the rights of its folder, as the ledger has.
#[cfg(not(unix))]
fn share(_: &Path, _: &File) -> io::Result<()> {
    Ok(())
}

/// Whether a file is locked. A shared lock is tried, so that two who ask at once do not
/// take each other for the owner.
fn is_locked(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(why) => return Err(why),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(why)) => Err(why),
    }
}

fn lock_of(ledger: &Path, id: &str) -> PathBuf {
    beside(ledger, &format!("{LOCK}{id}"))
}

fn is_id(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn random() -> io::Result<String> {
    let mut bytes = [0; DIGITS / 2];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex(&bytes))
}

/// The name of this program.
fn program() -> String {
    let path = env::current_exe().unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Linux says so of a program that was replaced while it runs.
    let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
    name.strip_suffix(env::consts::EXE_SUFFIX).unwrap_or(name).to_owned()
}

/// The guarded data is consistent between any two statements, so a panic elsewhere does not matter.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_in_memory_has_owners_and_needs_no_file() {
        let file = SqliteFile::in_memory(Path::new("none/ledger.sqlite")).expect("there is room");
        let agent = AgentId::from("a");
        let owned = file.own(&agent).expect("nobody drives it");
        assert!(owned.is_restart());
        assert!(matches!(file.own(&agent), Err(OwnError::Driven { here: true, .. })));
        owned.rest();
        assert!(file.owners().expect("the owners")[0].is_own);
        assert!(!file.own(&agent).expect("it rests").is_restart());
    }
}
