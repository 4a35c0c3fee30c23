//! The beginning of a ledger in another file: moving it out, and reading across the border
//! (contract 3.4, 3.5).
//!
//! The anchor is the head of the moved entries: the first entry of the rest continues its chain.
//! The anchor also names the archive, an ordinary ledger file in which the ledger ends there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use wakeful_core::{AgentId, Chain, EntryBytes, EntryError, Head, Ledger, LedgerError, Seq};

use super::{
    SqliteError, SqliteFile,
    ledger::{Appended, SqliteLedger, head, insert, number, page, seq},
    schema,
};
use crate::ledger::row::Row;

/// Entries per transaction of a move.
const PAGE: u32 = 1024;

/// The place of the beginning of a ledger, and the head that the rest continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The newest entry that was moved out.
    pub head: Head,
    /// The ledger file that has the entries up to `head`.
    pub archive: PathBuf,
}

/// Why the beginning of a ledger was not moved. Some entries may have been copied, but the ledger
/// is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] SqliteError),
    /// The ledger is damaged.
    #[error("the ledger is damaged: {0}")]
    Damaged(#[from] EntryError),
    /// The archive holds other entries of this agent.
    #[error("`{}` holds a different history of agent `{agent}`: name a file without this agent", path.display())]
    OtherHistory {
        /// The archive.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
    },
    /// The archive would be a ledger that is still appended to.
    #[error("`{}` holds a live ledger of agent `{agent}`, not an archive: name a file without this agent", path.display())]
    Alive {
        /// The archive.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
    },
    /// Earlier entries were moved to another file.
    #[error("the entries up to {} are already in `{}`: name that file, so that the next ones continue them", anchor.head.seq, anchor.archive.display())]
    Elsewhere {
        /// The place of the earlier entries.
        anchor: Anchor,
    },
    /// The path cannot be stored in the ledger.
    #[error("`{}` is not valid UTF-8, so the ledger cannot store this path: name another file", .0.display())]
    NoText(PathBuf),
    /// The archive would be the ledger itself.
    #[error("`{}` is the ledger itself: name another file", .0.display())]
    Itself(PathBuf),
    /// Another process changed the ledger during the move.
    #[error(
        "entry {0} changed during the move: another process archives this ledger too; try again"
    )]
    Changed(Seq),
}

