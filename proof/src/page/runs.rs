//! The last run of each method: command, commit, duration and numbers.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use super::RUNS;
use xtask::{call::Failure, paths::Paths};

/// One run of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// The command line.
    pub(crate) line: String,
    /// The commit of the tree.
    pub(crate) commit: String,
    pub(crate) seconds: u64,
    /// The lines with its numbers.
    pub(crate) numbers: Vec<String>,
}

/// The last run of each method, by its name.
pub(crate) type Runs = BTreeMap<String, Ran>;

/// Reads the text of the file.
pub(crate) fn read(text: &str) -> Result<Runs, String> {
    let runs: BTreeMap<String, Value> =
        serde_json::from_str(text).map_err(|why| format!("{RUNS}: {why}"))?;
    runs.into_iter()
        .map(|(name, run)| {
            parse(&run)
                .map(|run| (name.clone(), run))
                .ok_or_else(|| format!("{RUNS}: {name} is not a run"))
        })
        .collect()
}

fn parse(run: &Value) -> Option<Ran> {
    let text = |name: &str| run[name].as_str().map(str::to_owned);
    let numbers = run["numbers"]
        .as_array()?
        .iter()
        .map(|line| line.as_str().map(str::to_owned))
        .collect::<Option<_>>()?;
    Some(Ran {
        line: text("line")?,
        commit: text("commit")?,
        seconds: run["seconds"].as_u64()?,
        numbers,
    })
}

/// Stores the run of one method.
pub(crate) fn keep(paths: &Paths, name: &str, run: &Ran) -> Result<(), Failure> {
    let file = paths.at(RUNS);
    let mut runs = match fs::read_to_string(&file) {
        Ok(text) => read(&text).map_err(Failure::new)?,
        // No run was stored yet.
        Err(_) => Runs::new(),
    };
    runs.insert(name.to_owned(), run.clone());
    fs::write(&file, write(&runs))
        .map_err(|why| Failure::new(format!("cannot write {RUNS}: {why}")))
}

fn write(runs: &Runs) -> String {
    let value = |run: &Ran| json!({"line": run.line, "commit": run.commit, "seconds": run.seconds, "numbers": run.numbers});
    let all: BTreeMap<&String, Value> = runs.iter().map(|(name, run)| (name, value(run))).collect();
    // Texts and numbers always serialise.
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_as_they_were_written() {
        let ran = Ran {
            line: "a --b 1".into(),
            commit: "c".into(),
            seconds: 7,
            numbers: vec!["8 \"x\"".into(), "9".into()],
        };
        let runs = Runs::from([
            ("one".to_owned(), ran.clone()),
            ("two".to_owned(), Ran { numbers: Vec::new(), ..ran }),
        ]);
        assert_eq!(read(&write(&runs)), Ok(runs));
        assert!(
            read(r#"{"one": {"line": "a"}}"#).is_err_and(|why| why.ends_with("one is not a run"))
        );
        assert!(read("[]").is_err_and(|why| why.starts_with(RUNS)));
    }
}
