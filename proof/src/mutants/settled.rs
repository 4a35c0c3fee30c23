//! Files of which every mutant was tried, in settled.txt: what a run of hours has found out stays in the tree.
//!
//! A line each: `<file> <stamp of its text>: 30 caught, 0 timeout, 1 missed, 9 unviable`; below it the survivors by name. It counts for as
//! long as the file is as it was. Tests that were changed since can only be asked anew: `--retry` for the survivors, a run without `--resume`
//! for all.

use std::{collections::BTreeMap, fs, io};

use super::results::{Outcome, Results, file_of, stamp_of};
use xtask::{call::Failure, paths::Paths};

/// The place of the list in the tree.
pub(super) const LIST: &str = "proof/src/mutants/settled.txt";

const HEAD: &str = "# Files of which every mutant was tried; written by `cargo xtask mutants`.\n";

/// What became of the mutants of the files whose mutants were all tried.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    files: BTreeMap<String, File>,
}

/// A file as it was when its mutants were tried.
#[derive(Debug, PartialEq, Eq)]
struct File {
    stamp: String,
    /// How many had each outcome, in the order of [`Outcome::ALL`].
    counts: [u64; 4],
    survivors: Vec<String>,
}

impl Settled {
    /// The list, without the files that are not as they were.
    pub(super) fn of(paths: &Paths) -> Result<Self, Failure> {
        let text = match fs::read_to_string(paths.at(LIST)) {
            Ok(text) => text,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(why) => return Err(Failure::new(format!("cannot read {LIST}: {why}"))),
        };
        let mut settled = Self::read(&text).map_err(|line| {
            Failure::new(format!("line {line} of {LIST} says of no file what became of its mutants; take its file off the list"))
        })?;
        settled.files.retain(|file, was| stamp_of(paths, file).is_some_and(|stamp| stamp == was.stamp));
        Ok(settled)
    }

    /// Whether all mutants of the file of this one were tried.
    pub(super) fn has(&self, mutant: &str) -> bool {
        self.files.contains_key(file_of(mutant))
    }

    /// What became of a mutant of such a file, as far as that is a survivor.
    pub(super) fn survived(&self, mutant: &str) -> bool {
        self.files.get(file_of(mutant)).is_some_and(|file| file.survivors.iter().any(|survivor| survivor == mutant))
    }

    /// How many mutants of the files of these had this outcome.
    pub(super) fn count(&self, mutants: &[String], outcome: Outcome) -> u64 {
        let mut files: Vec<&str> = mutants.iter().map(|mutant| file_of(mutant)).collect();
        files.dedup();
        files.iter().filter_map(|file| self.files.get(*file)).map(|file| file.counts[outcome as usize]).sum()
    }

    /// Takes in what was found out: the files of which each mutant has an outcome now, and the survivors of others that were tried again.
    pub(super) fn take_in(&mut self, all: &[String], results: &Results, stamp_of: impl Fn(&str) -> Option<String>) {
        for mutants in all.chunk_by(|one, other| file_of(one) == file_of(other)) {
            let file = file_of(&mutants[0]);
            let tried = |mutant: &&String| results.outcomes.contains_key(*mutant);
            if mutants.iter().all(|mutant| tried(&mutant)) {
                let Some(stamp) = stamp_of(file) else { continue };
                let counts = Outcome::ALL.map(|outcome| results.count(mutants, outcome));
                let survivors = results.having(mutants, Outcome::Missed).cloned().collect();
                self.files.insert(file.to_owned(), File { stamp, counts, survivors });
            } else if let Some(settled) = self.files.get_mut(file) {
                let now = |survivor: &String| results.outcomes.get(survivor).copied().filter(|outcome| *outcome != Outcome::Missed);
                for outcome in settled.survivors.iter().filter_map(now) {
                    settled.counts[Outcome::Missed as usize] -= 1;
                    settled.counts[outcome as usize] += 1;
                }
                settled.survivors.retain(|survivor| now(survivor).is_none());
            }
        }
    }

    /// Writes the list.
    pub(super) fn write(&self, paths: &Paths) -> Result<(), Failure> {
        fs::write(paths.at(LIST), self.to_text()).map_err(|why| Failure::new(format!("cannot write {LIST}: {why}")))
    }

