//! Foreign ledgers: folders of text in, records out (contract 3.7). No file is opened here; a host gives paths and texts.

pub mod expected;
mod short;

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};

use serde::Serialize;

use crate::{
    entry::{Class, Record},
    host::ErrorPlace,
    json::JsonError,
    time::Timestamp,
};

/// The newest version of the fixture format that is read; a folder says its own in `agent.json` and `expected.json`.
pub const FIXTURE_FORMAT: u32 = 1;

/// The texts of a folder, by path relative to it, with `/` between names.
pub type Folder = BTreeMap<String, String>;

/// Why a folder cannot be imported: which file, where in it, what is wrong and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "error", rename_all = "snake_case")]
pub enum ForeignError {
    /// The folder is no fixture.
    #[error("`{file}` is missing: a fixture folder has `agent.json`, `expected.json` and `ledger/<class>.jsonl`")]
    Missing {
        /// What is missing.
        file: String,
    },
    /// A line, or a whole file, cannot be read.
    #[error("{file}:{line}:{column}: {message}{}", FieldSuffix(path))]
    Malformed {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column in bytes, from 1.
        column: u64,
        /// The field; empty where the whole line is meant.
        path: String,
        /// What is wrong and what was expected.
        message: String,
    },
    /// The folder is newer than this program.
    #[error("{file}: fixture format {found} is newer than {supported}, the newest that this program reads")]
    NewerFormat {
        /// The file that says so.
        file: String,
        /// Its format.
        found: u32,
        /// The newest that is read.
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

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> Option<ErrorPlace> {
        match self {
            Self::Malformed { file, line, column, path, .. } => {
                Some(ErrorPlace { file: Some(file.clone()), line: *line, column: *column, path: path.clone() })
            }
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

/// What a folder becomes: records in the order in which they are written (contract 3.7).
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    records: Vec<Record>,
}

impl Import {
    pub(crate) fn into_records(self) -> Vec<Record> {
        self.records
    }

    /// Reads a fixture folder in the short form (`observed-decisions.md` section 11). Records that have no time of their own get
    /// increasing ones from `from` on.
    ///
    /// # Errors
    /// The first file or line that cannot be read.
    pub fn of_fixture(folder: &Folder, from: Timestamp) -> Result<Self, ForeignError> {
        let mut records = short::agent(folder)?;
        for class in Class::ALL {
            for line in lines(folder, *class)? {
                let at = from.plus_ms(records.len() as u64);
                let made = short::record(*class, line.text, at)
                    .map_err(|why| ForeignError::at(&line.file, line.number, why.shifted(line.indent)))?;
                records.extend(made);
            }
        }
        Ok(Self { records })
    }
}

struct Line<'a> {
    file: String,
    number: u64,
    indent: usize,
    text: &'a str,
}

/// The records of a class: the lines of `ledger/<class>.jsonl`, else the members of the array in `ledger/<class>.json`.
fn lines(folder: &Folder, class: Class) -> Result<Vec<Line<'_>>, ForeignError> {
    let file = format!("ledger/{}.jsonl", class.as_str());
    if let Some(text) = folder.get(&file) {
        let numbered = text.lines().zip(1..);
        return Ok(numbered
            .filter(|(line, _)| !line.trim().is_empty())
            .map(|(line, number)| Line { file: file.clone(), number, indent: line.len() - line.trim_start().len(), text: line.trim() })
            .collect());
    }
    let file = format!("ledger/{}.json", class.as_str());
    let Some(text) = folder.get(&file) else {
        return Ok(Vec::new());
    };
    let members: Vec<&serde_json::value::RawValue> = serde_json::from_str(text).map_err(|why| {
        ForeignError::at(
            &file,
            1,
            JsonError {
                path: String::new(),
                line: why.line() as u64,
                column: why.column() as u64,
                message: format!("expected an array of records: {why}"),
            },
        )
    })?;
    Ok(members
        .into_iter()
        .map(|member| {
            let offset = (member.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            let before = text.get(..offset).unwrap_or_default();
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            Line { file: file.clone(), number: before.matches('\n').count() as u64 + 1, indent: offset - line_start, text: member.get() }
        })
        .collect())
}
