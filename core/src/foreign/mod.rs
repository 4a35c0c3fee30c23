//! Foreign ledgers: folders of text in, records out, and back (contract 3.7). This module opens no
//! file; the host passes paths and texts.
//!
//! A folder is one of these:
//!
//! - a fixture: `agent.json`, `ledger/<class>.jsonl`, `expected.json`
//! - an export, which has the same layout
//! - a data folder of the reference runtime: `.holon/state/agent.json`,
//!   `.holon/ledger/<class>.jsonl`
//!
//! Each line is in the short form of fixtures or a full record; its keys tell which. A line of a
//! class without rules is carried: it becomes a record of the class `carried`, which names its
//! class, and an export writes it back unchanged. If the scheduler does read a record, fields that
//! it does not know are lost.

mod agent;
pub mod expected;
mod full;
mod import;
mod layout;
mod short;

use alloc::string::{String, ToString};

use serde::Serialize;

use crate::id::AgentId;
pub use crate::machine::import::Import;
use wakeful_json::{ErrorPlace, JsonError, Map};

/// The newest version of the fixture format that this program reads. `agent.json` and
/// `expected.json` of a folder have its version.
pub const FIXTURE_FORMAT: u32 = 1;

/// The texts of a folder, by relative path with `/` between names.
pub type Folder = Map<String, String>;

/// Why a folder cannot be imported: the file, the place in it, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ForeignError {
    /// The folder is not a fixture.
    #[error(
        "`{file}` is missing: a fixture folder has `agent.json`, `expected.json` and \
         `ledger/<class>.jsonl`, a data folder has `.holon/state/agent.json` and \
         `.holon/ledger/<class>.jsonl`"
    )]
    Missing {
        /// The path of the missing file.
        file: String,
    },
    /// A line or a whole file cannot be read.
    #[error("{file}:{line}:{column}: {message}{}", FieldSuffix(path))]
    Malformed {
        /// The path of the file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column in bytes, from 1.
        column: u64,
        /// The field; empty if the whole line is meant.
        path: String,
        /// What is wrong and what was expected.
        message: String,
    },
    /// The folder is newer than this program.
    #[error(
        "{file}: fixture format {found} is newer than {supported}, the newest that this program \
         reads"
    )]
    NewerFormat {
        /// The path of the file that names the format.
        file: String,
        /// The format of the folder.
        found: u32,
        /// The newest format that this program reads.
        supported: u32,
    },
}

struct FieldSuffix<'a>(&'a str);

impl core::fmt::Display for FieldSuffix<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, " (field `{}`)", self.0)
    }
}

impl ForeignError {
    fn at(file: &str, first_line: u64, why: JsonError) -> Self {
        Self::Malformed {
            file: file.to_string(),
            line: first_line + why.line.max(1) - 1,
            column: why.column.max(1),
            path: why.path,
            message: why.message,
        }
    }

    /// The place of the error; `None` if it concerns a whole file.
    #[must_use]
    pub fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Malformed { file, line, column, path, .. } => Some(ErrorPlace {
                file: Some(file.clone()),
                line: *line,
                column: *column,
                path: path.clone(),
            }),
            Self::Missing { .. } | Self::NewerFormat { .. } => None,
        }
    }

    fn newer(file: &str, found: u32) -> Result<(), Self> {
        if found <= FIXTURE_FORMAT {
            return Ok(());
        }
        Err(Self::NewerFormat { file: file.to_string(), found, supported: FIXTURE_FORMAT })
    }
}

/// The agent to which a folder belongs. A host opens the ledger for this agent before it imports.
///
/// # Errors
/// If the agent's file is missing or malformed.
pub fn agent_of(folder: &Folder) -> Result<AgentId, ForeignError> {
    Ok(agent::read(&layout::Layout::new(folder))?.agent_id)
}
