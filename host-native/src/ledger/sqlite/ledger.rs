//! One agent's ledger in a file: appending at a head, reading pages, and its snapshots.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use wakeful_core::{AgentId, Chain, EntryBytes, Head, Ledger, LedgerError, Seq};

use super::{
    super::{
        PAGE_BYTES,
        row::{Row, rows},
    },
    SqliteError, SqliteFile, snapshots,
};

/// The ledger of one agent in a [`SqliteFile`].
#[derive(Clone, Debug)]
pub struct SqliteLedger {
    pub(super) file: SqliteFile,
    pub(super) agent_id: AgentId,
    /// The agent's number in the file; `None` until it has entries.
    pub(super) agent: Option<i64>,
    /// The archive; `None` until something was read from it.
    pub(super) archive: Option<Box<Self>>,
}

impl SqliteLedger {
    pub(super) fn new(file: SqliteFile, agent_id: AgentId) -> Self {
        Self { file, agent_id, agent: None, archive: None }
    }

    /// The newest entry; [`Head::START`] if there is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn head(&mut self) -> Result<Head, LedgerError> {
        Ok(self.with("read", |connection, agent| {
            agent.map_or(Ok(Head::START), |agent| head(connection, agent))
        })?)
    }

    /// Reads entries as [`Ledger::read`] does, each with the position of the first entry of its
    /// batch (contract 1.1). Archived entries are read from the archive.
    ///
    /// # Errors
    /// If the file cannot be read, or an archive that it needs.
    pub fn read_with_batches(
        &mut self,
        after: Seq,
        limit: u32,
    ) -> Result<Vec<(EntryBytes, Seq)>, LedgerError> {
        // The table holds no entry beyond this position.
        let Ok(from) = i64::try_from(after.0) else { return Ok(Vec::new()) };
        if limit == 0 {
            return Ok(Vec::new());
        }
        let read = |connection: &Connection, agent: Option<i64>| {
            agent.map_or(Ok(None), |agent| page(connection, agent, from, limit))
        };
        let here = match self.with("read", read)? {
            Some(here) => here,
            None => match self.head()?.seq {
                newest if newest <= after => return Ok(Vec::new()),
                // Another writer has appended meanwhile. Or SQLite cannot find the next row,
                // because a damaged row is out of order, and that must not look like the end.
                newest => self.with("read", read)?.ok_or_else(|| SqliteError::Damaged {
                    path: self.file.path().to_owned(),
                    why: format!(
                        "nothing is found after entry {after}, and the newest is {newest}"
                    ),
                })?,
            },
        };
        // Only a gap right after `after` means that entries were moved out.
        if here.first == after.next() {
            return Ok(here.entries);
        }
        Ok(self.read_moved_out(after, limit)?.unwrap_or(here.entries))
    }

    /// What the file holds that no reader would find, in words: entries at impossible positions, or
    /// of an agent without a name. They may be a part of this ledger. Also what SQLite finds wrong
    /// with its own structures. `None` if there is nothing.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn astray(&mut self) -> Result<Option<String>, LedgerError> {
        let begins = self.anchor()?.map_or(0, |anchor| anchor.head.seq.0);
        let (wrong, nameless, first) = self.with("read", |connection, agent| {
            let wrong: String =
                connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            let first = agent.map(|agent| first(connection, agent)).transpose()?;
            Ok((wrong, nameless(connection)?, first))
        })?;
        if wrong != "ok" {
            return Ok(Some(format!("SQLite finds damage in the file: {wrong}")));
        }
        if let Some(number) = nameless {
            return Ok(Some(format!(
                "the file has entries of an agent with the number {number}, but no name for it"
            )));
        }
        let first = first.flatten().filter(|first| u64::try_from(*first).unwrap_or(0) <= begins);
        Ok(first.map(|first| {
            format!("the file has an entry at position {first}, but begins after {begins}")
        }))
    }

    /// Runs `read` with the agent's number, which is looked up until the agent has one.
    pub(super) fn with<T>(
        &mut self,
        doing: &'static str,
        read: impl Fn(&Connection, Option<i64>) -> rusqlite::Result<T>,
    ) -> Result<T, SqliteError> {
        let (known, agent_id) = (self.agent, &self.agent_id);
        let (agent, done) = self.file.call(doing, |connection| {
            let agent =
                known.map_or_else(|| number(connection, agent_id), |agent| Ok(Some(agent)))?;
            Ok((agent, read(connection, agent)?))
        })?;
        self.agent = agent;
        Ok(done)
    }
}

