//! What became of each mutant, kept in target/mutants/results.txt, so that an interrupted run can be resumed.
//!
//! It begins with the stamps of the files: the name of a mutant has its line and column, and after an edit of its file it is another mutant.

use std::{
    collections::BTreeMap,
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use xtask::{
    call::Failure,
    paths::{Paths, files_below},
    stamp,
};

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// A test failed.
    Caught,
    /// The tests did not end.
    Timeout,
    /// No test failed: it survived.
    Missed,
    /// It does not compile.
    Unviable,
}

impl Outcome {
    pub(super) const ALL: [Self; 4] = [Self::Caught, Self::Timeout, Self::Missed, Self::Unviable];

    /// As here and in the names of the files that cargo-mutants writes.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Timeout => "timeout",
            Self::Missed => "missed",
            Self::Unviable => "unviable",
        }
    }
}

/// The stamps of files, by their names.
type Stamps = BTreeMap<String, String>;

/// Outcomes by the names of the mutants.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Results {
    stamps: Stamps,
    pub(super) outcomes: BTreeMap<String, Outcome>,
}

/// The file, and the folder into which cargo-mutants writes.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
}

impl Place {
    pub(super) fn of(paths: &Paths) -> Self {
        Self { folder: paths.target().join("mutants") }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("results.txt")
    }

    /// cargo-mutants' own name for it.
    fn written(&self) -> PathBuf {
        self.folder.join("mutants.out")
    }

    /// Keeps other runs away from the copy and the results while the file that it gives is open.
    ///
    /// # Errors
    /// Where another run is going on.
    pub(super) fn lock(&self) -> Result<File, Failure> {
        fs::create_dir_all(&self.folder).map_err(|why| self.unusable(&why))?;
        let file = File::create(self.folder.join("lock")).map_err(|why| self.unusable(&why))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new("another `cargo xtask mutants` is running in this tree; wait for its end, or end it and --resume"))
            }
            Err(TryLockError::Error(why)) => Err(self.unusable(&why)),
        }
    }

    /// Begins anew: nothing was tried.
    pub(super) fn begin(&self, paths: &Paths) -> Result<Results, Failure> {
        if self.written().exists() {
            fs::remove_dir_all(self.written()).map_err(|why| self.unusable(&why))?;
        }
        let results = Results { stamps: stamps_of_core(paths)?, outcomes: BTreeMap::new() };
        self.write(&results)?;
        Ok(results)
    }

    /// What was tried, also by a run that was interrupted, of the files that are as they were then; nothing where nothing was.
    pub(super) fn resume(&self, paths: &Paths) -> Result<Option<Results>, Failure> {
        let Ok(text) = fs::read_to_string(self.file()) else { return Ok(None) };
        let mut results = Results::of(&text).map_err(|line| {
            Failure::new(format!("line {line} of {} is no result; start anew with `cargo xtask mutants`", self.file().display()))
        })?;
        self.take_over(&mut results)?;
        results.keep_to(stamps_of_core(paths)?);
        self.write(&results)?;
        // What was written is taken over, and what of it was dropped must not come back.
        if self.written().exists() {
            fs::remove_dir_all(self.written()).map_err(|why| self.unusable(&why))?;
        }
        Ok(Some(results))
    }

    /// Tells cargo-mutants which mutants it must not try: with `--iterate` it passes over those that it finds written here. Its filters by
    /// name would do, but do not know the mutants that delete a field (seen in 27.1.0).
    pub(super) fn leave_out(&self, names: &[&String]) -> Result<(), Failure> {
        let written = self.written();
        if written.exists() {
            fs::remove_dir_all(&written).map_err(|why| self.unusable(&why))?;
        }
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        fs::create_dir_all(&written)
            .and_then(|()| fs::write(written.join("previously_caught.txt"), text))
            .map_err(|why| self.unusable(&why))
    }

    /// Takes over what cargo-mutants wrote, and keeps it.
    pub(super) fn take_over(&self, results: &mut Results) -> Result<(), Failure> {
        for outcome in Outcome::ALL {
            let file = self.written().join(format!("{}.txt", outcome.as_str()));
            if file.is_file() {
                let text = fs::read_to_string(&file).map_err(|why| self.unusable(&why))?;
                results.outcomes.extend(text.lines().filter(|line| !line.is_empty()).map(|name| (name.to_owned(), outcome)));
            }
        }
        self.write(results)
    }

    fn write(&self, results: &Results) -> Result<(), Failure> {
        fs::create_dir_all(&self.folder).and_then(|()| fs::write(self.file(), results.to_text())).map_err(|why| self.unusable(&why))
    }

    fn unusable(&self, why: &io::Error) -> Failure {
        Failure::new(format!("cannot use {}: {why}", self.folder.display()))
    }
}

impl Results {
    /// How many mutants of these had this outcome.
    pub(super) fn count(&self, mutants: &[String], outcome: Outcome) -> u64 {
        self.having(mutants, outcome).count() as u64
    }

    /// The mutants of these that had this outcome.
    pub(super) fn having<'a>(&'a self, mutants: &'a [String], outcome: Outcome) -> impl Iterator<Item = &'a String> {
        mutants.iter().filter(move |name| self.outcomes.get(*name) == Some(&outcome))
    }

    /// Keeps what became of mutants of files that have this stamp still.
    fn keep_to(&mut self, stamps: Stamps) {
        let is_as_it_was = |file: &str| self.stamps.get(file).is_some_and(|was| stamps.get(file) == Some(was));
        self.outcomes.retain(|name, _| is_as_it_was(file_of(name)));
        self.stamps = stamps;
    }

