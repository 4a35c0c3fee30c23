//! One agent's ledger in a store: appending at a head, reading pages, and its snapshots.

use std::sync::Arc;

use wakeful_core::{AgentId, EntryBytes, Head, Ledger, LedgerError, Seq};

use super::{
    Fault, PostgresError, PostgresStore, Worker,
    append::{Appended, Epoch},
    claim::Taking,
};
use crate::ledger::{PAGE_BYTES, row::rows};

/// The ledger of one agent in a [`PostgresStore`].
#[derive(Clone, Debug)]
pub struct PostgresLedger {
    store: PostgresStore,
    agent_id: AgentId,
    /// The agent's number in the store; `None` until it has entries.
    agent: Option<i64>,
    /// The worker and the claim under which it appends; `None` if it appends only while nobody owns
    /// the agent.
    under: Option<(Worker, Epoch)>,
    /// The row of the inbox that the next append turns into entries.
    taking: Arc<Taking>,
}

/// Entries after a position, archived ones first, up to a number of entries or of bytes. The first
/// one comes whatever its length is. The sum is over `ROWS`: for peers, which positions do not
/// have, the server would look at each row twice.
const PAGE: &str = "
    SELECT canonical, chain, batch FROM (
        SELECT seq, canonical, chain, batch, octet_length(canonical) AS own,
            sum(octet_length(canonical)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS bytes
        FROM (
            (SELECT seq, canonical, chain, batch FROM archived
             WHERE agent = $1 AND seq > $2 ORDER BY seq LIMIT $3)
            UNION ALL
            (SELECT seq, canonical, chain, batch FROM entries
             WHERE agent = $1 AND seq > $2 ORDER BY seq LIMIT $3)
            ORDER BY seq LIMIT $3
        ) AS all_entries
    ) AS page
    WHERE bytes <= $4 OR bytes = own ORDER BY seq";

/// The head in the row of an agent and that of its newest entry, as of one moment.
const HEADS: &str = "
    SELECT head_seq, head_chain, coalesce(newest.seq, 0), coalesce(newest.chain, $2)
    FROM agents LEFT JOIN LATERAL (
        SELECT seq, chain FROM entries WHERE entries.agent = agents.agent
        ORDER BY seq DESC LIMIT 1
    ) AS newest ON true
    WHERE agents.agent = $1";

impl PostgresLedger {
    pub(super) fn new(store: PostgresStore, agent_id: AgentId) -> Self {
        Self { store, agent_id, agent: None, under: None, taking: Arc::default() }
    }

    /// The ledger under a claim, whose appends are refused once the claim is another's.
    pub(super) fn under(mut self, worker: Worker, epoch: Epoch, taking: Arc<Taking>) -> Self {
        (self.under, self.taking) = (Some((worker, epoch)), taking);
        self
    }

    /// The newest entry; [`Head::START`] if there is none.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn head(&mut self) -> Result<Head, LedgerError> {
        Ok(self.looked_up()?.map_or(Head::START, |(head, _)| head))
    }

    /// The store in which this ledger continues; `None` if it does so here.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn goes_on_in(&mut self) -> Result<Option<String>, PostgresError> {
        Ok(self.looked_up()?.and_then(|(_, goes_on_in)| goes_on_in))
    }

    /// What the row of the agent says of its head, if the newest entry says something else; `None`
    /// if they agree.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn astray(&mut self) -> Result<Option<String>, LedgerError> {
        let Some(agent) = self.number()? else { return Ok(None) };
        let start = Head::START.chain;
        let none = start.as_bytes().as_slice();
        let row = self.store.call("compare the head", async |connection| {
            connection.row(HEADS, &[&agent, &none]).await
        })?;
        let Some(row) = row else { return Ok(None) };
        let (row_head, newest) = (self.store.head(&row, 0)?, self.store.head(&row, 2)?);
        Ok((row_head != newest).then(|| {
            format!(
                "the row of the agent says that its head is {row_head}, and its newest entry is \
                 {newest}"
            )
        }))
    }

    /// Reads entries as [`Ledger::read`] does, each with the position of the first entry of its
    /// batch (contract 1.1).
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn read_with_batches(
        &mut self,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<(EntryBytes, Seq)>, LedgerError> {
        // The table holds no entry beyond this position.
        let Ok(from) = i64::try_from(after.0) else { return Ok(Vec::new()) };
        let Some(agent) = self.number()? else { return Ok(Vec::new()) };
        let (limit, most) = (i64::from(limit), i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX));
        let rows = self.store.call("read entries", async |connection| {
            connection.rows(PAGE, &[&agent, &from, &limit, &most]).await
        })?;
        let entries = rows.iter().map(|row| {
            let store = &self.store;
            let entry = EntryBytes::join(store.column(row, 0)?, &store.chain(row, 1)?);
            Ok((entry, store.seq(row, 2)?))
        });
        Ok(entries.collect::<Result<_, PostgresError>>()?)
    }

    /// The head and the place of the agent; `None` if the store does not know it.
    fn looked_up(&mut self) -> Result<Option<(Head, Option<String>)>, PostgresError> {
        let agent_id = self.agent_id.as_str();
        let row = self.store.call("read the head", async |connection| {
            connection
                .row(
                    "SELECT agent, head_seq, head_chain, goes_on_in FROM agents
                     WHERE agent_id = $1",
                    &[&agent_id],
                )
                .await
        })?;
        let Some(row) = row else { return Ok(None) };
        self.agent = Some(self.store.column(&row, 0)?);
        Ok(Some((self.store.head(&row, 1)?, self.store.column(&row, 3)?)))
    }

    /// The agent's number, which is looked up until the agent has one.
    fn number(&mut self) -> Result<Option<i64>, PostgresError> {
        if self.agent.is_none() {
            self.looked_up()?;
        }
        Ok(self.agent)
    }

    /// Waits while the lease of the owner is not renewed in time.
    fn until_sure(&self) {
        if let Some((worker, epoch)) = &self.under {
            worker.until_sure(&epoch.worker);
        }
    }

    fn failed(&self, fault: impl FnOnce(AgentId) -> Fault) -> LedgerError {
        PostgresError::new(self.store.address(), fault(self.agent_id.clone())).into()
    }
}

