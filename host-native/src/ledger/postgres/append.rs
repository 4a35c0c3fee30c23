//! Appends to a store, alone or together with those of other threads: in one statement, which
//! compares and moves the heads and inserts the entries.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use wakeful_core::{AgentId, Chain, Head};

use super::{Connection, PostgresError, PostgresStore};
use crate::ledger::{group, row::Row};

/// The queue of appends.
pub(super) type Group = group::Group<Append, Result<Appended, PostgresError>>;

/// The bytes of entries at which a statement ends and the next one begins.
const BYTES: usize = 8 << 20;

/// One append.
pub(super) struct Append {
    agent_id: AgentId,
    expected: Head,
    becomes: Head,
    rows: Vec<Row>,
    /// The claim under which it appends; `None` if it appends without one.
    under: Option<Epoch>,
    /// The row of the inbox that becomes these entries.
    taken: Option<i64>,
    /// How often a statement with it was sent. If it is more than once, an earlier one may have
    /// stored it, because its outcome is not known.
    sent: AtomicU32,
}

/// The result of an append.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Appended {
    /// Stored, under this number of the agent.
    By(i64),
    /// The ledger has another head.
    Conflict(Head),
    /// The agent lives elsewhere now.
    Moved(String),
    /// This worker drives the agent, or none does and an owner wanted to append.
    Owned(Option<String>),
}

/// One claim of an agent by a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    pub(super) worker: Arc<str>,
    pub(super) number: i64,
}