    fn to_text(&self) -> String {
        let stamps = self.stamps.iter().map(|(file, stamp)| format!("{STAMPED} {stamp} {file}\n"));
        let outcomes = self.outcomes.iter().map(|(name, outcome)| format!("{} {name}\n", outcome.as_str()));
        stamps.chain(outcomes).collect()
    }

    /// Reads it; the number of the line that is no result where there is one.
    fn of(text: &str) -> Result<Self, usize> {
        let mut results = Self::default();
        for (index, line) in text.lines().enumerate() {
            let (word, rest) = line.split_once(' ').ok_or(index + 1)?;
            if word == STAMPED {
                let (stamp, file) = rest.split_once(' ').ok_or(index + 1)?;
                results.stamps.insert(file.to_owned(), stamp.to_owned());
            } else {
                let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.as_str() == word).ok_or(index + 1)?;
                results.outcomes.insert(rest.to_owned(), outcome);
            }
        }
        Ok(results)
    }
}

/// How the line of a file's stamp begins.
const STAMPED: &str = "file";

/// The file of a mutant.
pub(super) fn file_of(mutant: &str) -> &str {
    mutant.split_once(':').map_or(mutant, |(file, _)| file)
}

/// The stamp of a file of the tree; nothing where it cannot be read.
pub(super) fn stamp_of(paths: &Paths, file: &str) -> Option<String> {
    let stamp = stamp::of(paths.root(), vec![paths.at(file)]).ok()?;
    Some(stamp.trim().to_owned())
}

fn stamps_of_core(paths: &Paths) -> Result<Stamps, Failure> {
    let source: &Path = &paths.at("core/src");
    let files = files_below(source).map_err(|why| Failure::new(format!("cannot read {}: {why}", source.display())))?;
    let named = files.iter().filter_map(|file| Some(file.strip_prefix(paths.root()).ok()?.to_string_lossy().into_owned()));
    Ok(named.filter_map(|file| Some((file.clone(), stamp_of(paths, &file)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_were_written() {
        let outcomes = BTreeMap::from([
            ("core/src/a.rs:1:5: replace f -> bool with true".to_owned(), Outcome::Missed),
            ("core/src/a.rs:2:5: delete ! in f".to_owned(), Outcome::Caught),
        ]);
        let stamps = BTreeMap::from([("core/src/a.rs".to_owned(), "00ff".to_owned())]);
        let mut results = Results { stamps, outcomes };
        assert_eq!(Results::of(&results.to_text()).as_ref(), Ok(&results));
        assert_eq!(Results::of("file 00ff a.rs\ncaught a\nlost b\n"), Err(3));
        assert_eq!(Results::of(""), Ok(Results::default()));

        results.keep_to(results.stamps.clone());
        assert_eq!(results.outcomes.len(), 2);
        results.keep_to(BTreeMap::from([("core/src/a.rs".to_owned(), "01".to_owned())]));
        assert!(results.outcomes.is_empty(), "after an edit these are other mutants");
    }

    #[test]
    fn two_runs_keep_apart() {
        let place = Place { folder: std::env::temp_dir().join(format!("wakeful-lock-{}", std::process::id())) };
        let first = place.lock().expect("nobody else runs");
        assert!(place.lock().is_err_and(|why| why.what.contains("--resume")));
        drop(first);
        assert!(place.lock().is_ok());
        fs::remove_dir_all(&place.folder).expect("it goes");
    }

    #[test]
    fn what_an_interrupted_run_wrote_is_taken_over() {
        let place = Place { folder: std::env::temp_dir().join(format!("wakeful-results-{}", std::process::id())) };
        fs::create_dir_all(place.written()).expect("a folder");
        fs::write(place.written().join("caught.txt"), "a\nb\n").expect("a file");
        fs::write(place.written().join("missed.txt"), "c\n").expect("a file");
        let mut results = Results { stamps: Stamps::new(), outcomes: BTreeMap::from([("b".to_owned(), Outcome::Missed)]) };
        place.take_over(&mut results).expect("taken over");
        let expected =
            BTreeMap::from([("a".to_owned(), Outcome::Caught), ("b".to_owned(), Outcome::Caught), ("c".to_owned(), Outcome::Missed)]);
        assert_eq!(results.outcomes, expected, "the newer outcome counts");
        let kept = fs::read_to_string(place.file()).expect("it is kept");
        assert_eq!(Results::of(&kept), Ok(results));

        place.leave_out(&[&"a".to_owned(), &"c".to_owned()]).expect("written");
        let files: Vec<PathBuf> = files_below(&place.written()).expect("a folder");
        assert_eq!(files, [place.written().join("previously_caught.txt")], "what was taken over is gone");
        assert_eq!(fs::read_to_string(&files[0]).ok().as_deref(), Some("a\nc\n"));
        fs::remove_dir_all(&place.folder).expect("it goes");
    }

    #[test]
    fn only_asked_for_mutants_are_counted() {
        let outcomes = BTreeMap::from([("a".to_owned(), Outcome::Caught), ("b".to_owned(), Outcome::Caught)]);
        let results = Results { stamps: Stamps::new(), outcomes };
        assert_eq!(results.count(&["a".to_owned(), "c".to_owned()], Outcome::Caught), 1);
        assert_eq!(results.count(&["a".to_owned()], Outcome::Missed), 0);
    }
}