impl SqliteLedger {
    /// The place of the beginning of this ledger. `None` if it was never moved out.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn anchor(&mut self) -> Result<Option<Anchor>, LedgerError> {
        let stored = self.with("read", |connection, agent| {
            agent.map_or(Ok(None), |agent| stored(connection, agent))
        })?;
        Ok(stored.map(|(head, archive)| Anchor { head, archive: self.beside(&archive) }))
    }

    /// The file in which this ledger continues; `None` if this is not an archive.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn goes_on_in(&mut self) -> Result<Option<PathBuf>, SqliteError> {
        let stored = self.with("read", |connection, agent| {
            agent.map_or(Ok(None), |agent| goes_on_in(connection, agent))
        })?;
        Ok(stored.map(|rest| self.beside(Path::new(&rest))))
    }

    /// Refuses an archive, with the error that an append to it would give.
    ///
    /// # Errors
    /// If this is an archive, or the file cannot be read.
    pub fn require_alive(&mut self) -> Result<(), SqliteError> {
        self.goes_on_in()?.map_or(Ok(()), |rest| Err(self.ended(&rest)))
    }

    /// The error for an append to this archive.
    pub(super) fn ended(&self, goes_on_in: &Path) -> SqliteError {
        SqliteError::Archive {
            path: self.file.path().to_owned(),
            agent: self.agent_id.clone(),
            goes_on_in: self.beside(goes_on_in),
        }
    }

    /// Resolves a path that this file stores: relative ones are relative to its folder.
    fn beside(&self, named: &Path) -> PathBuf {
        // An agent may go on in a store, which no folder has.
        if named.to_str().is_some_and(|text| text.contains("://")) {
            return named.to_owned();
        }
        self.file.path().parent().unwrap_or(Path::new("")).join(named)
    }

    /// Why the old entries of an anchor cannot be read; `None` if they can.
    pub fn missing(&mut self, anchor: &Anchor) -> Option<SqliteError> {
        self.archive(anchor).err()
    }

    /// The ledger in the file that the anchor names. It is opened once and then kept.
    ///
    /// # Errors
    /// If that file does not exist, or lacks some of the moved entries.
    pub fn archive(&mut self, anchor: &Anchor) -> Result<&mut Self, SqliteError> {
        let archive = match self.archive.take() {
            Some(archive) => archive,
            None => Box::new(
                self.open_archive(anchor)
                    .map_err(|why| SqliteError::NoArchive { anchor: anchor.clone(), why })?,
            ),
        };
        Ok(self.archive.insert(archive))
    }

    fn open_archive(&self, anchor: &Anchor) -> Result<Self, String> {
        let file = SqliteFile::open_read_only(&anchor.archive).map_err(|why| why.to_string())?;
        let mut archive = file.ledger(&self.agent_id);
        // A move that was cut short leaves copies behind the anchor, so the archive may be longer.
        match archive.head() {
            Ok(head) if head.seq >= anchor.head.seq => Ok(archive),
            Ok(_) => Err("it lacks some of them".to_owned()),
            Err(why) => Err(why.to_string()),
        }
    }

    /// Reads from the archive if the page begins there: this file no longer has those entries.
    pub(super) fn read_moved_out(
        &mut self,
        after: Seq,
        limit: u32,
    ) -> Result<Option<Vec<(EntryBytes, Seq)>>, LedgerError> {
        let Some(anchor) = self.anchor()?.filter(|anchor| after < anchor.head.seq) else {
            return Ok(None);
        };
        // Entries behind the anchor may be in the archive too, but they are not part of it yet.
        let left = u32::try_from(anchor.head.seq.0 - after.0).unwrap_or(limit);
        self.archive(&anchor)?.read_with_batches(after, limit.min(left)).map(Some)
    }

    /// Moves the entries up to `to`, which must end a batch, into the archive, and returns their
    /// number. They are copied first. Then one transaction removes them here and stores the anchor.
    /// If a process dies in between, the next call continues with what was copied. The archive is
    /// created if it does not exist.
    ///
    /// # Errors
    /// If a file cannot be used, the ledger is damaged, or the archive holds other entries of this
    /// agent.
    pub fn move_out(
        &mut self,
        to: Head,
        archive: &Path,
        mut done: impl FnMut(Seq),
    ) -> Result<u64, ArchiveError> {
        let named = self.anchor()?;
        // Checked before the file is opened, because opening creates it.
        self.may_be_archive(named.as_ref(), archive)?;
        let file = SqliteFile::open(archive)?;
        let begins = named.map_or(Head::START, |anchor| anchor.head);
        self.copy(begins, to, &file, &mut done)?;
        self.cut(begins, to, &as_named_by(self.file.path(), archive))?;
        Ok(to.seq.0 - begins.seq.0)
    }

    /// Checks that `archive` may take entries of a ledger with this anchor. Creates nothing.
    ///
    /// # Errors
    /// If the file is the ledger itself, cannot be named, or is not the archive of earlier moves.
    pub fn may_be_archive(
        &self,
        anchor: Option<&Anchor>,
        archive: &Path,
    ) -> Result<(), ArchiveError> {
        if canonical(self.file.path()) == canonical(archive) {
            return Err(ArchiveError::Itself(archive.to_owned()));
        }
        if archive.to_str().is_none() || canonical(archive).to_str().is_none() {
            return Err(ArchiveError::NoText(archive.to_owned()));
        }
        match anchor.filter(|anchor| canonical(&anchor.archive) != canonical(archive)) {
            Some(anchor) => Err(ArchiveError::Elsewhere { anchor: anchor.clone() }),
            None => Ok(()),
        }
    }

    fn copy(
        &mut self,
        begins: Head,
        to: Head,
        archive: &SqliteFile,
        done: &mut impl FnMut(Seq),
    ) -> Result<(), ArchiveError> {
        let (path, agent) = (archive.path().to_owned(), self.agent_id.clone());
        // Close the archive to other writers before copying. A live ledger is refused: it may be a
        // copy of this one whose beginning leads back here.
        let rest = as_named_by(archive.path(), self.file.path());
        if !archive.end(&agent, &rest.to_string_lossy())? {
            return Err(ArchiveError::Alive { path, agent });
        }
        let mut there = archive.ledger(&agent);
        let mut there =
            if there.head()?.seq > to.seq { there.head_at(to.seq)? } else { there.head()? };
        // The archive lacks entries that were moved earlier, so nothing can be appended to it.
        if there.seq < begins.seq {
            return Err(ArchiveError::OtherHistory { path, agent });
        }
        let mut at = begins;
        while at.seq < to.seq {
            let limit = u32::try_from(to.seq.0 - at.seq.0).unwrap_or(PAGE).min(PAGE);
            let entries = self.read_with_batches(at.seq, limit)?;
            let mut rows = Vec::with_capacity(entries.len());
            for (bytes, batch) in &entries {
                at = bytes.open(&at)?.head();
                if at.seq == there.seq && at.chain != there.chain {
                    return Err(ArchiveError::OtherHistory { path, agent });
                }
                // An earlier move that was cut short may have copied this entry already.
                if at.seq > there.seq {
                    rows.push(Row::new(bytes, at.seq, *batch)?);
                }
            }
            if entries.is_empty() {
                return Err(ArchiveError::Changed(to.seq));
            }
            if !rows.is_empty() {
                if !archive.receive(&agent, &there, &rows)? {
                    return Err(ArchiveError::Changed(at.seq));
                }
                there = at;
            }
            done(at.seq);
        }
        if at == to { Ok(()) } else { Err(ArchiveError::Changed(to.seq)) }
    }

    /// The head at this entry; [`Head::START`] if there is no such entry.
    fn head_at(&mut self, seq: Seq) -> Result<Head, LedgerError> {
        let found = self.read(Seq(seq.0.saturating_sub(1)), 1)?;
        Ok(found
            .first()
            .and_then(EntryBytes::split)
            .map_or(Head::START, |(_, chain)| Head { seq, chain }))
    }

    /// Removes the entries that were copied.
    fn cut(&mut self, begins: Head, to: Head, archive: &Path) -> Result<(), ArchiveError> {
        let Some(agent) = self.agent else { return Err(ArchiveError::Changed(to.seq)) };
        let archive = archive.to_string_lossy();
        let done =
            self.file.call("archive", |connection| cut(connection, agent, begins, to, &archive))?;
        // The archive has more entries now, so it is opened anew on the next read.
        self.archive = None;
        if done { Ok(()) } else { Err(ArchiveError::Changed(to.seq)) }
    }
}