/// Compares and moves the heads of agents, inserts their entries, and deletes the rows of the inbox
/// that became entries. An agent that the store does not know begins with its first entries. An
/// owner appends only under the epoch of its claim, and others only while there is no owner: then
/// the agent is due, because a worker must decide what follows. It returns the agents whose entries
/// it stored.
const STORE: &str = "
    WITH want AS (
        SELECT * FROM unnest(
            $1::text[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bytea[],
            $12::text[], $13::bigint[], $14::bigint[]
        ) AS want (agent_id, seq, chain, new_seq, new_chain, owner, epoch, taken)
    ), moved AS (
        UPDATE agents SET head_seq = want.new_seq, head_chain = want.new_chain,
            is_rested = agents.is_rested AND want.owner IS NULL,
            due_at = CASE WHEN want.owner IS NULL THEN least(agents.due_at, now()) END
        FROM want
        WHERE agents.agent_id = want.agent_id
            AND agents.head_seq = want.seq AND agents.head_chain = want.chain
            AND agents.goes_on_in IS NULL
            AND agents.owner IS NOT DISTINCT FROM want.owner
            AND (want.owner IS NULL OR agents.epoch = want.epoch)
        RETURNING agents.agent, agents.agent_id, want.taken
    ), consumed AS (
        DELETE FROM inbox USING moved
        WHERE inbox.agent = moved.agent AND inbox.at = moved.taken
    ), new AS (
        INSERT INTO agents (agent_id, head_seq, head_chain, due_at)
        SELECT agent_id, new_seq, new_chain, now() FROM want
        WHERE seq = 0 AND chain = $11 AND owner IS NULL
        ON CONFLICT (agent_id) DO NOTHING
        RETURNING agent, agent_id
    ), stored AS (
        SELECT agent, agent_id FROM moved UNION ALL SELECT agent, agent_id FROM new
    ), put AS (
        INSERT INTO entries (agent, seq, batch, chain, canonical)
        SELECT stored.agent, entry.seq, entry.batch, entry.chain, entry.canonical
        FROM unnest($6::text[], $7::bigint[], $8::bigint[], $9::bytea[], $10::text[])
            AS entry (agent_id, seq, batch, chain, canonical)
        JOIN stored USING (agent_id)
    )
    SELECT agent_id, agent FROM stored";

/// The same for one append to an agent that has entries, which most are: it has no part for other
/// agents and new ones, and costs less.
const STORE_ONE: &str = "
    WITH moved AS (
        UPDATE agents SET head_seq = $4, head_chain = $5,
            is_rested = is_rested AND $6::text IS NULL,
            due_at = CASE WHEN $6::text IS NULL THEN least(due_at, now()) END
        WHERE agent_id = $1 AND head_seq = $2 AND head_chain = $3
            AND goes_on_in IS NULL
            AND owner IS NOT DISTINCT FROM $6
            AND ($6::text IS NULL OR epoch = $7)
        RETURNING agent
    ), consumed AS (
        DELETE FROM inbox USING moved WHERE inbox.agent = moved.agent AND inbox.at = $8
    ), put AS (
        INSERT INTO entries (agent, seq, batch, chain, canonical)
        SELECT moved.agent, entry.*
        FROM moved, unnest($9::bigint[], $10::bigint[], $11::bytea[], $12::text[]) AS entry
    )
    SELECT agent FROM moved";

/// What is known of an agent whose append was not stored: its head, its place, its owner, and the
/// chain of its entry at the position that the append would have had.
const LOOK: &str = "
    SELECT agents.agent, agents.head_seq, agents.head_chain, agents.goes_on_in, entries.chain,
        agents.owner, agents.epoch
    FROM agents LEFT JOIN entries ON entries.agent = agents.agent AND entries.seq = $2
    WHERE agents.agent_id = $1";

/// Changes nothing of an agent, and is committed.
const CONFIRM: &str = "UPDATE agents SET head_seq = head_seq WHERE agent = $1";

impl PostgresStore {
    /// Stores a batch after the expected head, possibly together with batches of other threads. The
    /// batch has entries.
    pub(super) fn append(
        &self,
        agent_id: &AgentId,
        expected: &Head,
        becomes: Head,
        rows: Vec<Row>,
        under: Option<Epoch>,
        taken: Option<i64>,
    ) -> Result<Appended, PostgresError> {
        let append = Append {
            agent_id: agent_id.clone(),
            expected: *expected,
            becomes,
            rows,
            under,
            taken,
            sent: AtomicU32::new(0),
        };
        self.shared.group.append(append, |group| self.store_all(group))
    }

    /// Stores a group. If this fails, a part of it may be stored; to store that part again finds
    /// it.
    fn store_all(&self, group: &[&Append]) -> Result<Vec<Appended>, PostgresError> {
        let mut became: Vec<Option<Appended>> = group.iter().map(|_| None).collect();
        for part in parts(group) {
            let asked: Vec<&Append> = part.iter().map(|at| group[*at]).collect();
            let stored = self.store(&asked)?;
            for (at, append) in part.into_iter().zip(&asked) {
                became[at] = Some(match stored.get(append.agent_id.as_str()) {
                    Some(agent) => Appended::By(*agent),
                    None => self.look(append)?,
                });
            }
        }
        Ok(became.into_iter().flatten().collect())
    }

    /// Stores an append to an agent that has entries. Returns the number of the agent, if it was
    /// stored.
    fn store_one(&self, append: &Append) -> Result<Option<i64>, PostgresError> {
        let place = |head: &Head| i64::try_from(head.seq.0).unwrap_or(i64::MAX);
        let (id, expected, becomes) = (append.agent_id.as_str(), append.expected, append.becomes);
        let owner = append.under.as_ref().map(|under| &*under.worker);
        let epoch = append.under.as_ref().map(|under| under.number);
        let seqs: Vec<i64> = append.rows.iter().map(|row| row.seq).collect();
        let batches: Vec<i64> = append.rows.iter().map(|row| row.batch).collect();
        let chains: Vec<&[u8]> = append.rows.iter().map(|row| bytes(&row.chain)).collect();
        let texts: Vec<&str> = append.rows.iter().map(|row| row.canonical.as_str()).collect();
        let row = self.call("append", async |connection: &mut Connection| {
            let statement = connection.statement(STORE_ONE).await?;
            append.sent.fetch_add(1, Ordering::Relaxed);
            connection
                .client
                .query_opt(
                    &statement,
                    &[
                        &id,
                        &place(&expected),
                        &bytes(&expected.chain),
                        &place(&becomes),
                        &bytes(&becomes.chain),
                        &owner,
                        &epoch,
                        &append.taken,
                        &seqs,
                        &batches,
                        &chains,
                        &texts,
                    ],
                )
                .await
        })?;
        row.map(|row| self.column(&row, 0)).transpose()
    }

    /// Stores appends of different agents. Returns the numbers of those whose entries it stored.
    fn store(&self, group: &[&Append]) -> Result<BTreeMap<String, i64>, PostgresError> {
        if let [append] = group
            && append.expected.seq.0 > 0
        {
            let stored = self.store_one(append)?;
            return Ok(stored
                .map(|agent| (append.agent_id.to_string(), agent))
                .into_iter()
                .collect());
        }
        let heads: Vec<_> = group.iter().map(|append| (append.expected, append.becomes)).collect();
        let agents: Vec<&str> = group.iter().map(|append| append.agent_id.as_str()).collect();
        let places = |head: fn(&(Head, Head)) -> Head| -> Vec<i64> {
            heads.iter().map(|heads| i64::try_from(head(heads).seq.0).unwrap_or(i64::MAX)).collect()
        };
        let (seqs, new_seqs) = (places(|heads| heads.0), places(|heads| heads.1));
        let chains: Vec<&[u8]> = heads.iter().map(|(head, _)| bytes(&head.chain)).collect();
        let new_chains: Vec<&[u8]> = heads.iter().map(|(_, head)| bytes(&head.chain)).collect();
        let under = |append: &&'_ Append| append.under.clone();
        let owners: Vec<Option<String>> =
            group.iter().map(|it| Some(under(it)?.worker.to_string())).collect();
        let epochs: Vec<Option<i64>> = group.iter().map(|it| Some(under(it)?.number)).collect();
        let taken: Vec<Option<i64>> = group.iter().map(|append| append.taken).collect();
        let rows = || {
            group
                .iter()
                .flat_map(|append| append.rows.iter().map(|row| (append.agent_id.as_str(), row)))
        };
        let of: Vec<&str> = rows().map(|(agent, _)| agent).collect();
        let row_seqs: Vec<i64> = rows().map(|(_, row)| row.seq).collect();
        let batches: Vec<i64> = rows().map(|(_, row)| row.batch).collect();
        let row_chains: Vec<&[u8]> = rows().map(|(_, row)| bytes(&row.chain)).collect();
        let texts: Vec<&str> = rows().map(|(_, row)| row.canonical.as_str()).collect();
        let rows = self.call("append", async |connection: &mut Connection| {
            let statement = connection.statement(STORE).await?;
            for append in group {
                append.sent.fetch_add(1, Ordering::Relaxed);
            }
            connection
                .client
                .query(
                    &statement,
                    &[
                        &agents,
                        &seqs,
                        &chains,
                        &new_seqs,
                        &new_chains,
                        &of,
                        &row_seqs,
                        &batches,
                        &row_chains,
                        &texts,
                        &bytes(&Chain::START),
                        &owners,
                        &epochs,
                        &taken,
                    ],
                )
                .await
        })?;
        rows.iter().map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?))).collect()
    }

    /// What became of an append that the statement did not store.
    fn look(&self, append: &Append) -> Result<Appended, PostgresError> {
        let agent_id = append.agent_id.as_str();
        let at = i64::try_from(append.becomes.seq.0).unwrap_or(i64::MAX);
        let row = self.call("read the head", async |it| it.row(LOOK, &[&agent_id, &at]).await)?;
        let Some(row) = row else { return Ok(Appended::Conflict(Head::START)) };
        let stored: Option<Vec<u8>> = self.column(&row, 4)?;
        let is_own = stored.is_some_and(|chain| chain == bytes(&append.becomes.chain));
        if is_own && append.sent.load(Ordering::Relaxed) > 1 {
            let agent: i64 = self.column(&row, 0)?;
            // After a crash of the primary, what it had committed is seen also if no standby has
            // it yet. The commit of this statement has an answer when one has both.
            self.call("append", async |it| it.execute(CONFIRM, &[&agent]).await)?;
            return Ok(Appended::By(agent));
        }
        if let Some(goes_on_in) = self.column(&row, 3)? {
            return Ok(Appended::Moved(goes_on_in));
        }
        let owner: Option<String> = self.column(&row, 5)?;
        let epoch: i64 = self.column(&row, 6)?;
        let is_allowed = match &append.under {
            Some(under) => owner.as_deref() == Some(&*under.worker) && epoch == under.number,
            None => owner.is_none(),
        };
        if !is_allowed {
            return Ok(Appended::Owned(owner));
        }
        Ok(Appended::Conflict(self.head(&row, 1)?))
    }
}

