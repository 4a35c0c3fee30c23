//! The outcomes of mutants, as cargo-mutants writes them: a file of names per outcome.

use std::{fs, io, path::Path};

/// The outcome of a mutant.
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

    /// Its name, also in the files that cargo-mutants writes.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Timeout => "timeout",
            Self::Missed => "missed",
            Self::Unviable => "unviable",
        }
    }
}

/// Reads the mutants of a run with their outcomes from the folder that cargo-mutants wrote.
pub(super) fn read(folder: &Path) -> io::Result<Vec<(String, Outcome)>> {
    let mut all = Vec::new();
    for outcome in Outcome::ALL {
        let text = fs::read_to_string(folder.join(format!("{}.txt", outcome.as_str())))?;
        all.extend(
            text.lines().filter(|line| !line.is_empty()).map(|name| (name.to_owned(), outcome)),
        );
    }
    Ok(all)
}

/// The file of a mutant: `core/src/a.rs` of `core/src/a.rs:12:5: delete ! in f`.
pub(super) fn file_of(mutant: &str) -> &str {
    mutant.split_once(':').map_or(mutant, |(file, _)| file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_from_the_files_of_a_run() {
        let folder = std::env::temp_dir().join(format!("wakeful-outcomes-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        for (file, text) in
            [("caught", "a.rs:1:1: f\na.rs:2:2: g\n"), ("missed", "a.rs:3:3: h\n"), ("timeout", "")]
        {
            fs::write(folder.join(format!("{file}.txt")), text).expect("a file");
        }
        assert!(read(&folder).is_err(), "a run that broke off");
        fs::write(folder.join("unviable.txt"), "a.rs:4:4: i\n").expect("a file");
        let found = read(&folder).expect("a run");
        let expected = [
            ("f", Outcome::Caught),
            ("g", Outcome::Caught),
            ("h", Outcome::Missed),
            ("i", Outcome::Unviable),
        ];
        assert!(
            found.iter().map(|(name, outcome)| (&name[name.len() - 1..], *outcome)).eq(expected),
            "{found:?}"
        );
        assert_eq!(file_of(&found[0].0), "a.rs");
        fs::remove_dir_all(&folder).expect("it goes");
    }
}
