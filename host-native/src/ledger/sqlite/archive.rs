//! The beginning of a ledger in another file: what was moved out, where the rest begins, and
//! reading on over the border (contract 3.4, 3.5).
//!
//! The anchor is the head of what was moved: the first entry of the rest continues its chain. The
//! file that it names is a file of ledgers like any other, in which the ledger ends there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use wakeful_core::{AgentId, Chain, EntryBytes, EntryError, Head, Ledger, LedgerError, Seq};

use super::{
    SqliteError, SqliteFile,
    ledger::{Appended, Row, SqliteLedger, insert, number, page, seq},
};

/// How many entries are moved in one transaction.
const PAGE: u32 = 1024;

/// Where the beginning of a ledger is, and what the rest continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The newest entry that was moved out.
    pub head: Head,
    /// The file of ledgers that has the entries up to it.
    pub archive: PathBuf,
}

/// Why the beginning of a ledger was not moved. Whatever was copied, the ledger is as it was.
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
    /// The archive has something else of this agent.
    #[error("`{}` has another history of agent `{agent}`: name a file that has none", path.display())]
    OtherHistory {
        /// The archive.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
    },
    /// The archive would be a ledger that goes on by itself.
    #[error("`{}` has a ledger of agent `{agent}` that goes on by itself, and is no archive: name a file that has none", path.display())]
    Alive {
        /// The archive.
        path: PathBuf,
        /// The agent.
        agent: AgentId,
    },
    /// What was moved earlier is elsewhere.
    #[error("the entries up to {} are in `{}` already: name that file, in which the next ones continue them", anchor.head.seq, anchor.archive.display())]
    Elsewhere {
        /// Where it is.
        anchor: Anchor,
    },
    /// The ledger could not name the archive.
    #[error("`{}` is no text, so the ledger cannot name it: name another file", .0.display())]
    NoText(PathBuf),
    /// The archive would be the ledger itself.
    #[error("`{}` is the ledger itself: name another file", .0.display())]
    Itself(PathBuf),
    /// The ledger is another one than it was a moment ago.
    #[error(
        "entry {0} is not what it was a moment ago: somebody else archives this ledger; try again"
    )]
    Changed(Seq),
}

impl SqliteLedger {
    /// Where the beginning of this ledger is, where it was moved out.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn anchor(&mut self) -> Result<Option<Anchor>, LedgerError> {
        let stored = self.with("read", |connection, agent| {
            agent.map_or(Ok(None), |agent| stored(connection, agent))
        })?;
        Ok(stored.map(|(head, archive)| Anchor { head, archive: self.beside(&archive) }))
    }

    /// The file in which this ledger goes on, where this is its archive.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn goes_on_in(&mut self) -> Result<Option<PathBuf>, SqliteError> {
        let stored = self.with("read", |connection, agent| {
            agent.map_or(Ok(None), |agent| goes_on_in(connection, agent))
        })?;
        Ok(stored.map(|rest| self.beside(Path::new(&rest))))
    }

    /// Refuses an archive, as an append to it would.
    ///
    /// # Errors
    /// Where it is one, or the file cannot be read.
    pub fn require_alive(&mut self) -> Result<(), SqliteError> {
        self.goes_on_in()?.map_or(Ok(()), |rest| Err(self.ended(&rest)))
    }

    /// Why nothing is appended to this archive.
    pub(super) fn ended(&self, goes_on_in: &Path) -> SqliteError {
        SqliteError::Archive {
            path: self.file.path().to_owned(),
            agent: self.agent_id.clone(),
            goes_on_in: self.beside(goes_on_in),
        }
    }

    /// Another file, as it is named by this one.
    fn beside(&self, named: &Path) -> PathBuf {
        self.file.path().parent().unwrap_or(Path::new("")).join(named)
    }

    /// The ledger in the file that the anchor names.
    ///
    /// # Errors
    /// Where that file is not there, or has not all that was moved.
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
        // What was moved may be followed by a copy of more, where a move did not come to its end.
        match archive.head() {
            Ok(head) if head.seq >= anchor.head.seq => Ok(archive),
            Ok(_) => Err("it has not all of them".to_owned()),
            Err(why) => Err(why.to_string()),
        }
    }

    /// Reads what was moved out, where that is asked for: nothing of it is here.
    pub(super) fn read_moved_out(
        &mut self,
        after: Seq,
        limit: u32,
    ) -> Result<Option<Vec<(EntryBytes, Seq)>>, LedgerError> {
        let Some(anchor) = self.anchor()?.filter(|anchor| after < anchor.head.seq) else {
            return Ok(None);
        };
        // Whatever stands behind the anchor over there is not this ledger's.
        let left = u32::try_from(anchor.head.seq.0 - after.0).unwrap_or(limit);
        self.archive(&anchor)?.read_with_batches(after, limit.min(left)).map(Some)
    }

    /// Moves the entries up to `to`, at which a batch ends, into the archive; gives how many. First
    /// they are copied, then they are taken out in one transaction with the anchor: a process that
    /// dies between has copied, and the next one goes on from there. The archive is made where
    /// there is none.
    ///
    /// # Errors
    /// Where a file cannot be used, the ledger is damaged, or the archive has something else of
    /// this agent.
    pub fn move_out(
        &mut self,
        to: Head,
        archive: &Path,
        mut done: impl FnMut(Seq),
    ) -> Result<u64, ArchiveError> {
        let named = self.anchor()?;
        self.may_be_archive(named.as_ref(), archive)?;
        let file = SqliteFile::open(archive)?;
        let begins = named.map_or(Head::START, |anchor| anchor.head);
        self.copy(begins, to, &file, &mut done)?;
        self.cut(begins, to, &as_named_by(self.file.path(), archive))?;
        Ok(to.seq.0 - begins.seq.0)
    }

    /// Whether this file may get what is moved out of a ledger with this anchor; before anything is
    /// made.
    ///
    /// # Errors
    /// Why it may not.
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
        // First of all nobody else appends there. A ledger that goes on by itself is no archive of
        // this one: it may be a copy whose beginning leads back here.
        let rest = as_named_by(archive.path(), self.file.path());
        if !archive
            .end(&agent, &rest.to_string_lossy())
            .map_err(|why| SqliteError::new(&path, "append to", &why))?
        {
            return Err(ArchiveError::Alive { path, agent });
        }
        let mut there = archive.ledger(&agent);
        let mut there =
            if there.head()?.seq > to.seq { there.head_at(to.seq)? } else { there.head()? };
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
                // What an earlier try has copied stands there already.
                if at.seq > there.seq {
                    rows.push(Row::new(bytes, at.seq, *batch)?);
                }
            }
            if entries.is_empty() {
                return Err(ArchiveError::Changed(to.seq));
            }
            if !rows.is_empty() {
                let appended = archive
                    .receive(&agent, &there, &rows)
                    .map_err(|why| SqliteError::new(&path, "append to", &why))?;
                if !matches!(appended, Appended::By(_)) {
                    return Err(ArchiveError::Changed(at.seq));
                }
                there = at;
            }
            done(at.seq);
        }
        if at == to { Ok(()) } else { Err(ArchiveError::Changed(to.seq)) }
    }

    /// The entry at this place; [`Head::START`] where there is none.
    fn head_at(&mut self, seq: Seq) -> Result<Head, LedgerError> {
        let found = self.read(Seq(seq.0.saturating_sub(1)), 1)?;
        Ok(found
            .first()
            .and_then(EntryBytes::split)
            .map_or(Head::START, |(_, chain)| Head { seq, chain }))
    }

    /// Takes out what was copied.
    fn cut(&mut self, begins: Head, to: Head, archive: &Path) -> Result<(), ArchiveError> {
        let Some(agent) = self.agent else { return Err(ArchiveError::Changed(to.seq)) };
        let failed = |why| SqliteError::new(self.file.path(), "archive", &why);
        let done = cut(&mut self.file.connection(), agent, begins, to, &archive.to_string_lossy())
            .map_err(failed)?;
        self.archive = None;
        if done { Ok(()) } else { Err(ArchiveError::Changed(to.seq)) }
    }
}

