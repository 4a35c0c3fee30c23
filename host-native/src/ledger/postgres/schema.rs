//! The schema of a store in PostgreSQL: its version, and the migrations.

use tokio_postgres::{Client, error::SqlState};

use super::{
    address::Address,
    error::{Fault, PostgresError},
};

/// The migrations: the first makes version 1 of an empty schema, each later one takes the version
/// before it to its own.
///
/// An entry is stored as its canonical text and its chain (contract 3.4), with the first position
/// of its batch. It is text and not `jsonb`, because the bytes must stay. The row of an agent has
/// its head, so that an append compares and moves it in one statement. `goes_on_in` is set for an
/// agent that moved to another store.
///
/// A worker is a process that drives agents. Its row says until when it lives without a word.
/// `owner` is the worker of an agent and `epoch` counts its claims, so that an append of an earlier
/// owner is known. `due_at` is when a worker should claim an agent that has none; NULL is never,
/// because an infinite time would be in the index that each poll reads. `is_rested` is set by a
/// driver that came to rest, and cleared by the first append of the next one.
///
/// The inbox has the facts that came while another worker, or none, had the agent.
///
/// `kind` says what a worker must be able to drive; the empty one is that of an agent of which
/// nothing was said.
///
/// `format` is the newest ledger format that the last driver drives. A worker that drives only
/// older ones leaves the agent alone.
///
/// `archived` has old entries of agents, which few readers ask for.
const STEPS: &[&str] = &["
    CREATE TABLE workers (
        worker text COLLATE \"C\" PRIMARY KEY,
        address text,
        labels text[] NOT NULL,
        since timestamptz NOT NULL DEFAULT now(),
        lease_ends timestamptz NOT NULL
    );
    CREATE TABLE agents (
        agent bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        agent_id text COLLATE \"C\" NOT NULL UNIQUE,
        head_seq bigint NOT NULL DEFAULT 0 CHECK (head_seq >= 0),
        head_chain bytea NOT NULL CHECK (length(head_chain) = 32),
        goes_on_in text,
        kind text COLLATE \"C\" NOT NULL DEFAULT '',
        format integer NOT NULL DEFAULT 0,
        label text,
        owner text COLLATE \"C\",
        owned_since timestamptz,
        epoch bigint NOT NULL DEFAULT 0,
        is_rested boolean NOT NULL DEFAULT false,
        due_at timestamptz CHECK (owner IS NULL OR due_at IS NULL),
        inbox_seq bigint NOT NULL DEFAULT 0
    );
    CREATE INDEX ON agents (kind, due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX ON agents (owner) WHERE owner IS NOT NULL;
    CREATE TABLE entries (
        agent bigint NOT NULL,
        seq bigint NOT NULL CHECK (seq > 0),
        batch bigint NOT NULL CHECK (batch BETWEEN 1 AND seq),
        chain bytea NOT NULL CHECK (length(chain) = 32),
        canonical text NOT NULL,
        PRIMARY KEY (agent, seq)
    );
    CREATE TABLE archived (
        agent bigint NOT NULL,
        seq bigint NOT NULL,
        batch bigint NOT NULL,
        chain bytea NOT NULL,
        canonical text NOT NULL,
        PRIMARY KEY (agent, seq)
    );
    CREATE TABLE snapshots (
        agent bigint NOT NULL,
        seq bigint NOT NULL,
        text text NOT NULL,
        PRIMARY KEY (agent, seq)
    );
    CREATE TABLE inbox (
        agent bigint NOT NULL,
        at bigint NOT NULL,
        key text COLLATE \"C\" NOT NULL,
        fact text NOT NULL,
        arrived_at timestamptz NOT NULL DEFAULT now(),
        refused_because text,
        PRIMARY KEY (agent, at),
        UNIQUE (agent, key)
    );
    CREATE TABLE kept (
        kind text COLLATE \"C\" NOT NULL,
        name text COLLATE \"C\" NOT NULL,
        value text NOT NULL,
        PRIMARY KEY (kind, name)
    );
"];

/// The newest version: the number of migrations.
pub(super) const NEWEST: i32 = STEPS.len() as i32;

/// The oldest version whose programs work with a store of the newest one. A migration that only
/// adds to the schema leaves it, so that servers of two versions share a store while they are
/// replaced one by one.
const OLDEST: i32 = 1;

/// What a store says of its schema.
#[derive(Clone, Copy)]
pub(super) struct Version {
    /// The number of migrations that were made.
    is: i32,
    /// The oldest version whose programs work with it.
    oldest: i32,
}

/// The version of the store; `None` if there is none at this address.
pub(super) async fn version(client: &Client) -> Result<Option<Version>, tokio_postgres::Error> {
    match client.query_opt("SELECT version, oldest FROM schema_version", &[]).await {
        Ok(Some(row)) => Ok(Some(Version { is: row.try_get(0)?, oldest: row.try_get(1)? })),
        Ok(None) => Ok(None),
        Err(why) if why.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(why) => Err(why),
    }
}

/// Refuses a store that is too new for this program.
fn check(address: &Address, version: Version) -> Result<(), PostgresError> {
    if version.oldest > NEWEST {
        return Err(PostgresError::new(
            address,
            Fault::Newer { version: version.is, reads: NEWEST },
        ));
    }
    Ok(())
}

/// Refuses a store that this program cannot read as it is.
pub(super) fn check_to_read(
    address: &Address,
    version: Option<Version>,
) -> Result<(), PostgresError> {
    match version {
        // Another process is making it.
        None | Some(Version { is: 0, .. }) => {
            let schema = address.schema().to_owned();
            Err(PostgresError::new(address, Fault::NoStore { schema }))
        }
        Some(Version { is, .. }) if is < NEWEST => {
            Err(PostgresError::new(address, Fault::Older { version: is, reads: NEWEST }))
        }
        Some(version) => check(address, version),
    }
}

/// The errors of two processes that make the same thing at once.
const RACES: [SqlState; 3] =
    [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_SCHEMA, SqlState::DUPLICATE_TABLE];

/// Makes the schema, or takes it to the newest version. Several processes may do so at once: the
/// row of the version is locked, so that they come one after the other.
pub(super) async fn migrate(
    client: &mut Client,
    address: &Address,
) -> Result<Result<(), PostgresError>, tokio_postgres::Error> {
    if let Some(found) = version(client).await?
        && found.is >= NEWEST
    {
        return Ok(check(address, found));
    }
    let schema = address.quoted_schema();
    let make = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
             CREATE TABLE IF NOT EXISTS schema_version (
                 one boolean PRIMARY KEY DEFAULT true CHECK (one),
                 version integer NOT NULL,
                 oldest integer NOT NULL
             );
             INSERT INTO schema_version (version, oldest) VALUES (0, 0)
                 ON CONFLICT DO NOTHING"
    );
    while let Err(why) = client.batch_execute(&make).await {
        // `IF NOT EXISTS` does not see what another process is making. That one ends.
        if !why.code().is_some_and(|code| RACES.contains(code)) {
            return Err(why);
        }
    }
    let transaction = client.transaction().await?;
    let row =
        transaction.query_one("SELECT version, oldest FROM schema_version FOR UPDATE", &[]).await?;
    let version = Version { is: row.try_get(0)?, oldest: row.try_get(1)? };
    if let Err(why) = check(address, version) {
        return Ok(Err(why));
    }
    let missing = STEPS.get(usize::try_from(version.is).unwrap_or(0)..).unwrap_or_default();
    for step in missing {
        transaction.batch_execute(step).await?;
    }
    if !missing.is_empty() {
        transaction
            .execute("UPDATE schema_version SET version = $1, oldest = $2", &[&NEWEST, &OLDEST])
            .await?;
    }
    transaction.commit().await?;
    Ok(Ok(()))
}
