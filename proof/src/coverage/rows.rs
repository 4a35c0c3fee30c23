//! The rows of closure and continuation, read from their source, with the execution count of each
//! verdict.

use super::export::Files;

/// A derivation that is written as a table of rows.
#[derive(Debug)]
pub(super) struct Derivation {
    pub(super) name: &'static str,
    file: &'static str,
}

/// All of them.
pub(super) const DERIVATIONS: [Derivation; 2] = [
    Derivation { name: "closure", file: "core/src/derive/closure.rs" },
    Derivation { name: "continuation", file: "core/src/derive/continuation.rs" },
];

/// The first lines of a table and of a row.
const TABLE: &str = "pub static ROWS: [";
const ROW: &str = "    Row::new(";

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) line: u64,
    /// The execution count of its verdict. `None` if no region of code is there.
    pub(super) reached: Option<u64>,
}

impl Derivation {
    /// Its rows, in order. Empty if the table is not in this file any more.
    pub(super) fn rows(&self, files: &Files, text_of: impl Fn(&str) -> String) -> Vec<Row> {
        let Some(measured) = files.get(self.file) else { return Vec::new() };
        let text = text_of(self.file);
        let lines: Vec<&str> = text.lines().collect();
        let Some(start) = lines.iter().position(|line| line.starts_with(TABLE)) else {
            return Vec::new();
        };
        let end = lines[start..]
            .iter()
            .position(|line| *line == "];")
            .map_or(lines.len(), |at| start + at);
        let starts: Vec<usize> =
            (start..end).filter(|index| lines[*index].starts_with(ROW)).collect();
        // A row ends where the next one begins.
        let ends = starts.iter().skip(1).copied().chain([end]);
        starts
            .iter()
            .zip(ends)
            .map(|(start, end)| {
                let id = lines[*start..end]
                    .iter()
                    .find_map(|line| line.split('"').nth(1))
                    .unwrap_or_default()
                    .to_owned();
                let reached =
                    verdict(&lines, *start..end).and_then(|place| measured.executed_at(place));
                Row { id, line: *start as u64 + 1, reached }
            })
            .collect()
    }

    /// The place of the table, for messages.
    pub(super) fn place(&self) -> String {
        format!("`ROWS` of {}", self.file)
    }
}

/// The begin of the body of a row's last closure: line and column, from 1.
fn verdict(lines: &[&str], row: std::ops::Range<usize>) -> Option<(u64, u64)> {
    row.rev().find_map(|index| lines[index].rfind("| ").map(|at| (index as u64 + 1, at as u64 + 3)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::coverage::export::{Measured, Regions};

    const TEXT: &str = "\
static OTHERS: [Row; 1] = [
    Row::new(\"other\", |_| true, |_| closed()),
];
pub static ROWS: [Row; 3] = [
    Row::new(\"error\", |facts| facts.error || facts.worse, |_| closed(Failed)),
    // contract D2
    Row::new(
        \"time\",
        |facts| facts.time,
        |_| waits(Time).saying(\"soon\"),
    ),
    Row::new(\"completed\", |_| true, |_| closed(Completed)),
];
";

    fn rows(text: &str, regions: Regions) -> Vec<Row> {
        let derivation = &DERIVATIONS[0];
        let files = Files::from([(
            derivation.file.to_owned(),
            Measured { regions, ..Measured::default() },
        )]);
        derivation.rows(&files, |_| text.to_owned())
    }

    #[test]
    fn a_row_has_its_id_and_how_often_its_verdict_was_given() {
        let regions = BTreeMap::from([
            (((5, 61), (5, 75)), 4),
            (((5, 31), (5, 57)), 9),
            (((10, 13), (10, 40)), 0),
        ]);
        let found: Vec<(String, u64, Option<u64>)> =
            rows(TEXT, regions).into_iter().map(|row| (row.id, row.line, row.reached)).collect();
        let expected = [("error", 5, Some(4)), ("time", 7, Some(0)), ("completed", 12, None)];
        assert_eq!(found, expected.map(|(id, line, reached)| (id.to_owned(), line, reached)));
    }

    #[test]
    fn a_table_that_is_not_there_has_no_rows() {
        assert_eq!(
            rows(
                "pub static CELLS: [Row; 1] = [\n\
                 \x20   Row::new(\"other\", |_| true, |_| closed()),\n\
                 ];\n",
                BTreeMap::new()
            ),
            []
        );
    }
}