impl SqliteLedger {
    /// Stores batches that follow each other, all or nothing, with one sync. Each has the head
    /// after which it comes.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub fn append_batches(
        &mut self,
        batches: &[(Head, Vec<EntryBytes>)],
    ) -> Result<(), LedgerError> {
        let Some((expected, _)) = batches.first() else { return Ok(()) };
        let mut all = Vec::new();
        for (after, batch) in batches {
            all.extend(rows(after, batch)?);
        }
        self.store(expected, all)
    }

    fn store(&mut self, expected: &Head, rows: Vec<Row>) -> Result<(), LedgerError> {
        let appended = self.file.append(&self.agent_id, expected, rows);
        match appended? {
            Appended::By(agent) => self.agent = agent,
            Appended::Conflict(found) => return Err(LedgerError::Conflict { found: found.seq }),
            Appended::Ended(goes_on_in) => return Err(self.ended(Path::new(&goes_on_in)).into()),
        }
        Ok(())
    }
}

impl Ledger for SqliteLedger {
    fn append(&mut self, expected: &Head, batch: &[EntryBytes]) -> Result<(), LedgerError> {
        self.store(expected, rows(expected, batch)?)
    }

    fn read(&mut self, after: Seq, limit: u32) -> Result<Vec<EntryBytes>, LedgerError> {
        Ok(self.read_with_batches(after, limit)?.into_iter().map(|(entry, _)| entry).collect())
    }

    fn load_snapshot(&mut self) -> Result<Option<String>, LedgerError> {
        Ok(self.with("read a snapshot of", |connection, agent| {
            agent.map_or(Ok(None), |agent| snapshots::newest(connection, agent))
        })?)
    }

    fn store_snapshot(
        &mut self,
        head: &Head,
        write: &dyn Fn() -> String,
    ) -> Result<(), LedgerError> {
        // Without entries there is nothing that a snapshot could replace.
        let (Some(agent), Ok(seq)) = (self.agent, i64::try_from(head.seq.0)) else { return Ok(()) };
        let text = write();
        Ok(self.file.call("store a snapshot in", |connection| {
            snapshots::store(connection, agent, seq, &text)
        })?)
    }
}

/// Entries that are in this file, each with the position of the first entry of its batch.
pub(super) struct Page {
    /// The position of the first of them.
    first: Seq,
    pub(super) entries: Vec<(EntryBytes, Seq)>,
}

/// The result of an append.
#[derive(Debug)]
pub(super) enum Appended {
    /// Stored, under this agent number; `None` if the agent has no entries yet.
    By(Option<i64>),
    /// The ledger has another head.
    Conflict(Head),
    /// The ledger is an archive and continues in that file.
    Ended(String),
}

/// Compares the head and stores the batch. The transaction must hold the file from its first
/// statement on (contract 3.2).
pub(super) fn store(
    transaction: &Connection,
    agent_id: &AgentId,
    expected: &Head,
    rows: &[Row],
) -> rusqlite::Result<Appended> {
    let mut statement =
        transaction.prepare_cached("SELECT agent, goes_on_in FROM agents WHERE agent_id = ?1")?;
    let known = statement
        .query_row([agent_id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match known {
        // Asked in the same transaction: another process may have made this ledger an archive
        // meanwhile.
        Some((_, Some(goes_on_in))) => Ok(Appended::Ended(goes_on_in)),
        Some((agent, None)) => insert(transaction, agent_id, Some(agent), expected, rows),
        None => insert(transaction, agent_id, None, expected, rows),
    }
}

/// Compares the head and stores the batch. `known` is the agent's number; `None` if it has none
/// yet.
pub(super) fn insert(
    transaction: &Connection,
    agent_id: &AgentId,
    known: Option<i64>,
    expected: &Head,
    rows: &[Row],
) -> rusqlite::Result<Appended> {
    let found = known.map_or(Ok(Head::START), |agent| head(transaction, agent))?;
    if found != *expected {
        return Ok(Appended::Conflict(found));
    }
    // An empty batch must not enrol an agent that has no entries.
    if rows.is_empty() {
        return Ok(Appended::By(known));
    }
    let agent = known.map_or_else(|| enrol(transaction, agent_id), Ok)?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO entries (agent, seq, batch, chain, canonical) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for row in rows {
        insert.execute(params![agent, row.seq, row.batch, row.chain.as_bytes(), row.canonical])?;
    }
    Ok(Appended::By(Some(agent)))
}

pub(super) fn enrol(connection: &Connection, agent_id: &AgentId) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("INSERT INTO agents (agent_id) VALUES (?1)")?
        .insert([agent_id.as_str()])
}

pub(super) fn number(connection: &Connection, agent_id: &AgentId) -> rusqlite::Result<Option<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT agent FROM agents WHERE agent_id = ?1")?;
    statement.query_row([agent_id.as_str()], |row| row.get(0)).optional()
}

