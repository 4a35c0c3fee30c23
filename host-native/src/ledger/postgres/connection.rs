//! Connections to the hosts of a store, and which of these is the primary.

use std::{
    collections::HashMap,
    sync::{PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{self, Instant},
};
use tokio_postgres::{Client, Config, Row, Statement, types::ToSql};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    PostgresStore,
    error::{Meaning, is_of_a_server, meaning},
};

/// The time without an answer of a host after which the next one is tried too.
const SILENCE: Duration = Duration::from_millis(250);

/// What is wrong with a host whose history is not the newest.
pub(super) const REPLACED: &str = "an old primary answered, which another server has replaced";

/// The history of a cluster, to which a promotion adds.
const HISTORY: &str = "
    SELECT system_identifier,
        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
    FROM pg_control_system()";

/// The history that a connection leads to: of which cluster, and how often a standby of it was
/// promoted.
///
/// A primary that was stopped for a while takes itself for the primary still when it goes on. It
/// commits nothing, as no standby follows it, but it answers what is read, without the newest
/// entries. Its timeline is that of before the promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    system: i64,
    timeline: i64,
}

impl History {
    /// Whether it is of the same cluster, and of before a promotion that the other one knows.
    fn is_before(self, newest: Self) -> bool {
        self.system == newest.system && self.timeline < newest.timeline
    }
}

/// One connection, with the statements that it has prepared.
pub(super) struct Connection {
    pub(super) client: Client,
    statements: HashMap<&'static str, Statement>,
    /// The history that it leads to; `None` if the server does not tell.
    pub(super) history: Option<History>,
}

impl Connection {
    pub(super) async fn statement(
        &mut self,
        text: &'static str,
    ) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.statements.insert(text, statement.clone());
        Ok(statement)
    }

    pub(super) async fn rows(
        &mut self,
        text: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = self.statement(text).await?;
        self.client.query(&statement, values).await
    }

    pub(super) async fn row(
        &mut self,
        text: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, tokio_postgres::Error> {
        let statement = self.statement(text).await?;
        self.client.query_opt(&statement, values).await
    }

    pub(super) async fn execute(
        &mut self,
        text: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, tokio_postgres::Error> {
        let statement = self.statement(text).await?;
        self.client.execute(&statement, values).await
    }
}

impl Connection {
    /// Connects to a host that takes writes, with the schema of the store.
    async fn to(
        host: Config,
        tls: MakeRustlsConnect,
        schema: String,
    ) -> Result<Self, tokio_postgres::Error> {
        let (client, connection) = host.connect(tls).await?;
        tokio::spawn(async move {
            // The calls that it serves learn how it ends.
            let _ = connection.await;
        });
        client.batch_execute(&format!("SET search_path TO {schema}")).await?;
        let history = match client.query_one(HISTORY, &[]).await {
            Ok(row) => Some(History { system: row.try_get(0)?, timeline: row.try_get(1)? }),
            // Services that are like PostgreSQL do not all tell it. Class 57 is of an operator who
            // stops the server.
            Err(why) if why.code().is_some_and(|it| !it.code().starts_with("57")) => None,
            Err(why) => return Err(why),
        };
        Ok(Self { client, statements: HashMap::new(), history })
    }
}

/// Why a host is not used.
enum Unfit {
    Failed(tokio_postgres::Error),
    Replaced,
}

impl Unfit {
    fn is_of_a_server(&self) -> bool {
        match self {
            Self::Failed(why) => is_of_a_server(why),
            Self::Replaced => true,
        }
    }
}

impl PostgresStore {
    /// Connects until then.
    pub(super) async fn connect(
        &self,
        until: Instant,
        doing: &'static str,
    ) -> Result<Connection, Meaning> {
        time::timeout_at(until, self.connect_to_any())
            .await
            .map_err(|_| Meaning::Lost("no connection was made in time".to_owned()))?
            .map_err(|why| match why {
                Unfit::Failed(why) => meaning(doing, &why),
                Unfit::Replaced => Meaning::Lost(REPLACED.to_owned()),
            })
    }

    /// A connection to the primary. A host that refuses leads to the next one at once, and one that
    /// is silent after a while. A machine that is stopped takes connections and never answers, and
    /// the next host may be the new primary.
    async fn connect_to_any(&self) -> Result<Connection, Unfit> {
        let address = &self.shared.address;
        let mut hosts = address.hosts().iter();
        let mut attempts = JoinSet::new();
        let mut refused: Option<Unfit> = None;
        loop {
            if let Some(host) = hosts.next().cloned() {
                let tls = self.shared.tls.clone();
                attempts.spawn(Connection::to(host, tls, address.quoted_schema()));
            }
            let ended = match hosts.len() {
                0 => attempts.join_next().await,
                _ => match time::timeout(SILENCE, attempts.join_next()).await {
                    Ok(ended) => ended,
                    Err(_) => continue,
                },
            };
            let (why, before) = match (ended, refused.take()) {
                // The attempts that are left are given up.
                (Some(Ok(Ok(connection))), _) if self.leads(&connection) => return Ok(connection),
                (Some(Ok(Ok(_))), before) => (Unfit::Replaced, before),
                (Some(Ok(Err(why))), before) => (Unfit::Failed(why), before),
                (None, Some(why)) => return Err(why),
                (Some(Err(_)) | None, _) => unreachable!("there is a host, and no attempt panics"),
            };
            if address.hosts().len() > 1 && why.is_of_a_server() {
                self.shared.fails_over.store(true, Ordering::Relaxed);
            }
            // What a server says tells more than that another one is away.
            refused = before.filter(|_| !why.is_of_a_server()).or(Some(why));
        }
    }

    /// Whether a new connection leads to the newest history that is known. Its own may become that.
    fn leads(&self, connection: &Connection) -> bool {
        let mut newest = self.shared.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(own), known) = (connection.history, *newest) else { return true };
        let leads = known.is_none_or(|newest| !own.is_before(newest));
        if leads {
            *newest = Some(own);
        }
        leads
    }

    /// Whether no connection has led to a newer history than this one.
    pub(super) fn is_current(&self, history: Option<History>) -> bool {
        let newest = *self.shared.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let both = history.zip(newest);
        both.is_none_or(|(own, newest)| !own.is_before(newest))
    }
}
