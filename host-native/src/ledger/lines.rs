//! Ledgers as text: one stored entry per line, as `wakeful log --json` prints them and the
//! workbench exports them.

use std::{
    fs::File,
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use wakeful_core::{
    AgentId, ControlRecord, EntryBytes, Head, Ledger, LedgerError, OpenError, Record,
};

use super::{SqliteFile, SqliteLedger};
use crate::text;

/// Why a ledger in text form cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LinesError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: io::Error,
    },
    /// The first entry does not begin a ledger.
    #[error("`{}`, line 1: {why}", path.display())]
    Beginning {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: OpenError,
    },
    /// A line is not an entry.
    #[error("`{}`, line {line}: not a whole entry; each entry ends with its chain", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
    },
    /// The ledger cannot be copied into memory.
    #[error("cannot hold `{}` in memory: {why}", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// Why the copy failed.
        why: LedgerError,
    },
}

/// Reads a ledger in text form into memory, for inspection. Entries appended to it are lost when it
/// is dropped. The text does not show the batches, so all entries count as one batch. Opening the
/// agent verifies the chain, as for any ledger.
///
/// # Errors
/// If the file cannot be read or is not a ledger.
pub fn read_lines(path: &Path) -> Result<(AgentId, SqliteLedger), LinesError> {
    let unread = |why| LinesError::Io { path: path.to_owned(), why };
    let file = File::open(path).map_err(unread)?;
    let mut entries = Vec::new();
    for (read, line) in text::lines(BufReader::new(file)).zip(1..) {
        let text = read.map_err(unread)?;
        if text.trim().is_empty() {
            continue;
        }
        let entry = EntryBytes::from_stored(text);
        if entry.split().is_none() {
            return Err(LinesError::Line { path: path.to_owned(), line });
        }
        entries.push(entry);
    }
    let agent_id = agent_of(entries.first())
        .map_err(|why| LinesError::Beginning { path: path.to_owned(), why })?;
    let unheld = |why| LinesError::Memory { path: path.to_owned(), why };
    let mut ledger =
        SqliteFile::in_memory(path).map_err(|why| unheld(why.into()))?.ledger(&agent_id);
    ledger.append(&Head::START, &entries).map_err(unheld)?;
    Ok((agent_id, ledger))
}

/// The agent that the first entry names.
fn agent_of(first: Option<&EntryBytes>) -> Result<AgentId, OpenError> {
    let opened = first.map(|bytes| bytes.open(&Head::START)).transpose()?;
    match opened.map(|entry| entry.record) {
        Some(Record::Control(ControlRecord::Genesis(genesis))) => Ok(genesis.agent_id),
        _ => Err(OpenError::NoGenesis),
    }
}
