//! The measured coverage per file, from the two exports of llvm-cov that cargo-llvm-cov writes.
//!
//! Lines come from the lcov text, because there llvm-cov itself says which lines count. Regions and
//! functions come from the JSON. A function in several binaries, or with several instances, counts
//! once; it was executed if any of them was.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use xtask::{
    call::Failure,
    paths::Paths,
    tidy::test_parts::{self, TestParts},
};

/// A place in a file: line and column from 1.
pub(super) type Place = (u64, u64);

/// The regions of one file by begin and end, with their execution counts.
pub(super) type Regions = BTreeMap<(Place, Place), u64>;

/// The coverage of one file, without the items under `#[cfg(test)]`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Measured {
    /// Lines with code, with their execution counts.
    pub(super) lines: BTreeMap<u64, u64>,
    /// Regions: code that is executed as a whole.
    pub(super) regions: Regions,
    /// Functions and closures, by the begin of their first region.
    pub(super) functions: BTreeMap<Place, u64>,
}

/// All files by their paths from the root.
pub(super) type Files = BTreeMap<String, Measured>;

/// The kind of a region of code. The other kinds are gaps, macro expansions and skipped code.
const CODE: u64 = 0;

/// Reads the coverage of the files below some folders.
pub(super) fn read(
    paths: &Paths,
    lcov: &str,
    json: &str,
    folders: &[&str],
) -> Result<Files, Failure> {
    let mut files = Files::new();
    add_lines(&mut files, paths.root(), lcov);
    add_functions(&mut files, paths.root(), json)?;
    files.retain(|path, _| folders.iter().any(|folder| path.starts_with(&format!("{folder}/"))));
    for (path, measured) in &mut files {
        let file = paths.at(path);
        let text = std::fs::read_to_string(&file)
            .map_err(|why| Failure::new(format!("cannot read {}: {why}", file.display())))?;
        measured.leave_out(&test_parts::in_rust(&text));
    }
    Ok(files)
}

