//! The ledger of a fleet: one store in PostgreSQL for agents on many machines. Every append is
//! durable as the server's settings say, on a quorum of standbys if it waits for them, before it
//! returns (contract 3.1, 3.2).
//!
//! A statement whose connection breaks may have been done or not. It is not cancelled: the
//! connection is dropped, and the store is asked what became of it. Only a renewal of a lease that
//! is given up is cancelled, because nobody asks for it later.

mod address;
mod append;
mod archive;
mod claim;
mod claiming;
mod connection;
mod error;
mod inbox;
mod kept;
mod ledger;
mod moving;
mod placement;
mod schema;
mod snapshots;
mod worker;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::{
    runtime::{self, Runtime},
    sync::Semaphore,
    time,
};
use tokio_postgres::Row;
use tokio_postgres_rustls::MakeRustlsConnect;
use wakeful_core::{AgentId, Chain, Head, Seq};

use self::{
    append::Group,
    connection::{Connection, History, REPLACED},
    error::{Meaning, meaning},
};
use crate::waiting;

pub use self::{
    address::Address,
    claim::{Arrived, Claim, Fate},
    error::{Fault, PostgresError},
    ledger::PostgresLedger,
    placement::{Placed, WorkerInfo},
    worker::{ClaimError, StoreClock, Worker, WorkerOptions},
};

/// The most connections of a process.
const CONNECTIONS: usize = 16;

/// Those of them that only renewals of a lease use. A renewal that waited behind a load of other
/// calls would cost all turns of the process.
const RESERVED: usize = 1;

/// The time that an attempt has, with that to connect. After it the connection is given up.
const ANSWER: Duration = Duration::from_secs(10);

/// How long a call tries again by default while the server is away, as during a failover.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the first connection is tried, because a person who mistyped the address must not
/// wait. It does not count if a host of several answers and takes no writes, as during a failover.
const OPENING: Duration = Duration::from_secs(3);

/// The pause before the first new attempt. It doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// For what must be done soon: a renewal that comes late after a failover costs open turns.
const LONGEST_PAUSE_OF_RESERVED: Duration = Duration::from_millis(80);

/// A store. Clones share its connections, and may be sent to other threads. Appends of several
/// threads at once share a statement. Its calls block, so an asynchronous task must not make them.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    tls: MakeRustlsConnect,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    idle: Mutex<Vec<Connection>>,
    places: Semaphore,
    reserved: Semaphore,
    group: Group,
    patience: Duration,
    /// Whether a host of several answered once, and took no writes.
    fails_over: AtomicBool,
    /// The newest history that a connection led to.
    newest: Mutex<Option<History>>,
}

/// How a call is made.
#[derive(Clone, Copy)]
struct Manner {
    /// How long it is tried again while the server is away.
    patience: Duration,
    /// The time that an attempt has.
    answer: Duration,
    /// Whether it has one of the reserved connections.
    is_reserved: bool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // To wait for its tasks would be an error in a thread that must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresStore").field(&self.shared.address.shown()).finish()
    }
}

impl PostgresStore {
    /// The schema version that this program writes, and the newest that it reads.
    pub const SCHEMA: i32 = schema::NEWEST;

    /// Opens a store, makes it if there is none, and migrates it to the newest schema. Its calls
    /// try again for 30 s while the server is away.
    ///
    /// # Errors
    /// If the server cannot be reached or does not let the user in, or if the store is newer than
    /// this program.
    pub fn open(address: &Address) -> Result<Self, PostgresError> {
        Self::open_patiently(address, PATIENCE)
    }

    /// As [`PostgresStore::open`]. Calls try again for as long as `patience`, this one too.
    ///
    /// # Errors
    /// As [`PostgresStore::open`].
    pub fn open_patiently(address: &Address, patience: Duration) -> Result<Self, PostgresError> {
        let store = Self::unopened(address, patience)?;
        store.call("make the store", async |connection| {
            schema::migrate(&mut connection.client, &store.shared.address).await
        })??;
        Ok(store)
    }

    /// Opens a store as an observer, who makes and migrates nothing.
    ///
    /// # Errors
    /// If the server cannot be reached, or there is no store, or it is of a version that this
    /// program cannot read.
    pub fn open_read_only(address: &Address) -> Result<Self, PostgresError> {
        let store = Self::unopened(address, PATIENCE)?;
        let version =
            store.call("read the version", async |it| schema::version(&it.client).await)?;
        schema::check_to_read(address, version)?;
        Ok(store)
    }