impl SqliteFile {
    /// Makes this file the archive of an agent whose ledger continues in `goes_on_in`. Returns
    /// `false` if the file holds a live ledger of the agent.
    pub(in crate::ledger) fn end(
        &self,
        agent_id: &AgentId,
        goes_on_in: &str,
    ) -> Result<bool, SqliteError> {
        self.call("append to", |connection| {
            let mut statement = connection.prepare_cached(
                "INSERT INTO agents (agent_id, goes_on_in) VALUES (?1, ?2)
                 ON CONFLICT (agent_id) DO UPDATE SET goes_on_in = excluded.goes_on_in WHERE \
                 goes_on_in IS NOT NULL",
            )?;
            Ok(statement.execute([agent_id.as_str(), goes_on_in])? == 1)
        })
    }

    /// Says that an agent with this head goes on elsewhere. Returns `false` if it has another head.
    pub(in crate::ledger) fn leave(
        &self,
        agent_id: &AgentId,
        expected: &Head,
        to: &str,
    ) -> Result<bool, SqliteError> {
        self.call("move an agent out of", |connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let Some(agent) = number(&transaction, agent_id)? else { return Ok(false) };
            if head(&transaction, agent)? != *expected {
                return Ok(false);
            }
            transaction
                .prepare_cached("UPDATE agents SET goes_on_in = ?2 WHERE agent = ?1")?
                .execute(params![agent, to])?;
            transaction.commit()?;
            Ok(true)
        })
    }

    /// Says that an agent has arrived from there, and lives here from now on.
    pub(in crate::ledger) fn settle(
        &self,
        agent_id: &AgentId,
        from: &str,
    ) -> Result<(), SqliteError> {
        self.call("move an agent into", |connection| {
            connection
                .prepare_cached(
                    "UPDATE agents SET goes_on_in = NULL WHERE agent_id = ?1 AND goes_on_in = ?2",
                )?
                .execute([agent_id.as_str(), from])
                .map(drop)
        })
    }

    /// Stores moved entries in this archive. Returns `false` if it has another head.
    pub(in crate::ledger) fn receive(
        &self,
        agent_id: &AgentId,
        expected: &Head,
        rows: &[Row],
    ) -> Result<bool, SqliteError> {
        self.call("append to", |connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let known = number(&transaction, agent_id)?;
            let appended = insert(&transaction, agent_id, known, expected, rows)?;
            transaction.commit()?;
            Ok(matches!(appended, Appended::By(_)))
        })
    }

    /// Returns unused space to the disk. Returns `false` if another process holds the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn shrink(&self) -> Result<bool, SqliteError> {
        let done = self.call("shrink", |connection| {
            connection.execute_batch("VACUUM")?;
            // In WAL mode the file itself shrinks only at the next checkpoint.
            connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
                .map(|is_busy| is_busy == 0)
        });
        done.or_else(
            |why| if matches!(why, SqliteError::Busy { .. }) { Ok(false) } else { Err(why) },
        )
    }
}

