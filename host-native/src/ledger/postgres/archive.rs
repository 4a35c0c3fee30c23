//! Moves old entries of an agent into a table of their own, so that the table to which all agents
//! append stays small. They are read from there as before.

use wakeful_core::{AgentId, Seq};

use super::{PostgresError, PostgresStore};

/// The most entries that one statement moves, so that none holds up the others for long.
const PART: i64 = 5_000;

/// Moves the oldest entries, of those up to a position. Returns how many it moved, and the newest
/// of them. A reader sees each entry in one of the tables at any moment.
const MOVE: &str = "
    WITH moved AS (
        DELETE FROM entries WHERE agent = $1 AND seq <= least($2, $3 + (
            SELECT min(seq) FROM entries WHERE agent = $1
        )) RETURNING agent, seq, batch, chain, canonical
    ), stored AS (
        INSERT INTO archived (agent, seq, batch, chain, canonical)
        SELECT agent, seq, batch, chain, canonical FROM moved
        RETURNING seq
    )
    SELECT count(*), coalesce(max(seq), 0) FROM stored";

impl PostgresStore {
    /// Moves all entries of an agent up to this one. Calls `done` with the newest that was moved.
    /// Returns how many it moved. If a connection breaks, some of them may not be counted.
    ///
    /// # Errors
    /// If the store cannot be written. What was moved stays moved, and the next call goes on.
    pub fn archive(
        &self,
        agent: &AgentId,
        up_to: Seq,
        mut done: impl FnMut(Seq),
    ) -> Result<u64, PostgresError> {
        let id = agent.as_str();
        let found = self.call("find an agent", async |connection| {
            connection.row("SELECT agent FROM agents WHERE agent_id = $1", &[&id]).await
        })?;
        let Some(found) = found else { return Ok(0) };
        let number: i64 = self.column(&found, 0)?;
        let up_to = i64::try_from(up_to.0).unwrap_or(i64::MAX);
        let mut all = 0;
        loop {
            let row = self.call("archive entries", async |connection| {
                connection.row(MOVE, &[&number, &up_to, &(PART - 1)]).await
            })?;
            let Some(row) = row else { return Ok(all) };
            let (moved, newest) = (self.seq(&row, 0)?.0, self.seq(&row, 1)?);
            if moved == 0 {
                return Ok(all);
            }
            all += moved;
            done(newest);
        }
    }
}
