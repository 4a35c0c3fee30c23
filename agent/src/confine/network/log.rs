//! The log of what commands asked the network for: one line of JSON per request.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use serde::Serialize;
use wakeful_core::{host::Clock, json};
use wakeful_host::clock::SystemClock;

/// The name of the file, and of the one before it.
const NAME: &str = "network.jsonl";
const NAME_BEFORE: &str = "network.before.jsonl";

/// The length at which a file is full. So the newest requests are always there, in at most twice
/// this length.
const FULL_BYTES: u64 = 4 << 20;

/// A request, and what became of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct Line<'a> {
    /// `None` if the request names none that can be read.
    pub(super) host: Option<&'a str>,
    pub(super) port: Option<u16>,
    pub(super) allowed: bool,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'a str>,
}

/// The line in the file, with its time before it.
#[derive(Serialize)]
struct Timed<'a> {
    at: String,
    #[serde(flatten)]
    line: &'a Line<'a>,
}

/// The file. It is opened for each line, because several agents may write to it and move it.
#[derive(Debug)]
pub(super) struct Log {
    file: PathBuf,
    before: PathBuf,
    full: u64,
}

impl Log {
    /// The log in a folder.
    pub(super) fn new(folder: &Path) -> Self {
        Self { file: folder.join(NAME), before: folder.join(NAME_BEFORE), full: FULL_BYTES }
    }

    /// Appends a line.
    pub(super) fn append(&self, line: &Line<'_>) -> io::Result<()> {
        if fs::metadata(&self.file).is_ok_and(|metadata| metadata.len() >= self.full) {
            fs::rename(&self.file, &self.before)?;
        }
        let at = SystemClock.now().to_string();
        let text = json::write(&Timed { at, line });
        // In one write, so that lines of two writers do not mix.
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.file)?;
        file.write_all(format!("{text}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_json_and_the_newest_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = Log { full: 200, ..Log::new(folder.path()) };
        for port in 1..=20 {
            let line = Line { host: Some("a.b"), port: Some(port), allowed: true, reason: None };
            log.append(&line).expect("it is written");
        }
        let odd = Line { host: None, port: None, allowed: false, reason: Some("\n\u{1b}\"") };
        log.append(&odd).expect("it is written");
        let read = |name| fs::read_to_string(folder.path().join(name)).expect("it is there");
        let all = read(NAME_BEFORE) + &read(NAME);
        let lines: Vec<serde_json::Value> =
            all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let last = lines.last().expect("a line");
        assert_eq!((&last["allowed"], &last["host"]), (&false.into(), &().into()));
        assert_eq!(last["reason"], "\n\u{1b}\"");
        assert!(last["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{last}");
        let ports: Vec<_> = lines.iter().filter_map(|line| line["port"].as_u64()).collect();
        assert!(ports.len() < 20 && ports.ends_with(&[18, 19, 20]), "{ports:?}");
        assert!(all.len() < 600, "the oldest are gone: {}", all.len());
    }
}