fn stored(connection: &Connection, agent: i64) -> rusqlite::Result<Option<(Head, PathBuf)>> {
    // Files of schema version 1 have no anchors, and an observer does not migrate them.
    if !schema::has_table(connection, "anchors")? {
        return Ok(None);
    }
    let mut statement =
        connection.prepare_cached("SELECT seq, chain, archive FROM anchors WHERE agent = ?1")?;
    let anchor = |row: &rusqlite::Row<'_>| {
        let head = Head { seq: seq(row, 0)?, chain: Chain::from_bytes(row.get(1)?) };
        Ok((head, PathBuf::from(row.get::<_, String>(2)?)))
    };
    statement.query_row([agent], anchor).optional()
}

fn goes_on_in(connection: &Connection, agent: i64) -> rusqlite::Result<Option<String>> {
    // As in `stored`: files of schema version 1 lack the column too.
    if !schema::has_table(connection, "anchors")? {
        return Ok(None);
    }
    connection
        .prepare_cached("SELECT goes_on_in FROM agents WHERE agent = ?1")?
        .query_row([agent], |row| row.get(0))
}

/// Removes the entries up to `to` and the snapshots among them. Returns `false` if the ledger has
/// changed since the copy, or has no snapshot for the rest to begin with.
fn cut(
    connection: &mut Connection,
    agent: i64,
    begins: Head,
    to: Head,
    archive: &str,
) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let begun = stored(&transaction, agent)?.map_or(Head::START, |(head, _)| head);
    let newest = page(&transaction, agent, position(to.seq) - 1, 1)?;
    let newest = newest.as_ref().and_then(|page| page.entries.first());
    let is_there =
        newest.and_then(|(bytes, _)| bytes.split()).is_some_and(|(_, chain)| chain == to.chain);
    let snapshots: i64 = transaction
        .prepare_cached("SELECT count(*) FROM snapshots WHERE agent = ?1 AND seq > ?2")?
        .query_row(params![agent, position(to.seq)], |row| row.get(0))?;
    // Another process archived first, or the ledger has changed: then the copy is not what is here.
    if begun != begins || !is_there || snapshots == 0 {
        return Ok(false);
    }
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO anchors (agent, seq, chain, archive) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![agent, position(to.seq), to.chain.as_bytes(), archive])?;
    for table in [
        "DELETE FROM entries WHERE agent = ?1 AND seq <= ?2",
        "DELETE FROM snapshots WHERE agent = ?1 AND seq <= ?2",
    ] {
        transaction.prepare_cached(table)?.execute(params![agent, position(to.seq)])?;
    }
    transaction.commit()?;
    Ok(true)
}

/// How one file names another: a file in the same folder by its name alone, so that the folder can
/// be moved.
fn as_named_by(file: &Path, other: &Path) -> PathBuf {
    let [file, other] = [file, other].map(canonical);
    let beside = other.file_name().filter(|_| file.parent() == other.parent()).map(PathBuf::from);
    beside.unwrap_or(other)
}

/// The path to compare files by; a file that does not exist keeps the path that was given.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// INVARIANT: positions come from the table, where they are i64.
fn position(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}