pub(super) fn head(connection: &Connection, agent: i64) -> rusqlite::Result<Head> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, chain FROM entries WHERE agent = ?1 ORDER BY seq DESC LIMIT 1",
    )?;
    let found = statement.query_row([agent], |row| {
        Ok(Head { seq: seq(row, 0)?, chain: Chain::from_bytes(row.get(1)?) })
    });
    Ok(found.optional()?.unwrap_or(Head::START))
}

pub(super) fn page(
    connection: &Connection,
    agent: i64,
    after: i64,
    limit: u32,
) -> rusqlite::Result<Option<Page>> {
    let mut statement = connection.prepare_cached(
        "SELECT canonical, chain, batch, seq FROM entries WHERE agent = ?1 AND seq > ?2 ORDER BY \
         seq LIMIT ?3",
    )?;
    let (mut first, mut entries, mut bytes) = (None, Vec::new(), 0_usize);
    let mut rows = statement.query(params![agent, after, limit])?;
    while let Some(row) = rows.next()? {
        let canonical = row.get_ref(0)?.as_str()?;
        bytes = bytes.saturating_add(canonical.len());
        if bytes > PAGE_BYTES && !entries.is_empty() {
            break;
        }
        let stands_at = seq(row, 3)?;
        first.get_or_insert(stands_at);
        let chain = Chain::from_bytes(row.get(1)?);
        // With room for the chain: otherwise each text would be moved once more.
        let mut text = String::with_capacity(canonical.len() + CHAIN_BYTES);
        text.push_str(canonical);
        entries.push((EntryBytes::join(text, &chain), seq(row, 2)?));
    }
    Ok(first.map(|first| Page { first, entries }))
}

/// The most bytes that a line has more than its canonical text.
const CHAIN_BYTES: usize = 80;

/// A position in a column. The table checks that positions are above 0, so another number is
/// damage.
pub(super) fn seq(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Seq> {
    let stored: i64 = row.get(column)?;
    let seq = u64::try_from(stored).ok().filter(|seq| *seq > 0).map(Seq);
    seq.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, stored))
}

/// The lowest position in the table, possible or not.
fn first(connection: &Connection, agent: i64) -> rusqlite::Result<Option<i64>> {
    let mut statement =
        connection.prepare_cached("SELECT min(seq) FROM entries WHERE agent = ?1")?;
    statement.query_row([agent], |row| row.get(0))
}

/// The number of an agent that has entries but no name; `None` if all have names.
fn nameless(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    // One look into the index per agent, however many entries it has.
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE found (agent) AS (
             SELECT min(agent) FROM entries
             UNION ALL
             SELECT (SELECT min(agent) FROM entries WHERE agent > found.agent) FROM found
             WHERE found.agent IS NOT NULL
         )
         SELECT agent FROM found
         WHERE agent IS NOT NULL AND agent NOT IN (SELECT agent FROM agents) LIMIT 1",
    )?;
    statement.query_row([], |row| row.get(0)).optional()
}

#[cfg(test)]
mod tests {
    use wakeful_core::{ControlRecord, Marker, Record, Timestamp};

    use super::*;

    /// The test sets SQLite's page limit to the current number of pages, so the next append meets a
    /// full disk.
    #[test]
    fn a_full_disk_stores_nothing_of_the_batch_and_the_next_append_works() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = SqliteFile::open(&folder.path().join("ledger.sqlite")).expect("it opens");
        let mut ledger = file.ledger(&AgentId::from("a"));
        let records = vec![Record::Control(ControlRecord::StartRequested(Marker {})); 100];
        let (entries, batch) =
            wakeful_core::seal_all(Head::START, Timestamp::from_nanos(0), records);
        let limit = |pages: u32| {
            file.connection().pragma_update(None, "max_page_count", pages).expect("a limit")
        };
        limit(7);
        let why = ledger.append(&Head::START, &batch).expect_err("no space").to_string();
        assert!(
            why.ends_with(
                "cannot grow, the disk is full: nothing was stored; free some space and try again"
            ),
            "{why}"
        );
        assert_eq!((ledger.head(), file.agents().expect("the agents").len()), (Ok(Head::START), 0));
        limit(1000);
        assert_eq!(ledger.append(&Head::START, &batch), Ok(()));
        assert_eq!(ledger.head(), Ok(entries[99].head()));
    }
}