    fn unopened(address: &Address, patience: Duration) -> Result<Self, PostgresError> {
        let failed = |why: std::io::Error| {
            let why = format!("the system gives no thread: {why}");
            PostgresError::new(address, Fault::Unreachable { why })
        };
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("wakeful-postgres")
            .enable_all()
            .build()
            .map_err(failed)?;
        let store = Self {
            shared: Arc::new(Shared {
                address: address.clone(),
                tls: address.tls()?,
                runtime: Some(runtime),
                idle: Mutex::default(),
                places: Semaphore::new(CONNECTIONS - RESERVED),
                reserved: Semaphore::new(RESERVED),
                group: Group::default(),
                patience,
                fails_over: AtomicBool::new(false),
                newest: Mutex::default(),
            }),
        };
        let manner = Manner { patience: OPENING.min(patience), ..store.manner() };
        let mut reached = store.call_in(manner, "connect", async |_| Ok(()));
        let is_away = reached.as_ref().is_err_and(|why| matches!(why.fault, Fault::Away { .. }));
        if is_away && store.shared.fails_over.load(Ordering::Relaxed) {
            reached = store.call("connect", async |_| Ok(()));
        }
        reached.map_err(|why| match why.fault {
            Fault::Away { why, .. } => PostgresError::new(address, Fault::Unreachable { why }),
            _ => why,
        })?;
        Ok(store)
    }