fn relative(root: &Path, file: &Path) -> Option<String> {
    Some(file.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/"))
}

/// Adds the lines of an lcov text: `SF:<file>`, then `DA:<line>,<count>`.
fn add_lines(files: &mut Files, root: &Path, lcov: &str) {
    let mut current = None;
    for line in lcov.lines() {
        if let Some(file) = line.strip_prefix("SF:") {
            current = relative(root, Path::new(file));
        } else if let (Some(file), Some((number, count))) =
            (&current, line.strip_prefix("DA:").and_then(|rest| rest.split_once(',')))
        {
            // lcov allows a checksum after the count.
            let count = count.split(',').next().unwrap_or(count);
            if let (Ok(number), Ok(count)) = (number.parse(), count.parse::<u64>()) {
                // A file may occur once per binary, so the counts add up.
                *files.entry(file.clone()).or_default().lines.entry(number).or_default() += count;
            }
        }
    }
}

/// Adds the functions of a JSON export. Its regions are lists: first line and column, last line and
/// column, count, file, expanded file, kind.
fn add_functions(files: &mut Files, root: &Path, json: &str) -> Result<(), Failure> {
    let export: Value = serde_json::from_str(json)
        .map_err(|why| Failure::new(format!("llvm-cov did not write JSON: {why}")))?;
    for function in export["data"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|data| data["functions"].as_array())
        .flatten()
    {
        let read = add_function(files, root, function);
        read.ok_or_else(|| {
            Failure::new(format!(
                "llvm-cov's export is not as it was up to LLVM 22; it says {function}"
            ))
        })?;
    }
    // Otherwise a new form of the export would look like code without functions.
    if files.values().all(|file| file.functions.is_empty()) {
        return Err(Failure::new(
            "llvm-cov's export tells of no function in this tree; it is not as it was up to LLVM \
             22",
        ));
    }
    Ok(())
}

fn add_function(files: &mut Files, root: &Path, function: &Value) -> Option<()> {
    let names: Vec<&str> =
        function["filenames"].as_array()?.iter().filter_map(Value::as_str).collect();
    for (index, region) in function["regions"].as_array()?.iter().enumerate() {
        let numbers: Vec<u64> = region.as_array()?.iter().filter_map(Value::as_u64).collect();
        let &[from_line, from_column, to_line, to_column, count, file, _, kind] =
            numbers.as_slice()
        else {
            return None;
        };
        let file = names.get(usize::try_from(file).ok()?)?;
        // A region of a file elsewhere, such as of a dependency, is not ours.
        let Some(path) = relative(root, Path::new(file)) else { continue };
        let measured = files.entry(path).or_default();
        let from = (from_line, from_column);
        // The first region is the whole body, so its begin names the function.
        if index == 0 {
            *measured.functions.entry(from).or_default() += function["count"].as_u64()?;
        }
        if kind == CODE {
            *measured.regions.entry((from, (to_line, to_column))).or_default() += count;
        }
    }
    Some(())
}

impl Measured {
    fn leave_out(&mut self, tests: &TestParts) {
        let is_code = |line: u64| !usize::try_from(line).is_ok_and(|line| tests.contains(line));
        self.lines.retain(|line, _| is_code(*line));
        self.regions.retain(|((line, _), _), _| is_code(*line));
        self.functions.retain(|(line, _), _| is_code(*line));
    }

    /// The execution count of the innermost region around a place. `None` if there is no region.
    pub(super) fn executed_at(&self, place: Place) -> Option<u64> {
        let around = self.regions.iter().filter(|((from, to), _)| *from <= place && place < *to);
        // The innermost region begins last, and of those it ends first.
        around
            .max_by_key(|((from, to), _)| (*from, std::cmp::Reverse(*to)))
            .map(|(_, count)| *count)
    }

    /// The execution count of the first function that begins in this part of the file. `None` if
    /// none begins there.
    pub(super) fn first_function_in(&self, from: Place, to: Place) -> Option<u64> {
        self.functions.range(from..to).next().map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LCOV: &str = "SF:/tree/core/src/a.rs\n\
                        FN:1,f\n\
                        DA:1,2\n\
                        DA:2,0\n\
                        LF:2\n\
                        end_of_record\n\
                        SF:/elsewhere/b.rs\n\
                        DA:1,1\n\
                        end_of_record\n";

    fn json() -> String {
        let function = |count: u64, regions: &str| {
            format!(
                r#"{{"name":"f","count":{count},"branches":[],"filenames":["/tree/core/src/a.rs"],"regions":[{regions}]}}"#
            )
        };
        let first = function(2, "[1,1,9,2,2,0,0,0],[3,5,3,20,1,0,0,0],[4,1,4,9,7,0,0,3]");
        let again = function(3, "[1,1,9,2,3,0,0,0],[3,5,3,20,0,0,0,0]");
        let never = function(0, "[11,1,12,2,0,0,0,0]");
        format!(
            r#"{{"data":[{{"files":[],"functions":[{first},{again},{never}]}}],"version":"3.1.0"}}"#
        )
    }

    fn files() -> Files {
        let mut files = Files::new();
        add_lines(&mut files, Path::new("/tree"), LCOV);
        add_functions(&mut files, Path::new("/tree"), &json()).expect("an export");
        files
    }

    #[test]
    fn lines_regions_and_functions_are_summed_over_binaries() {
        let files = files();
        assert_eq!(
            files.keys().collect::<Vec<_>>(),
            ["core/src/a.rs"],
            "a file elsewhere is not ours"
        );
        let file = &files["core/src/a.rs"];
        assert_eq!(file.lines, BTreeMap::from([(1, 2), (2, 0)]));
        assert_eq!(
            file.regions,
            BTreeMap::from([
                (((1, 1), (9, 2)), 5),
                (((3, 5), (3, 20)), 1),
                (((11, 1), (12, 2)), 0)
            ])
        );
        assert_eq!(file.functions, BTreeMap::from([((1, 1), 5), ((11, 1), 0)]));
    }

    #[test]
    fn the_innermost_region_answers_for_a_place() {
        let file = &files()["core/src/a.rs"];
        assert_eq!(file.executed_at((2, 1)), Some(5));
        assert_eq!(file.executed_at((3, 5)), Some(1));
        assert_eq!(file.executed_at((3, 20)), Some(5), "a region ends before its end");
        assert_eq!(file.executed_at((10, 1)), None);
        assert_eq!(file.first_function_in((2, 1), (12, 1)), Some(0));
        assert_eq!(file.first_function_in((2, 1), (11, 1)), None);
    }

    #[test]
    fn tests_in_a_file_do_not_count() {
        let mut measured =
            Measured { lines: BTreeMap::from([(1, 1), (3, 1)]), ..Measured::default() };
        measured.regions = BTreeMap::from([(((1, 1), (1, 9)), 1), (((3, 1), (3, 9)), 1)]);
        measured.functions = BTreeMap::from([((1, 1), 1), ((3, 1), 1)]);
        measured.leave_out(&test_parts::in_rust("fn code() {}\n#[cfg(test)]\nmod tests {\n}\n"));
        assert_eq!(
            (measured.lines.len(), measured.regions.len(), measured.functions.len()),
            (1, 1, 1)
        );
    }

    #[test]
    fn an_export_of_another_shape_is_refused() {
        let region_of_seven = r#"{"data":[{"functions":[{"count":1,"filenames":["/tree/a.rs"],"regions":[[1,1,2,2,1,0,0]]}]}]}"#;
        for json in [r#"{"data":1}"#, region_of_seven] {
            assert!(
                add_functions(&mut Files::new(), Path::new("/tree"), json)
                    .is_err_and(|why| why.what.contains("LLVM 22")),
                "{json}"
            );
        }
    }
}
