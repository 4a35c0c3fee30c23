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

/// The version of the store; `None` if there is none at this address.
pub(super) async fn version(client: &Client) -> Result<Option<i32>, tokio_postgres::Error> {
    match client.query_opt("SELECT version FROM schema_version", &[]).await {
        Ok(row) => Ok(Some(row.map_or(Ok(0), |row| row.try_get(0))?)),
        Err(why) if why.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(None),
        Err(why) => Err(why),
    }
}

/// Refuses a store that is newer than this program.
pub(super) fn check(address: &Address, version: i32) -> Result<(), PostgresError> {
    if version > NEWEST {
        return Err(PostgresError::new(address, Fault::Newer { version, reads: NEWEST }));
    }
    Ok(())
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
    if version(client).await? == Some(NEWEST) {
        return Ok(Ok(()));
    }
    let schema = address.quoted_schema();
    let make = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema};
             CREATE TABLE IF NOT EXISTS schema_version (
                 one boolean PRIMARY KEY DEFAULT true CHECK (one),
                 version integer NOT NULL
             );
             INSERT INTO schema_version (version) VALUES (0) ON CONFLICT DO NOTHING"
    );
    while let Err(why) = client.batch_execute(&make).await {
        // `IF NOT EXISTS` does not see what another process is making. That one ends.
        if !why.code().is_some_and(|code| RACES.contains(code)) {
            return Err(why);
        }
    }
    let transaction = client.transaction().await?;
    let row = transaction.query_one("SELECT version FROM schema_version FOR UPDATE", &[]).await?;
    let version: i32 = row.try_get(0)?;
    if let Err(why) = check(address, version) {
        return Ok(Err(why));
    }
    for step in &STEPS[usize::try_from(version).unwrap_or(0)..] {
        transaction.batch_execute(step).await?;
    }
    transaction.execute("UPDATE schema_version SET version = $1", &[&NEWEST]).await?;
    transaction.commit().await?;
    Ok(Ok(()))
}