    /// The address that the store was opened with.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.shared.address
    }

    /// The ledger of one agent; empty if the store does not have this agent. Nothing is written
    /// before the first append.
    #[must_use]
    pub fn ledger(&self, agent_id: &AgentId) -> PostgresLedger {
        PostgresLedger::new(self.clone(), agent_id.clone())
    }

    /// The newest entry of each agent that has entries, sorted by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn heads(&self) -> Result<Vec<(AgentId, Head)>, PostgresError> {
        let rows = self.call("read the heads", async |connection| {
            connection
                .rows(
                    "SELECT agent_id, head_seq, head_chain FROM agents WHERE head_seq > 0
                     ORDER BY agent_id",
                    &[],
                )
                .await
        })?;
        rows.iter().map(|row| self.agent_and_head(row)).collect()
    }

    fn agent_and_head(&self, row: &Row) -> Result<(AgentId, Head), PostgresError> {
        Ok((AgentId::from(self.column::<String>(row, 0)?), self.head(row, 1)?))
    }

    /// The newest entries of these agents. Those without entries are left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn heads_of(&self, agents: &[AgentId]) -> Result<Vec<(AgentId, Head)>, PostgresError> {
        let ids: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
        let rows = self.call("read the heads", async |connection| {
            connection
                .rows(
                    "SELECT agent_id, head_seq, head_chain FROM agents
                     WHERE agent_id = ANY ($1) AND head_seq > 0",
                    &[&ids],
                )
                .await
        })?;
        rows.iter().map(|row| self.agent_and_head(row)).collect()
    }

    /// Up to `most` agents that have entries and live here, sorted by id, after this one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn agents_after(&self, after: &str, most: u32) -> Result<Vec<AgentId>, PostgresError> {
        let most = i64::from(most);
        let rows = self.call("list the agents", async |connection| {
            connection
                .rows(
                    "SELECT agent_id FROM agents
                     WHERE agent_id > $1 AND head_seq > 0 AND goes_on_in IS NULL
                     ORDER BY agent_id LIMIT $2",
                    &[&after, &most],
                )
                .await
        })?;
        rows.iter().map(|row| Ok(AgentId::from(self.column::<String>(row, 0)?))).collect()
    }

    /// The agents that go on in another place, each with its name, sorted by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn moved(&self) -> Result<Vec<(AgentId, String)>, PostgresError> {
        let rows = self.call("list the agents that moved", async |connection| {
            connection
                .rows(
                    "SELECT agent_id, goes_on_in FROM agents WHERE goes_on_in IS NOT NULL
                     ORDER BY agent_id",
                    &[],
                )
                .await
        })?;
        let named = |row: &Row| Ok((self.column::<String>(row, 0)?.into(), self.column(row, 1)?));
        rows.iter().map(named).collect()
    }

    /// The agents that have entries, sorted by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn agents(&self) -> Result<Vec<AgentId>, PostgresError> {
        Ok(self.heads()?.into_iter().map(|(agent, _)| agent).collect())
    }

    /// A head in two columns.
    fn head(&self, row: &Row, column: usize) -> Result<Head, PostgresError> {
        Ok(Head { seq: self.seq(row, column)?, chain: self.chain(row, column + 1)? })
    }

    /// A position in a column.
    fn seq(&self, row: &Row, column: usize) -> Result<Seq, PostgresError> {
        let stored: i64 = self.column(row, column)?;
        let seq = u64::try_from(stored);
        seq.map(Seq).map_err(|_| self.damaged(format!("a position is {stored}")))
    }

    fn chain(&self, row: &Row, column: usize) -> Result<Chain, PostgresError> {
        let bytes: Vec<u8> = self.column(row, column)?;
        let length = bytes.len();
        let bytes = bytes.try_into();
        let wrong = |_| self.damaged(format!("a chain has {length} bytes"));
        bytes.map(Chain::from_bytes).map_err(wrong)
    }

    /// A value in a column.
    fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
        &self,
        row: &'a Row,
        column: usize,
    ) -> Result<T, PostgresError> {
        row.try_get(column).map_err(|why| self.damaged(why.to_string()))
    }

    fn damaged(&self, why: String) -> PostgresError {
        PostgresError::new(&self.shared.address, Fault::Damaged { why })
    }

    /// Makes a call, again and again while the server is away and patience lasts. What it does may
    /// have been done by an earlier attempt already, so it must bear that.
    fn call<T>(
        &self,
        doing: &'static str,
        call: impl AsyncFn(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, PostgresError> {
        self.call_in(self.manner(), doing, call)
    }

    /// As [`PostgresStore::call`], for what must be done soon and whatever else waits. An attempt
    /// is given up after `answer`.
    fn call_first<T>(
        &self,
        answer: Duration,
        doing: &'static str,
        call: impl AsyncFn(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, PostgresError> {
        let answer = answer.min(ANSWER);
        self.call_in(Manner { answer, is_reserved: true, ..self.manner() }, doing, call)
    }

    /// How long a call is tried again while the server is away.
    fn patience(&self) -> Duration {
        self.shared.patience
    }

    fn manner(&self) -> Manner {
        Manner { patience: self.patience(), answer: ANSWER, is_reserved: false }
    }

    fn call_in<T>(
        &self,
        manner: Manner,
        doing: &'static str,
        call: impl AsyncFn(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, PostgresError> {
        let Some(runtime) = &self.shared.runtime else { unreachable!("it is dropped") };
        let since = Instant::now();
        let mut pause = FIRST_PAUSE;
        let longest = if manner.is_reserved { LONGEST_PAUSE_OF_RESERVED } else { LONGEST_PAUSE };
        loop {
            let attempt = || runtime.block_on(self.attempt(manner, doing, &call));
            // The server is outside of this program, as another process with a file is.
            let why = match waiting::during(attempt) {
                Ok(done) => return Ok(done),
                Err(Meaning::Never(fault)) => {
                    return Err(PostgresError::new(&self.shared.address, fault));
                }
                Err(Meaning::Lost(why) | Meaning::Again(why)) => why,
            };
            let waited = since.elapsed();
            if waited + pause >= manner.patience {
                let fault = Fault::Away { waited, why };
                return Err(PostgresError::new(&self.shared.address, fault));
            }
            waiting::during(|| thread::sleep(pause));
            pause = (pause * 2).min(longest);
        }
    }

    async fn attempt<T>(
        &self,
        manner: Manner,
        doing: &'static str,
        call: &impl AsyncFn(&mut Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Meaning> {
        let places = match manner.is_reserved {
            true => &self.shared.reserved,
            false => &self.shared.places,
        };
        let Ok(_place) = places.acquire().await else { unreachable!("nothing closes it") };
        let until = time::Instant::now() + manner.answer;
        let known = {
            let mut idle = self.idle();
            idle.retain(|it| !it.client.is_closed() && self.is_current(it.history));
            idle.pop()
        };
        let mut connection = match known {
            Some(connection) => connection,
            None => self.connect(until, doing).await?,
        };
        match time::timeout_at(until, call(&mut connection)).await {
            // Another connection may have found the new primary meanwhile.
            Ok(Ok(_)) if !self.is_current(connection.history) => {
                Err(Meaning::Lost(REPLACED.to_owned()))
            }
            Ok(Ok(done)) => {
                self.idle().push(connection);
                Ok(done)
            }
            Ok(Err(why)) => {
                let meaning = meaning(doing, &why);
                match meaning {
                    // The others lead to the same server.
                    Meaning::Lost(_) => self.idle().clear(),
                    Meaning::Again(_) | Meaning::Never(_) => self.idle().push(connection),
                }
                Err(meaning)
            }
            Err(_) => {
                self.idle().clear();
                if manner.is_reserved {
                    self.cancel(&connection);
                }
                Err(Meaning::Lost(format!("no answer within {:.1} s", manner.answer.as_secs_f64())))
            }
        }
    }

    /// Asks the server to end what a connection that is given up waits for. A commit waits for a
    /// standby also if its client has gone away: during a failover, the renewals of a few servers
    /// filled a primary with connections, so that the tool that looks after it got none.
    ///
    /// The server then answers as if a standby had the commit, but nobody hears it.
    fn cancel(&self, connection: &Connection) {
        let (token, tls) = (connection.client.cancel_token(), self.shared.tls.clone());
        tokio::spawn(async move {
            // If it cannot be asked, it has ended or is cut off, and ends the connection itself.
            let _ = time::timeout(ANSWER, token.cancel_query(tls)).await;
        });
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // Each change is one statement.
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
