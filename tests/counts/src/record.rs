//! The recorded counts, and how far new ones may differ.

use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::Path};

/// The count of each path: numbers, each with what it counts, as in `12 instructions, 3
/// allocations`.
pub type Counts = BTreeMap<String, String>;

/// The allowed difference in hundredths, for a new patch version of the compiler.
const TOLERANCE: u64 = 2;

/// Compares counts with the recorded ones, and prints what differs. With `bless` it records the new
/// ones. Whether they are equal enough.
///
/// # Errors
/// If the file cannot be read or written.
pub fn check(file: &Path, counts: &Counts, bless: bool) -> io::Result<bool> {
    if bless {
        let lines = counts.iter().fold(String::new(), |mut lines, (path, count)| {
            let _ = writeln!(lines, "{path}: {count}");
            lines
        });
        fs::write(file, lines)?;
    }
    let wrong = differences(&fs::read_to_string(file)?, counts);
    for line in &wrong {
        eprintln!("{line}");
    }
    if !wrong.is_empty() {
        eprintln!(
            "{} of {} counts differ from {}. If that is intended, record them with `cargo xtask \
             test --all --bless`, and say in the message of the commit what a higher count buys.",
            wrong.len(),
            counts.len(),
            file.display()
        );
    }
    Ok(wrong.is_empty())
}

fn differences(recorded: &str, counts: &Counts) -> Vec<String> {
    let recorded: Counts = recorded
        .lines()
        .filter_map(|line| line.rsplit_once(": "))
        .map(|(path, count)| (path.to_owned(), count.to_owned()))
        .collect();
    let gone = recorded.keys().filter(|path| !counts.contains_key(*path));
    let gone = gone.map(|path| format!("`{path}` is recorded, but was not counted"));
    let differ = counts.iter().filter_map(|(path, count)| match recorded.get(path) {
        None => Some(format!("`{path}` takes {count}, and nothing is recorded")),
        Some(before) if differ(before, count) => {
            Some(format!("`{path}` takes {count}, and {before} are recorded"))
        }
        Some(_) => None,
    });
    gone.chain(differ).collect()
}

fn differ(recorded: &str, counted: &str) -> bool {
    let (before, after) = (numbers(recorded), numbers(counted));
    before.len() != after.len()
        || before
            .iter()
            .zip(&after)
            .any(|(before, after)| before.abs_diff(*after) * 100 > before * TOLERANCE)
}

fn numbers(count: &str) -> Vec<u64> {
    count.split(' ').filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_may_differ_by_two_per_cent() {
        let counts = |text: &str| Counts::from([("explain".to_owned(), text.to_owned())]);
        let differ = |recorded: &str, counted: &str| {
            !differences(&format!("explain: {recorded}"), &counts(counted)).is_empty()
        };
        assert!(!differ("1000 instructions, 100 allocations", "1020 instructions, 98 allocations"));
        assert!(differ("1000 instructions, 100 allocations", "1021 instructions, 100 allocations"));
        assert!(differ("1000 instructions, 100 allocations", "1000 instructions, 103 allocations"));
        assert!(differ("1000 instructions", "1000 instructions, 103 allocations"));
        assert!(!differences("", &counts("1000 instructions")).is_empty());
        assert!(!differences("gone: 3 allocations", &Counts::new()).is_empty());
    }
}
