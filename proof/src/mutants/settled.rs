//! The files whose mutants were all tried, in settled.txt. So the result of hours stays in the
//! tree.
//!
//! A file has one line: `<file> <stamp of its code>: 30 caught, 0 timeout, 1 missed, 9 unviable`.
//! Below it are the survivors, each with the line of source that it changes. The line is valid
//! while the code of the file is unchanged. A file that moved is found by its stamp, and gets its
//! new path when the list is written. After a change of tests, use `--retry` for the survivors or
//! `--again` for all.

use std::{collections::BTreeMap, fs, io};

use super::outcome::Outcome;
use xtask::{call::Failure, paths::Paths};

/// The place of the list in the tree.
pub(super) const LIST: &str = "proof/src/mutants/settled.txt";

const HEAD: &str = "# Files of which every mutant was tried; written by `cargo xtask mutants`.\n";

/// The settled files by path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) files: BTreeMap<String, File>,
}

/// A settled file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) stamp: String,
    /// The number of mutants per outcome, in the order of [`Outcome::ALL`].
    pub(super) counts: [u64; 4],
    /// `<mutation> -- <line of source>`.
    pub(super) survivors: Vec<String>,
}

impl Settled {
    /// Loads the list. Keeps the files whose code is unchanged, under their current paths.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub(super) fn load(paths: &Paths, now: &BTreeMap<String, String>) -> Result<Self, Failure> {
        let text = match fs::read_to_string(paths.at(LIST)) {
            Ok(text) => text,
            // Before the first run there is not a list yet.
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(why) => return Err(Failure::new(format!("cannot read {LIST}: {why}"))),
        };
        let settled = Self::read(&text).map_err(|line| {
            Failure::new(format!(
                "line {line} of {LIST} does not say what became of a file's mutants; remove its \
                 file from the list"
            ))
        })?;
        Ok(settled.moved(now))
    }

    /// Keeps the files with unchanged code. `now` has the stamp of each file by its path.
    fn moved(self, now: &BTreeMap<String, String>) -> Self {
        let mut files = BTreeMap::new();
        let (stayed, gone): (Vec<_>, Vec<_>) =
            self.files.into_iter().partition(|(path, file)| now.get(path) == Some(&file.stamp));
        // First, so that a file that moved does not take the path of one with the same code.
        files.extend(stayed);
        for (_, file) in gone {
            let is_it = |(path, stamp): &(&String, &String)| {
                **stamp == file.stamp && !files.contains_key(*path)
            };
            if let Some((path, _)) = now.iter().find(is_it) {
                files.insert(path.clone(), file);
            }
        }
        Self { files }
    }

    /// The number of mutants of these files with this outcome.
    pub(super) fn count<'a>(
        &self,
        files: impl IntoIterator<Item = &'a str>,
        outcome: Outcome,
    ) -> u64 {
        files
            .into_iter()
            .filter_map(|file| self.files.get(file))
            .map(|file| file.counts[outcome as usize])
            .sum()
    }

    /// Writes the list.
    pub(super) fn write(&self, paths: &Paths) -> Result<(), Failure> {
        fs::write(paths.at(LIST), self.to_text())
            .map_err(|why| Failure::new(format!("cannot write {LIST}: {why}")))
    }

    fn to_text(&self) -> String {
        let of_file = |(name, file): (&String, &File)| {
            let counts: Vec<String> = Outcome::ALL
                .iter()
                .zip(file.counts)
                .map(|(outcome, count)| format!("{count} {}", outcome.as_str()))
                .collect();
            let survivors: String =
                file.survivors.iter().map(|survivor| format!("  {survivor}\n")).collect();
            format!("{name} {}: {}\n{survivors}", file.stamp, counts.join(", "))
        };
        HEAD.to_owned() + &self.files.iter().map(of_file).collect::<String>()
    }

    /// Reads the list. The error is the number of the first wrong line.
    fn read(text: &str) -> Result<Self, usize> {
        let mut settled = Self::default();
        let mut last: Option<String> = None;
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let wrong = index + 1;
            if let Some(survivor) = line.strip_prefix("  ") {
                // A survivor without a source line could not be compared with the list of accepted
                // ones.
                let file = last
                    .as_ref()
                    .filter(|_| survivor.contains(" -- "))
                    .and_then(|file| settled.files.get_mut(file));
                file.ok_or(wrong)?.survivors.push(survivor.to_owned());
                continue;
            }
            let (place, counts) = line.split_once(": ").ok_or(wrong)?;
            let (file, stamp) = place.split_once(' ').ok_or(wrong)?;
            let mut told = counts.split(", ").map(|count| count.split_once(' '));
            let mut counts = [0; 4];
            for (count, outcome) in counts.iter_mut().zip(Outcome::ALL) {
                let (number, _) = told
                    .next()
                    .flatten()
                    .filter(|(_, word)| *word == outcome.as_str())
                    .ok_or(wrong)?;
                *count = number.parse().map_err(|_| wrong)?;
            }
            settled.files.insert(
                file.to_owned(),
                File { stamp: stamp.to_owned(), counts, survivors: Vec::new() },
            );
            last = Some(file.to_owned());
        }
        Ok(settled)
    }
}

