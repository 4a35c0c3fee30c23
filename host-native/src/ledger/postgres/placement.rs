//! Who drives what: the workers of a store, and the agents that each of them has.

use std::collections::BTreeSet;

use tokio_postgres::types::ToSql;
use wakeful_core::{AgentId, Timestamp};

use super::{Fault, PostgresError, PostgresStore};

/// A worker as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// Its id: random, and never used twice.
    pub worker: String,
    /// Its address, if others can reach it.
    pub address: Option<String>,
    /// What it has.
    pub labels: BTreeSet<String>,
    /// Since when it works.
    pub since: Timestamp,
    /// Whether its lease has not ended.
    pub lives: bool,
}

/// Which worker drives an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The agent.
    pub agent: AgentId,
    /// The worker.
    pub worker: String,
    /// Its address, if others can reach it.
    pub address: Option<String>,
    /// Since when it drives the agent.
    pub since: Timestamp,
}

impl PostgresStore {
    /// The workers, in the order in which they joined.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn workers(&self) -> Result<Vec<WorkerInfo>, PostgresError> {
        let rows = self.call("list the workers", async |connection| {
            connection
                .rows(
                    "SELECT worker, address, labels,
                         (extract(epoch FROM since) * 1000000)::bigint,
                         lease_ends > clock_timestamp()
                     FROM workers ORDER BY since, worker",
                    &[],
                )
                .await
        })?;
        rows.iter()
            .map(|row| {
                let labels: Vec<String> = self.column(row, 2)?;
                Ok(WorkerInfo {
                    worker: self.column(row, 0)?,
                    address: self.column(row, 1)?,
                    labels: labels.into_iter().collect(),
                    since: micros(self.column(row, 3)?),
                    lives: self.column(row, 4)?,
                })
            })
            .collect()
    }

    /// Which worker drives which agent, sorted by agent.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn placed(&self) -> Result<Vec<Placed>, PostgresError> {
        self.placed_among(None)
    }

    /// As [`PostgresStore::placed`], for these agents only.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn placed_of(&self, agents: &[AgentId]) -> Result<Vec<Placed>, PostgresError> {
        self.placed_among(Some(agents))
    }

    fn placed_among(&self, agents: Option<&[AgentId]>) -> Result<Vec<Placed>, PostgresError> {
        let among: Option<Vec<&str>> =
            agents.map(|agents| agents.iter().map(AgentId::as_str).collect());
        let rows = self.call("list the owners", async |connection| {
            connection
                .rows(
                    "SELECT agent_id, worker, address,
                         (extract(epoch FROM owned_since) * 1000000)::bigint
                     FROM agents JOIN workers ON worker = owner
                     WHERE lease_ends > clock_timestamp()
                         AND ($1::text[] IS NULL OR agent_id = ANY ($1))
                     ORDER BY agent_id",
                    &[&among],
                )
                .await
        })?;
        rows.iter()
            .map(|row| {
                Ok(Placed {
                    agent: AgentId::from(self.column::<String>(row, 0)?),
                    worker: self.column(row, 1)?,
                    address: self.column(row, 2)?,
                    since: micros(self.column(row, 3)?),
                })
            })
            .collect()
    }

    /// The worker that drives an agent, if one does.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn driver(&self, agent: &AgentId) -> Result<Option<String>, PostgresError> {
        let id = agent.as_str();
        let row = self.call("read the owner", async |connection| {
            connection
                .row("SELECT owner FROM agents WHERE agent_id = $1 AND owner IS NOT NULL", &[&id])
                .await
        })?;
        row.map(|row| self.column(&row, 0)).transpose()
    }

    /// The label to which an agent is pinned.
    pub(in crate::ledger) fn label(
        &self,
        agent: &AgentId,
    ) -> Result<Option<String>, PostgresError> {
        let id = agent.as_str();
        let row = self.call("read the label", async |connection| {
            connection.row("SELECT label FROM agents WHERE agent_id = $1", &[&id]).await
        })?;
        row.map_or(Ok(None), |row| self.column(&row, 0))
    }

    /// Pins an agent to workers that have a label, or to none.
    ///
    /// # Errors
    /// If there is no such agent, or the store cannot be written.
    pub fn pin(&self, agent: &AgentId, label: Option<&str>) -> Result<(), PostgresError> {
        self.set(agent, "UPDATE agents SET label = $2 WHERE agent_id = $1", &label)
    }

    /// Says of which kind an agent is: only workers that can drive this kind claim it when it is
    /// due.
    ///
    /// # Errors
    /// If there is no such agent, or the store cannot be written.
    pub fn set_kind(&self, agent: &AgentId, kind: &str) -> Result<(), PostgresError> {
        self.set(agent, "UPDATE agents SET kind = $2 WHERE agent_id = $1", &kind)
    }

    fn set(
        &self,
        agent: &AgentId,
        statement: &'static str,
        to: &(dyn ToSql + Sync),
    ) -> Result<(), PostgresError> {
        let id = agent.as_str();
        let set = self.call("change an agent", async |it| it.execute(statement, &[&id, to]).await);
        match set? {
            0 => Err(PostgresError::new(self.address(), Fault::NoAgent { agent: agent.clone() })),
            _ => Ok(()),
        }
    }
}

/// An instant in microseconds since 1970, as the database tells it.
pub(super) fn micros(since_1970: i64) -> Timestamp {
    Timestamp::from_nanos(since_1970.saturating_mul(1_000))
}
