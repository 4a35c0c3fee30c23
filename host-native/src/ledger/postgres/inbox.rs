//! The inbox: facts from outside for an agent that another worker drives, or none.

use wakeful_core::AgentId;

use super::{Fault, PostgresError, PostgresStore, claim::Arrived};

/// Raises the number of the inbox first, which locks the row of the agent, and stores the fact
/// under it. An agent without an owner is due at once. If the key is taken, nothing comes of it but
/// a number that is not used.
const SEND: &str = "
    WITH agent AS (
        UPDATE agents SET inbox_seq = inbox_seq + 1,
            due_at = CASE WHEN owner IS NULL THEN least(due_at, now()) END
        WHERE agent_id = $1 AND goes_on_in IS NULL
        RETURNING agent, inbox_seq
    ), stored AS (
        INSERT INTO inbox (agent, at, key, fact) SELECT agent, inbox_seq, $2, $3 FROM agent
        ON CONFLICT (agent, key) DO NOTHING
        RETURNING at
    )
    SELECT stored.at FROM agent LEFT JOIN stored ON true";

impl PostgresStore {
    /// Sends a fact to an agent, also if another worker drives it or none does. It is stored when
    /// this returns. `key` is the
    /// fact's own: the same fact under the same key counts once.
    ///
    /// The caller validates the fact. Those of turns, clocks and restarts are the driver's own, and
    /// must not be sent.
    ///
    /// # Errors
    /// If there is no such agent, the key has another fact, or the store cannot be written.
    pub fn send(&self, agent: &AgentId, key: &str, fact: &str) -> Result<(), PostgresError> {
        let id = agent.as_str();
        let failed = |fault| PostgresError::new(self.address(), fault);
        let row = self.call("send a fact", async |connection| {
            connection.row(SEND, &[&id, &key, &fact]).await
        })?;
        let Some(row) = row else {
            let mut ledger = self.ledger(agent);
            return Err(failed(match ledger.goes_on_in()? {
                Some(goes_on_in) => Fault::Moved { agent: agent.clone(), goes_on_in },
                None => Fault::NoAgent { agent: agent.clone() },
            }));
        };
        let stored: Option<i64> = self.column(&row, 0)?;
        if stored.is_some() {
            return Ok(());
        }
        // The key is taken. A second statement, because the first does not see a row that another
        // one has stored meanwhile.
        let row = self.call("send a fact", async |connection| {
            connection
                .row(
                    "SELECT fact FROM inbox JOIN agents USING (agent)
                     WHERE agent_id = $1 AND key = $2",
                    &[&id, &key],
                )
                .await
        })?;
        // One that is gone was recorded, and the agent knows it by its own id.
        match row.map(|row| self.column::<String>(&row, 0)).transpose()? {
            Some(known) if known != fact => {
                Err(failed(Fault::OtherFact { agent: agent.clone(), key: key.to_owned() }))
            }
            _ => Ok(()),
        }
    }

    /// The number of the inbox, and what came for an agent, in order. Both are of one moment.
    pub(super) fn arrived(
        &self,
        agent: &AgentId,
        most: u32,
    ) -> Result<(i64, Vec<Arrived>), PostgresError> {
        let (id, most) = (agent.as_str(), i64::from(most));
        let rows = self.call("read the inbox", async |connection| {
            connection
                .rows(
                    "SELECT inbox_seq, at, key, fact FROM agents
                     LEFT JOIN inbox
                         ON inbox.agent = agents.agent AND refused_because IS NULL
                     WHERE agent_id = $1 ORDER BY at LIMIT $2",
                    &[&id, &most],
                )
                .await
        })?;
        let mut number = 0;
        let mut arrived = Vec::new();
        for row in &rows {
            number = self.column(row, 0)?;
            let Some(at) = self.column(row, 1)? else { continue };
            let (key, fact) = (self.column(row, 2)?, self.column(row, 3)?);
            arrived.push(Arrived { at, key, fact });
        }
        Ok((number, arrived))
    }

    /// Deletes a fact that its agent knows already.
    pub(super) fn forget_arrived(&self, agent: &AgentId, at: i64) -> Result<(), PostgresError> {
        let id = agent.as_str();
        let forgotten = self.call("forget a fact", async |connection| {
            connection
                .execute(
                    "DELETE FROM inbox USING agents
                     WHERE agents.agent = inbox.agent AND agent_id = $1 AND at = $2",
                    &[&id, &at],
                )
                .await
        });
        forgotten.map(drop)
    }

    /// Keeps a fact out of the way.
    pub(super) fn set_aside(
        &self,
        agent: &AgentId,
        at: i64,
        because: &str,
    ) -> Result<(), PostgresError> {
        let id = agent.as_str();
        let set = self.call("set a fact aside", async |connection| {
            connection
                .execute(
                    "UPDATE inbox SET refused_because = $3 FROM agents
                     WHERE agents.agent = inbox.agent AND agent_id = $1 AND at = $2",
                    &[&id, &at, &because],
                )
                .await
        });
        set.map(drop)
    }
}
