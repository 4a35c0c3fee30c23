//! The rows of closure and continuation, read from their source: each place where one of them gives its outcome, and whether it was reached.

use super::export::Files;

/// One derivation that is written as rows.
#[derive(Debug)]
pub(super) struct Derivation {
    pub(super) name: &'static str,
    file: &'static str,
    function: &'static str,
    /// What the outcome of a row begins with.
    outcomes: &'static [&'static str],
}

/// The derivations that are written as rows.
pub(super) const DERIVATIONS: [Derivation; 2] = [
    Derivation {
        name: "closure",
        file: "core/src/derive/closure.rs",
        function: "decide",
        outcomes: &["(Outcome::Failed", "(Outcome::Completed", "(Outcome::Continuable", "waiting(WaitingReason::"],
    },
    Derivation {
        name: "continuation",
        file: "core/src/derive/continuation.rs",
        function: "cell",
        outcomes: &["Class::", "Cell::keeps_alive("],
    },
];

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Its condition and its outcome, as they are written.
    pub(super) says: String,
    pub(super) line: u64,
    /// How often it was reached; nothing where no region of code is there.
    pub(super) reached: Option<u64>,
}

impl Derivation {
    /// Its rows, in order; none where the function is not where it was.
    pub(super) fn rows(&self, files: &Files, text_of: impl Fn(&str) -> String) -> Vec<Row> {
        let Some(measured) = files.get(self.file) else { return Vec::new() };
        let text = text_of(self.file);
        let lines: Vec<&str> = text.lines().collect();
        let opens = |line: &&str| line.split('(').next().is_some_and(|head| head.ends_with(&format!("fn {}", self.function)));
        let Some(start) = lines.iter().position(|line| !line.starts_with(' ') && opens(line)) else { return Vec::new() };
        let end = lines[start..].iter().position(|line| *line == "}").map_or(lines.len(), |at| start + at);
        let mut rows = Vec::new();
        for index in start + 1..end {
            let line = lines[index];
            let mut columns: Vec<usize> = self.outcomes.iter().flat_map(|outcome| line.match_indices(outcome).map(|(at, _)| at)).collect();
            columns.sort_unstable();
            for column in columns {
                let place = (index as u64 + 1, column as u64 + 1);
                let says = format!("{}: {}", condition(&lines[start..=index], column), outcome(&line[column..]));
                rows.push(Row { says, line: place.0, reached: measured.executed_at(place) });
            }
        }
        rows
    }

    /// Where it is, for messages.
    pub(super) fn place(&self) -> String {
        format!("`{}` of {}", self.function, self.file)
    }
}

/// The condition of an outcome that begins in this column of the last line: before `=>` or after `if` in the line, else of the block around.
fn condition(lines: &[&str], column: usize) -> String {
    let Some((line, above)) = lines.split_last() else { return String::new() };
    let before = &line[..column];
    if let Some((pattern, _)) = before.split_once(" =>") {
        return pattern.trim().to_owned();
    }
    if let Some((_, condition)) = before.split_once("if ") {
        let (condition, rest) = condition.split_once(" {").unwrap_or((condition, ""));
        return if rest.contains("else {") { format!("not {condition}") } else { condition.to_owned() };
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let around = above.iter().rev().find(|other| other.ends_with('{') && indent(other) < indent(line)).copied().unwrap_or_default();
    let head = around.trim().trim_start_matches("} ").trim_end_matches([' ', '{']);
    let head = head.split_once("if ").map_or(head, |(_, condition)| condition);
    head.trim_end_matches(" =>").to_owned()
}

/// The outcome as it is written, without what encloses it.
fn outcome(text: &str) -> String {
    let text = text.trim_start_matches('(').trim_start_matches("waiting(");
    let end = text.find(['(', ',', ')', ' ', ';']).unwrap_or(text.len());
    text[..end].rsplit("::").next().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::coverage::export::{Measured, Regions};

    const TEXT: &str = "\
fn other() {
    waiting(WaitingReason::Nothing)
}

pub fn decide(facts: &Facts) -> Closure {
    let waiting = |reason| (Outcome::Waiting, Some(reason));
    let (outcome, reason) = if facts.error {
        (Outcome::Failed, None)
    } else if let Some(kind) = facts.kind {
        evidence.push(kind);
        waiting(WaitingReason::Time)
    } else {
        match facts.current {
            Some(State::Task) => waiting(WaitingReason::Task),
            _ => {
                if facts.ended {
                    evidence.push(kind);
                }
                (Outcome::Completed, None)
            }
        }
    };
}
";

    fn rows(derivation: &Derivation, text: &str, regions: Regions) -> Vec<Row> {
        let files = Files::from([(derivation.file.to_owned(), Measured { regions, ..Measured::default() })]);
        derivation.rows(&files, |_| text.to_owned())
    }

    #[test]
    fn a_row_has_its_condition_its_outcome_and_its_count() {
        let regions = BTreeMap::from([(((5, 1), (23, 2)), 9), (((7, 42), (9, 6)), 4), (((14, 34), (14, 63)), 0)]);
        let found: Vec<(String, u64, Option<u64>)> =
            rows(&DERIVATIONS[0], TEXT, regions).into_iter().map(|row| (row.says, row.line, row.reached)).collect();
        let expected = [
            ("facts.error: Failed", 8, Some(4)),
            ("let Some(kind) = facts.kind: Time", 11, Some(9)),
            ("Some(State::Task): Task", 14, Some(0)),
            ("_: Completed", 19, Some(9)),
        ];
        assert_eq!(found, expected.map(|(says, line, reached)| (says.to_owned(), line, reached)));
    }

    #[test]
    fn both_sides_of_a_condition_in_one_line_are_rows() {
        let text = "fn cell() -> Cell {\n    let class = if enough { Class::Local } else { Class::Liveness };\n    match kind {\n        \
            _ if told => Cell::resumes(Class::Override, \"override\"),\n        _ => Cell::keeps_alive(false, \"x\"),\n    }\n}\n";
        let says: Vec<String> = rows(&DERIVATIONS[1], text, BTreeMap::new()).into_iter().map(|row| row.says).collect();
        assert_eq!(says, ["enough: Local", "not enough: Liveness", "_ if told: Override", "_: keeps_alive"]);
    }

    #[test]
    fn a_function_that_is_not_there_has_no_rows() {
        assert_eq!(rows(&DERIVATIONS[0], "fn decided() {\n    waiting(WaitingReason::Task)\n}\n", BTreeMap::new()), []);
    }
}
