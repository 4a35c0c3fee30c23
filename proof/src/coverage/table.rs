//! The tables of `cargo xtask coverage`.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    export::{Files, Measured},
    rows::Row,
    rules::Rule,
};
use xtask::stage::bold;

/// A number of things, and how many of them were executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) all: u64,
    pub(super) executed: u64,
}

impl Share {
    fn from_counts<'a>(counts: impl Iterator<Item = &'a u64>) -> Self {
        counts.fold(Self::default(), |sum, count| Self {
            all: sum.all + 1,
            executed: sum.executed + u64::from(*count > 0),
        })
    }

    /// In tenths of a per cent, rounded down, so that 100 % means that nothing is missing.
    pub(super) fn per_mille(self) -> u64 {
        (self.executed * 1000).checked_div(self.all).unwrap_or(1000)
    }

    fn plus(self, other: Self) -> Self {
        Self { all: self.all + other.all, executed: self.executed + other.executed }
    }
}

/// Lines, regions and functions of a file or of a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shares {
    pub(super) lines: Share,
    pub(super) regions: Share,
    pub(super) functions: Share,
}

impl Shares {
    fn from_file(file: &Measured) -> Self {
        Self {
            lines: Share::from_counts(file.lines.values()),
            regions: Share::from_counts(file.regions.values()),
            functions: Share::from_counts(file.functions.values()),
        }
    }

    /// All files below a folder.
    pub(super) fn below(files: &Files, folder: &str) -> Self {
        let inside = files.iter().filter(|(path, _)| path.starts_with(&format!("{folder}/")));
        inside.fold(Self::default(), |sum, (_, file)| {
            let one = Self::from_file(file);
            Self {
                lines: sum.lines.plus(one.lines),
                regions: sum.regions.plus(one.regions),
                functions: sum.functions.plus(one.functions),
            }
        })
    }
}

/// One line per file, and below the files one line for their folder.
pub(super) fn of_files(files: &Files, folders: &[&str]) -> String {
    let width = files.keys().map(String::len).max().unwrap_or(0);
    let head = format!(
        "{:width$}  {:>5} {:>7} {:>7}  {:>7} {:>7} {:>7}  {:>9} {:>7}",
        "file", "lines", "covered", "", "regions", "covered", "", "functions", "covered"
    );
    let line = |name: &str, shares: Shares| {
        format!(
            "{name:width$}  {:>5} {:>7} {:>7}  {:>7} {:>7} {:>7}  {:>9} {:>7}",
            shares.lines.all,
            shares.lines.executed,
            per_cent(shares.lines.per_mille()),
            shares.regions.all,
            shares.regions.executed,
            per_cent(shares.regions.per_mille()),
            shares.functions.all,
            shares.functions.executed,
        )
    };
    let mut text = format!("{}\n", bold(head));
    for folder in folders {
        for (path, file) in files.iter().filter(|(path, _)| path.starts_with(&format!("{folder}/")))
        {
            text.push_str(&line(path, Shares::from_file(file)));
            text.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", bold(line(folder, Shares::below(files, folder))));
    }
    text
}

/// `97.4 %`.
pub(super) fn per_cent(per_mille: u64) -> String {
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// The lines that were not executed, one line per file: `core/src/a.rs: 3-5, 9`.
pub(super) fn missed(files: &Files, folders: &[&str]) -> String {
    let mut text = String::new();
    for (path, file) in files
        .iter()
        .filter(|(path, _)| folders.iter().any(|folder| path.starts_with(&format!("{folder}/"))))
    {
        let spans = spans(file);
        if !spans.is_empty() {
            let _ = writeln!(text, "not executed: {path}: {}", spans.join(", "));
        }
    }
    text
}

fn spans(file: &Measured) -> Vec<String> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    let mut goes_on = false;
    for (line, count) in &file.lines {
        match spans.last_mut() {
            Some(last) if *count == 0 && goes_on => last.1 = *line,
            _ if *count == 0 => spans.push((*line, *line)),
            _ => {}
        }
        goes_on = *count == 0;
    }
    spans
        .iter()
        .map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") })
        .collect()
}

/// One line per rule: how often it decided, and the first test that names it.
pub(super) fn of_rules(rules: &[Rule], named: &BTreeMap<String, Vec<String>>) -> String {
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let mut text = format!("{}\n", bold(format!("{:width$}  {:>8}  named by", "rule", "decided")));
    for rule in rules {
        let tests = named.get(&rule.id).map_or(&[][..], Vec::as_slice);
        let by = match tests {
            [] => "-".to_owned(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first}, and {} more", rest.len()),
        };
        let _ = writeln!(text, "{:width$}  {:>8}  {by}", rule.id, count(rule.decided));
    }
    text
}

/// One line per row of a derivation.
pub(super) fn of_rows(name: &str, rows: &[Row]) -> String {
    let mut text = format!("{}\n", bold(format!("{:>8}  {name}", "reached")));
    for row in rows {
        let _ = writeln!(text, "{:>8}  {}", count(row.reached), row.id);
    }
    text
}

fn count(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        let file = |lines: &[(u64, u64)]| Measured {
            lines: lines.iter().copied().collect(),
            ..Measured::default()
        };
        Files::from([
            ("core/src/ladder/a.rs".to_owned(), file(&[(1, 1), (2, 0), (4, 0), (5, 3), (9, 0)])),
            ("core/src/ladder/b.rs".to_owned(), file(&[(1, 1)])),
            ("core/src/derive/c.rs".to_owned(), file(&[(1, 1)])),
        ])
    }

    #[test]
    fn a_folder_is_the_sum_of_its_files() {
        let shares = Shares::below(&files(), "core/src/ladder");
        assert_eq!(shares.lines, Share { all: 6, executed: 3 });
        assert_eq!(shares.lines.per_mille(), 500);
        assert_eq!(Share { all: 3, executed: 2 }.per_mille(), 666, "rounded down");
        assert_eq!(Share::default().per_mille(), 1000, "nothing is missing of nothing");
        let table =
            anstream::adapter::strip_str(&of_files(&files(), &["core/src/ladder"])).to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4, "a head, two files, the folder: {table}");
        assert!(lines[1].starts_with("core/src/ladder/a.rs      5       2  40.0 %"), "{table}");
        assert!(lines[3].starts_with("core/src/ladder           6       3  50.0 %"), "{table}");
    }

    #[test]
    fn lines_that_were_not_executed_are_spans() {
        assert_eq!(
            missed(&files(), &["core/src/ladder"]),
            "not executed: core/src/ladder/a.rs: 2-4, 9\n"
        );
        assert_eq!(missed(&files(), &["core/src/derive"]), "");
    }

    #[test]
    fn a_rule_shows_its_first_test() {
        let rules = [
            Rule { id: "1.stopped".to_owned(), decided: Some(3) },
            Rule { id: "8.timer".to_owned(), decided: Some(0) },
            Rule { id: "9.sleep".to_owned(), decided: None },
        ];
        let named = BTreeMap::from([
            ("1.stopped".to_owned(), vec!["a.txt".to_owned(), "b.txt".to_owned()]),
            ("8.timer".to_owned(), vec!["c.txt".to_owned()]),
        ]);
        let table = anstream::adapter::strip_str(&of_rules(&rules, &named)).to_string();
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "1.stopped         3  a.txt, and 1 more",
                "8.timer           0  c.txt",
                "9.sleep           ?  -"
            ]
        );
    }
}