impl File {
    /// The result of a run over all mutants of a file.
    pub(super) fn new(
        stamp: String,
        outcomes: &[(String, Outcome)],
        survivor: impl Fn(&str) -> String,
    ) -> Self {
        let counts = Outcome::ALL
            .map(|outcome| outcomes.iter().filter(|(_, one)| *one == outcome).count() as u64);
        let missed = outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Missed);
        Self { stamp, counts, survivors: missed.map(|(name, _)| survivor(name)).collect() }
    }

    /// Adds the outcomes of survivors that were tried again.
    pub(super) fn take_in(
        &mut self,
        outcomes: &[(String, Outcome)],
        survivor: impl Fn(&str) -> String,
    ) {
        // A mutant that survived again changes nothing.
        for (name, outcome) in outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::Missed) {
            if let Some(at) = self.survivors.iter().position(|one| *one == survivor(name)) {
                self.survivors.remove(at);
                self.counts[Outcome::Missed as usize] -= 1;
                self.counts[*outcome as usize] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a.rs 0f: 3 caught, 0 timeout, 1 missed, 2 unviable\n\
                        \x20 delete ! in f -- if !x\n\
                        b.rs 01: 1 caught, 1 timeout, 0 missed, 0 unviable\n";

    fn now(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files.iter().map(|(path, stamp)| ((*path).to_owned(), (*stamp).to_owned())).collect()
    }

    #[test]
    fn the_list_is_read_as_it_was_written() {
        let settled = Settled::read(TEXT).expect("a list");
        assert_eq!(settled.to_text(), HEAD.to_owned() + TEXT);
        assert_eq!(
            (
                settled.count(["a.rs", "c.rs"], Outcome::Caught),
                settled.count(["a.rs", "b.rs"], Outcome::Caught)
            ),
            (3, 4)
        );
        for (line, wrong) in [
            ("a.rs 0f", 1),
            ("# x\na.rs 0f: 3 caught", 2),
            ("a.rs 0f: 3 missed, 0 x, 1 y, 2 z", 1),
            ("  f -- g", 1),
        ] {
            assert_eq!(Settled::read(line), Err(wrong), "{line}");
        }
        assert!(Settled::read(include_str!("settled.txt")).is_ok());
    }

    #[test]
    fn a_file_that_moved_is_known_by_its_code_and_one_that_changed_is_not() {
        let of = |files: &[(&str, &str)]| {
            let settled = Settled::read(TEXT).expect("a list").moved(&now(files));
            settled.files.into_iter().map(|(path, file)| (path, file.counts[0])).collect::<Vec<_>>()
        };
        assert_eq!(of(&[("a.rs", "0f"), ("b.rs", "02")]), [("a.rs".to_owned(), 3)]);
        assert_eq!(
            of(&[("c/a.rs", "0f"), ("b.rs", "01")]),
            [("b.rs".to_owned(), 1), ("c/a.rs".to_owned(), 3)]
        );
        assert_eq!(
            of(&[("a.rs", "01"), ("b.rs", "0f")]),
            [("a.rs".to_owned(), 1), ("b.rs".to_owned(), 3)],
            "they changed places"
        );
        assert_eq!(
            of(&[("a.rs", "0f"), ("z.rs", "0f")]),
            [("a.rs".to_owned(), 3)],
            "a copy is another file"
        );
    }

    #[test]
    fn a_survivor_that_is_noticed_later_is_none_any_more() {
        let mut file = Settled::read(TEXT).expect("a list").files.remove("a.rs").expect("a file");
        let key = |name: &str| {
            name.split_once(": ").map(|(_, what)| format!("{what} -- if !x")).unwrap_or_default()
        };
        let name = "a.rs:1:5: delete ! in f".to_owned();
        file.take_in(&[(name.clone(), Outcome::Missed)], key);
        assert_eq!(file.counts, [3, 0, 1, 2]);
        file.take_in(
            &[(name, Outcome::Caught), ("a.rs:2:5: other".to_owned(), Outcome::Caught)],
            key,
        );
        assert_eq!((file.counts, file.survivors.len()), ([4, 0, 0, 2], 0));
        let outcomes = [
            ("a.rs:1:5: f".to_owned(), Outcome::Missed),
            ("a.rs:1:6: g".to_owned(), Outcome::Unviable),
        ];
        let new = File::new("00".to_owned(), &outcomes, key);
        assert_eq!(
            (new.counts, new.survivors.as_slice()),
            ([0, 0, 1, 1], ["f -- if !x".to_owned()].as_slice())
        );
    }
}