    fn to_text(&self) -> String {
        let of_file = |(name, file): (&String, &File)| {
            let counts: Vec<String> =
                Outcome::ALL.iter().zip(file.counts).map(|(outcome, count)| format!("{count} {}", outcome.as_str())).collect();
            let survivors: String = file.survivors.iter().map(|survivor| format!("  {survivor}\n")).collect();
            format!("{name} {}: {}\n{survivors}", file.stamp, counts.join(", "))
        };
        HEAD.to_owned() + &self.files.iter().map(of_file).collect::<String>()
    }

    /// Reads it; the number of the line that is none where there is one.
    fn read(text: &str) -> Result<Self, usize> {
        let mut settled = Self::default();
        let mut last: Option<String> = None;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let wrong = index + 1;
            if let Some(survivor) = line.strip_prefix("  ") {
                let file = last.as_ref().filter(|file| file_of(survivor) == **file).and_then(|file| settled.files.get_mut(file));
                file.ok_or(wrong)?.survivors.push(survivor.to_owned());
                continue;
            }
            let (place, counts) = line.split_once(": ").ok_or(wrong)?;
            let (file, stamp) = place.split_once(' ').ok_or(wrong)?;
            let mut told = counts.split(", ").map(|count| count.split_once(' '));
            let mut counts = [0; 4];
            for (count, outcome) in counts.iter_mut().zip(Outcome::ALL) {
                let (number, _) = told.next().flatten().filter(|(_, word)| *word == outcome.as_str()).ok_or(wrong)?;
                *count = number.parse().map_err(|_| wrong)?;
            }
            settled.files.insert(file.to_owned(), File { stamp: stamp.to_owned(), counts, survivors: Vec::new() });
            last = Some(file.to_owned());
        }
        Ok(settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a.rs 0f: 3 caught, 0 timeout, 1 missed, 2 unviable\n  a.rs:1:5: delete ! in f\nb.rs 01: 1 caught, 1 timeout, 0 missed, 0 unviable\n";

    fn results(outcomes: &[(&str, Outcome)]) -> Results {
        let mut results = Results::default();
        results.outcomes.extend(outcomes.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)));
        results
    }

    #[test]
    fn the_list_is_read_as_it_was_written() {
        let settled = Settled::read(TEXT).expect("a list");
        assert_eq!(settled.to_text(), HEAD.to_owned() + TEXT);
        assert!(settled.has("a.rs:9:9: anything") && !settled.has("c.rs:1:1: anything"));
        assert!(settled.survived("a.rs:1:5: delete ! in f") && !settled.survived("a.rs:2:5: delete ! in f"));
        for (line, wrong) in [("a.rs 0f", 1), ("# x\na.rs 0f: 3 caught", 2), ("a.rs 0f: 3 missed, 0 x, 1 y, 2 z", 1), ("  a.rs:1: f", 1)] {
            assert_eq!(Settled::read(line), Err(wrong), "{line}");
        }
        assert!(Settled::read(include_str!("settled.txt")).is_ok());
    }

    #[test]
    fn a_file_is_settled_when_each_of_its_mutants_was_tried() {
        let all = ["a.rs:1:1: f", "a.rs:2:2: g", "b.rs:1:1: h", "b.rs:2:2: i"].map(str::to_owned);
        let mut settled = Settled::default();
        let found = results(&[("a.rs:1:1: f", Outcome::Caught), ("a.rs:2:2: g", Outcome::Missed), ("b.rs:1:1: h", Outcome::Caught)]);
        settled.take_in(&all, &found, |_| Some("00".to_owned()));
        assert_eq!(settled.to_text(), HEAD.to_owned() + "a.rs 00: 1 caught, 0 timeout, 1 missed, 0 unviable\n  a.rs:2:2: g\n");
        assert_eq!((settled.count(&all, Outcome::Caught), settled.count(&all[2..], Outcome::Caught)), (1, 0));
    }

    #[test]
    fn a_survivor_that_is_noticed_later_is_none_any_more() {
        let all = ["a.rs:1:5: delete ! in f", "a.rs:2:2: g"].map(str::to_owned);
        let mut settled = Settled::read(TEXT).expect("a list");
        settled.take_in(&all, &results(&[("a.rs:1:5: delete ! in f", Outcome::Missed)]), |_| None);
        assert_eq!(settled, Settled::read(TEXT).expect("a list"));
        settled.take_in(&all, &results(&[("a.rs:1:5: delete ! in f", Outcome::Caught)]), |_| None);
        assert!(settled.to_text().contains("a.rs 0f: 4 caught, 0 timeout, 0 missed, 2 unviable\nb.rs"), "{}", settled.to_text());
    }
}
