//! Layouts: the paths in fixtures and exports, and those in data folders of the reference runtime.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    foreign::{Folder, ForeignError},
    record::control::TornLine,
};
use wakeful_json::{self as json, JsonError, Part, sort as sorted};

/// A folder, and the paths of its layout.
pub(super) struct Layout<'a> {
    folder: &'a Folder,
    agent: &'static str,
    ledger: &'static str,
}

/// The lines of a class, and the torn line that was dropped from its end.
#[derive(Default)]
pub(super) struct Lines<'a> {
    pub(super) lines: Vec<Line<'a>>,
    pub(super) torn: Option<TornLine>,
}

/// The text of one record, and its place.
pub(super) struct Line<'a> {
    pub(super) file: String,
    pub(super) number: u64,
    /// The bytes before the text in its line, so that columns in errors are right.
    pub(super) indent: usize,
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// An error in this line, with its place in the file.
    pub(super) fn error(&self, why: JsonError) -> ForeignError {
        ForeignError::at(&self.file, self.number, why.shifted(self.indent))
    }
}

impl<'a> Layout<'a> {
    /// The layout of a folder: `.holon/state/agent.json` and `.holon/ledger/` if it has a `.holon`,
    /// else `agent.json` and `ledger/`.
    pub(super) fn new(folder: &'a Folder) -> Self {
        if folder.keys().any(|path| path.starts_with(".holon/")) {
            Self { folder, agent: ".holon/state/agent.json", ledger: ".holon/ledger/" }
        } else {
            Self { folder, agent: "agent.json", ledger: "ledger/" }
        }
    }

    /// Whether this is a data folder, which has no expectations.
    pub(super) fn is_data_folder(&self) -> bool {
        self.ledger.starts_with('.')
    }

    /// The path of the agent's file, and its text.
    pub(super) fn agent(&self) -> Result<(&'static str, &'a str), ForeignError> {
        let text = self
            .folder
            .get(self.agent)
            .ok_or_else(|| ForeignError::Missing { file: self.agent.into() })?;
        Ok((self.agent, text))
    }

    /// The names of the classes that have a file, in order.
    pub(super) fn classes(&self) -> Vec<&'a str> {
        let files = self.folder.keys().filter_map(|path| path.strip_prefix(self.ledger));
        let names = files
            .filter_map(|file| file.strip_suffix(".jsonl").or_else(|| file.strip_suffix(".json")));
        let mut classes: Vec<_> = names.filter(|name| !name.contains('/')).collect();
        sorted::sort_by(&mut classes, Ord::cmp);
        // A class may have both files; `lines` then reads `.jsonl`.
        classes.dedup();
        classes
    }

    /// The records of a class: the lines of `<class>.jsonl`, else the members of the array in
    /// `<class>.json`.
    pub(super) fn lines(&self, class: &str) -> Result<Lines<'a>, ForeignError> {
        let file = format!("{}{class}.jsonl", self.ledger);
        if let Some(text) = self.folder.get(&file) {
            return Ok(by_line(file, text));
        }
        let file = format!("{}{class}.json", self.ledger);
        match self.folder.get(&file) {
            Some(text) => members(&file, text),
            None => Ok(Lines::default()),
        }
    }
}

fn by_line(file: String, text: &str) -> Lines<'_> {
    let mut lines: Vec<_> = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| Line {
            file: file.clone(),
            number,
            indent: line.len() - line.trim_start().len(),
            text: line.trim(),
        })
        .collect();
    // contract 3.5: a writer that died in the middle of a line leaves no line end. A last line that
    // is JSON is complete even without one.
    let is_torn =
        !text.ends_with('\n') && lines.last().is_some_and(|line| !json::is_json(line.text));
    let torn = if is_torn { lines.pop() } else { None };
    Lines {
        lines,
        torn: torn.map(|line| TornLine { file, line: line.number, bytes: line.text.len() as u64 }),
    }
}

fn members<'a>(file: &str, text: &'a str) -> Result<Lines<'a>, ForeignError> {
    let members: Vec<Part> = json::read(text).map_err(|why| {
        let message = format!("expected an array of records: {why}");
        ForeignError::at(file, 1, JsonError { path: String::new(), message, ..why })
    })?;
    let lines = members.into_iter().map(|Part(place)| {
        let before = &text[..place.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let number = before.matches('\n').count() as u64 + 1;
        Line {
            file: file.to_string(),
            number,
            indent: place.start - line_start,
            text: &text[place],
        }
    });
    Ok(Lines { lines: lines.collect(), torn: None })
}