impl SqliteFile {
    /// Makes this the archive of an agent, whose ledger goes on in that file; no where it has a
    /// ledger of the agent that is none.
    fn end(&self, agent_id: &AgentId, goes_on_in: &str) -> rusqlite::Result<bool> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(
            "INSERT INTO agents (agent_id, goes_on_in) VALUES (?1, ?2)
             ON CONFLICT (agent_id) DO UPDATE SET goes_on_in = excluded.goes_on_in WHERE \
             goes_on_in IS NOT NULL",
        )?;
        Ok(statement.execute([agent_id.as_str(), goes_on_in])? == 1)
    }

    /// Stores entries that were moved out, in the archive that this is.
    fn receive(
        &self,
        agent_id: &AgentId,
        expected: &Head,
        rows: &[Row],
    ) -> rusqlite::Result<Appended> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known = number(&transaction, agent_id)?;
        let appended = insert(&transaction, agent_id, known, expected, rows)?;
        transaction.commit()?;
        Ok(appended)
    }

    /// Gives back to the disk what is not used any more; no where another process holds the file.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn shrink(&self) -> Result<bool, SqliteError> {
        let connection = self.connection();
        let done = connection.execute_batch("VACUUM").and_then(|()| {
            connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
                .map(|is_busy| is_busy == 0)
        });
        done.or_else(|why| match SqliteError::new(&self.path, "shrink", &why) {
            SqliteError::Busy(_) => Ok(false),
            why => Err(why),
        })
    }
}

fn stored(connection: &Connection, agent: i64) -> rusqlite::Result<Option<(Head, PathBuf)>> {
    // A file of the first version has no anchors; who only reads migrates nothing.
    if !connection.table_exists(None, "anchors")? {
        return Ok(None);
    }
    let mut statement =
        connection.prepare_cached("SELECT seq, chain, archive FROM anchors WHERE agent = ?1")?;
    let anchor = |row: &rusqlite::Row<'_>| {
        let head = Head { seq: seq(row.get(0)?), chain: Chain::from_bytes(row.get(1)?) };
        Ok((head, PathBuf::from(row.get::<_, String>(2)?)))
    };
    statement.query_row([agent], anchor).optional()
}

fn goes_on_in(connection: &Connection, agent: i64) -> rusqlite::Result<Option<String>> {
    if !connection.column_exists(None, "agents", "goes_on_in")? {
        return Ok(None);
    }
    connection
        .prepare_cached("SELECT goes_on_in FROM agents WHERE agent = ?1")?
        .query_row([agent], |row| row.get(0))
}

/// Takes the entries up to `to` out, and the snapshots among them; no where the ledger is not as it
/// was when they were copied, or has no snapshot that the rest can begin with.
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

/// How a file names another one: one in the same folder by its name alone, so that the folder may
/// be moved.
fn as_named_by(file: &Path, other: &Path) -> PathBuf {
    let [file, other] = [file, other].map(canonical);
    let beside = other.file_name().filter(|_| file.parent() == other.parent()).map(PathBuf::from);
    beside.unwrap_or(other)
}

/// A path by which files are compared; one that is not there as it was named.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// INVARIANT: positions come from the table, where they are i64.
fn position(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}