/// The appends by their place in the group, in the parts that are stored one after the other: one
/// statement has each agent once, and is not too long.
fn parts(group: &[&Append]) -> Vec<Vec<usize>> {
    let mut parts = Vec::new();
    let mut left: Vec<usize> = (0..group.len()).collect();
    while !left.is_empty() {
        let (mut agents, mut bytes) = (BTreeSet::new(), 0_usize);
        let (part, rest) = left.into_iter().partition(|at| {
            let append = group[*at];
            let length = append.rows.iter().map(|row| row.canonical.len()).sum::<usize>();
            // A later append of an agent waits for its earlier one, also if that one waits.
            let is_first = agents.insert(&append.agent_id);
            let fits = bytes == 0 || bytes + length <= BYTES;
            if is_first && fits {
                bytes += length;
            }
            is_first && fits
        });
        parts.push(part);
        left = rest;
    }
    parts
}

fn bytes(chain: &Chain) -> &[u8] {
    chain.as_bytes().as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_each_agent_once_and_is_not_too_long() {
        let append = |agent: &str, length: usize| Append {
            agent_id: agent.into(),
            expected: Head::START,
            becomes: Head::START,
            rows: vec![Row {
                seq: 1,
                batch: 1,
                chain: Chain::START,
                canonical: "x".repeat(length),
            }],
            under: None,
            taken: None,
            sent: AtomicU32::new(0),
        };
        let group = [
            append("a", 10),
            append("b", BYTES + 1),
            append("b", 10),
            append("a", 10),
            append("c", 10),
            append("a", 10),
        ];
        let group: Vec<&Append> = group.iter().collect();
        assert_eq!(parts(&group), [vec![0, 4], vec![1], vec![2, 3], vec![5]]);
    }
}