impl Ledger for PostgresLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        let rows = rows(expected, batch)?;
        let Some(newest) = rows.last() else {
            // An empty batch stores nothing, and yet must not hide that another writer was first.
            return match self.looked_up()?.unwrap_or((Head::START, None)) {
                (_, Some(goes_on_in)) => {
                    Err(self.failed(|agent| Fault::Moved { agent, goes_on_in }))
                }
                (head, None) if head == *expected => Ok(()),
                (head, None) => Err(LedgerError::Conflict { found: head.seq }),
            };
        };
        let seq = u64::try_from(newest.seq).map_or(expected.seq, Seq);
        let becomes = Head { seq, chain: newest.chain };
        self.until_sure();
        let under = self.under.as_ref().map(|(_, epoch)| epoch.clone());
        let taken = self.taking.row();
        let appended =
            self.store.append(&self.agent_id, expected, becomes, rows, under.clone(), taken)?;
        match appended {
            Appended::By(agent) => {
                self.agent = Some(agent);
                self.taking.done();
                // An append that waited for the store may be done before the renewal is, and what
                // follows from it would be ended a moment later.
                self.until_sure();
                Ok(())
            }
            Appended::Conflict(found) => Err(LedgerError::Conflict { found: found.seq }),
            Appended::Moved(goes_on_in) => {
                Err(self.failed(|agent| Fault::Moved { agent, goes_on_in }))
            }
            Appended::Owned(by) => Err(self.failed(|agent| match (under, by) {
                (None, Some(by)) => Fault::Driven { agent, by },
                _ => Fault::ClaimLost { agent },
            })),
        }
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        Ok(self.read_with_batches(after, limit)?.into_iter().map(|(entry, _)| entry).collect())
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        let Some(agent) = self.number()? else { return Ok(None) };
        Ok(self.store.newest_snapshot(agent)?)
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        // Without entries there is nothing that a snapshot could replace.
        let (Some(agent), Ok(seq)) = (self.agent, i64::try_from(head.seq.0)) else { return Ok(()) };
        Ok(self.store.store_snapshot(agent, seq, &write())?)
    }
}
