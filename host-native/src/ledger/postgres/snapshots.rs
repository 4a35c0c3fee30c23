//! Snapshots beside the entries: the newest two of each agent (contract 3.5).

use std::time::Duration;

use super::{Manner, PostgresError, PostgresStore};

/// Snapshots stored per agent: the newest, and the one before it for the analysis of a damaged
/// store.
const KEPT: i64 = 2;

/// Stores a snapshot, and removes those beyond the newest entry and all but the newest. A part of
/// the statement does not see what another part changes, so the new one is counted apart.
const STORE: &str = "
    WITH kept AS (
        SELECT seq FROM snapshots
        WHERE agent = $1 AND seq <> $2
            AND seq <= (SELECT head_seq FROM agents WHERE agents.agent = $1)
        ORDER BY seq DESC LIMIT $4::bigint - 1
    ), removed AS (
        DELETE FROM snapshots
        WHERE agent = $1 AND seq <> $2 AND seq NOT IN (SELECT seq FROM kept)
    )
    INSERT INTO snapshots (agent, seq, text) VALUES ($1, $2, $3)
    ON CONFLICT (agent, seq) DO UPDATE SET text = excluded.text";

impl PostgresStore {
    /// The newest snapshot, even one beyond the head: the core detects that case (contract 3.4).
    pub(super) fn newest_snapshot(&self, agent: i64) -> Result<Option<String>, PostgresError> {
        let row = self.call("read a snapshot", async |connection| {
            connection
                .row(
                    "SELECT text FROM snapshots WHERE agent = $1 ORDER BY seq DESC LIMIT 1",
                    &[&agent],
                )
                .await
        })?;
        row.map(|row| self.column(&row, 0)).transpose()
    }

    /// Stores a snapshot made at `seq`. It is tried once: the ledger is whole without it, and the
    /// agent must not wait for it.
    pub(super) fn store_snapshot(
        &self,
        agent: i64,
        seq: i64,
        text: &str,
    ) -> Result<(), PostgresError> {
        let once = Manner { patience: Duration::ZERO, ..self.manner() };
        let stored = self.call_in(once, "store a snapshot", async |connection| {
            connection.execute(STORE, &[&agent, &seq, &text, &KEPT]).await
        });
        stored.map(drop)
    }
}
