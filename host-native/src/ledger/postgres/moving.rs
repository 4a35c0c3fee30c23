//! What a move of an agent into this store, or out of it, changes in the row of the agent.

use wakeful_core::{AgentId, Head};

use super::{PostgresError, PostgresStore};
use crate::ledger::row::Row;

impl PostgresStore {
    /// Makes room for an agent whose ledger comes from `from`. Nobody can append to it before it
    /// has arrived. Returns `false` if there is a ledger of the agent that lives here. It will be
    /// of this kind, and pinned to this label.
    pub(in crate::ledger) fn arrive(
        &self,
        agent: &AgentId,
        from: &str,
        kind: &str,
        label: Option<&str>,
    ) -> Result<bool, PostgresError> {
        let (id, start) = (agent.as_str(), Head::START.chain);
        let chain = start.as_bytes().as_slice();
        let made = self.call("make room for an agent", async |connection| {
            connection
                .execute(
                    "INSERT INTO agents (agent_id, head_chain, goes_on_in, kind, label)
                     VALUES ($1, $2, $3, $4, $5)
                     ON CONFLICT (agent_id) DO UPDATE SET goes_on_in = excluded.goes_on_in,
                         kind = excluded.kind, label = excluded.label
                     WHERE agents.goes_on_in IS NOT NULL
                         OR agents.head_seq = 0 AND agents.owner IS NULL",
                    &[&id, &chain, &from, &kind, &label],
                )
                .await
        });
        made.map(|rows| rows == 1)
    }

    /// Stores entries of an agent that is arriving, after the expected head.
    pub(in crate::ledger) fn receive(
        &self,
        agent: &AgentId,
        expected: &Head,
        becomes: &Head,
        rows: &[Row],
    ) -> Result<(), PostgresError> {
        let id = agent.as_str();
        let place = |head: &Head| i64::try_from(head.seq.0).unwrap_or(i64::MAX);
        let (seq, new_seq) = (place(expected), place(becomes));
        let chain = expected.chain.as_bytes().as_slice();
        let new_chain = becomes.chain.as_bytes().as_slice();
        let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
        let batches: Vec<i64> = rows.iter().map(|row| row.batch).collect();
        let chains: Vec<&[u8]> = rows.iter().map(|row| row.chain.as_bytes().as_slice()).collect();
        let texts: Vec<&str> = rows.iter().map(|row| row.canonical.as_str()).collect();
        // If it was done by an attempt whose answer was lost, this one does nothing. Whether all
        // has arrived is seen at the end.
        let stored = self.call("store entries", async |connection| {
            connection
                .execute(
                    "WITH moved AS (
                         UPDATE agents SET head_seq = $4, head_chain = $5
                         WHERE agent_id = $1 AND head_seq = $2 AND head_chain = $3
                             AND goes_on_in IS NOT NULL
                         RETURNING agent
                     )
                     INSERT INTO entries (agent, seq, batch, chain, canonical)
                     SELECT moved.agent, entry.* FROM moved,
                         unnest($6::bigint[], $7::bigint[], $8::bytea[], $9::text[]) AS entry",
                    &[&id, &seq, &chain, &new_seq, &new_chain, &seqs, &batches, &chains, &texts],
                )
                .await
        });
        stored.map(drop)
    }

    /// Says that an agent with this head goes on elsewhere. Returns `false` if it has another head,
    /// a worker drives it, or something waits in its inbox.
    pub(in crate::ledger) fn leave(
        &self,
        agent: &AgentId,
        head: &Head,
        to: &str,
    ) -> Result<bool, PostgresError> {
        let id = agent.as_str();
        let seq = i64::try_from(head.seq.0).unwrap_or(i64::MAX);
        let chain = head.chain.as_bytes().as_slice();
        self.call("move an agent", async |connection| {
            let transaction = connection.client.transaction().await?;
            // Locked first: the next statement must see what was sent until now.
            let row = transaction
                .query_opt("SELECT agent FROM agents WHERE agent_id = $1 FOR UPDATE", &[&id])
                .await?;
            let Some(row) = row else { return Ok(false) };
            let number: i64 = row.try_get(0)?;
            let left = transaction
                .execute(
                    "UPDATE agents SET goes_on_in = $4, due_at = NULL
                     WHERE agent = $1 AND head_seq = $2 AND head_chain = $3 AND owner IS NULL
                         AND (goes_on_in IS NULL OR goes_on_in = $4)
                         AND NOT EXISTS (
                             SELECT 1 FROM inbox
                             WHERE inbox.agent = agents.agent AND refused_because IS NULL
                         )",
                    &[&number, &seq, &chain, &to],
                )
                .await?;
            transaction.commit().await?;
            Ok(left == 1)
        })
    }

    /// Says that an agent has arrived from there, and lives here from now on.
    pub(in crate::ledger) fn settle(
        &self,
        agent: &AgentId,
        from: &str,
    ) -> Result<(), PostgresError> {
        let id = agent.as_str();
        let settled = self.call("move an agent", async |connection| {
            connection
                .execute(
                    "UPDATE agents SET goes_on_in = NULL, due_at = now()
                     WHERE agent_id = $1 AND goes_on_in = $2",
                    &[&id, &from],
                )
                .await
        });
        settled.map(drop)
    }
}
