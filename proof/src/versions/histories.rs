//! Compares two folders of histories: finds the first entry at which the agents of a family differ.
//!
//! The program `sim` writes a history to SEED/AGENT.jsonl: a line `{"place":N,"entry":ENTRY}` per
//! entry. The place is the position among the entries of the whole family. Later differences in the
//! family follow from the first one.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufRead, BufReader, Lines},
    path::Path,
};

/// The first difference of two versions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The agent.
    pub(crate) agent: String,
    /// The number of the entry in its ledger.
    pub(crate) seq: u64,
    /// What each version wrote there. `None` if its ledger ends before.
    pub(crate) wrote: [Option<String>; 2],
}

/// The names in a folder, sorted; numbers in numeric order.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_by_key(|name| (name.parse::<u64>().ok(), name.clone()));
    Ok(names)
}

/// The first entry at which two histories of a family differ. `None` if they are equal.
pub(crate) fn first(one: &Path, other: &Path) -> io::Result<Option<Difference>> {
    // From both folders, because an agent may exist in only one version.
    let files: BTreeSet<String> = names(one)?.into_iter().chain(names(other)?).collect();
    let mut first: Option<(u64, Difference)> = None;
    for file in files {
        let Some((place, wrote, seq)) =
            parts_of([open(&one.join(&file))?, open(&other.join(&file))?])?
        else {
            continue;
        };
        if first.as_ref().is_none_or(|(least, _)| place < *least) {
            let agent = file.strip_suffix(".jsonl").unwrap_or(&file).to_owned();
            first = Some((place, Difference { agent, seq, wrote }));
        }
    }
    Ok(first.map(|(_, difference)| difference))
}

/// The lines of a history. `None` if the agent exists only in the other version.
fn open(file: &Path) -> io::Result<Option<Lines<BufReader<File>>>> {
    match File::open(file) {
        Ok(file) => Ok(Some(BufReader::new(file).lines())),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

/// The first lines that differ: the lower of their places, their entries, and the line number.
#[allow(clippy::type_complexity)]
fn parts_of(
    mut histories: [Option<Lines<BufReader<File>>>; 2],
) -> io::Result<Option<(u64, [Option<String>; 2], u64)>> {
    for seq in 1.. {
        let mut next =
            |which: usize| histories[which].as_mut().and_then(Iterator::next).transpose();
        let lines = [next(0)?, next(1)?];
        let [one, other] = [
            lines[0].as_deref().map(read).transpose()?,
            lines[1].as_deref().map(read).transpose()?,
        ];
        let place = match (one, other) {
            (None, None) => return Ok(None),
            (Some((_, one)), Some((_, other))) if one == other => continue,
            (Some((one, _)), Some((other, _))) => one.min(other),
            (Some((place, _)), None) | (None, Some((place, _))) => place,
        };
        return Ok(Some((
            place,
            [one, other].map(|wrote| wrote.map(|(_, entry)| entry.to_owned())),
            seq,
        )));
    }
    Ok(None)
}

/// The place and the entry of a line.
fn read(line: &str) -> io::Result<(u64, &str)> {
    let found = line
        .strip_prefix(r#"{"place":"#)
        .and_then(|rest| rest.strip_suffix('}')?.split_once(r#","entry":"#));
    let read = found.and_then(|(place, entry)| Some((place.parse().ok()?, entry)));
    read.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("`{line}` is not a line of a history"))
    })
}

#[cfg(test)]
mod tests {
    use std::{env, path::PathBuf, process};

    use super::*;

    /// A folder with the histories of one family, removed when the test ends.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, agents: &[(&str, &[(u64, &str)])]) -> Self {
            let folder =
                env::temp_dir().join(format!("wakeful-histories-{}-{name}", process::id()));
            fs::create_dir_all(&folder).expect("a folder");
            for (agent, entries) in agents {
                let lines = entries
                    .iter()
                    .map(|(place, entry)| format!("{{\"place\":{place},\"entry\":{entry}}}\n"));
                fs::write(folder.join(format!("{agent}.jsonl")), lines.collect::<String>())
                    .expect("a history");
            }
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn parent() -> [(u64, &'static str); 3] {
        [(0, r#"{"seq":1}"#), (1, r#"{"seq":2}"#), (3, r#"{"seq":3}"#)]
    }

    fn compared(
        name: &str,
        one: &[(&str, &[(u64, &str)])],
        other: &[(&str, &[(u64, &str)])],
    ) -> Option<(String, u64, [Option<String>; 2])> {
        let [one, other] =
            [Folder::new(&format!("{name}-1"), one), Folder::new(&format!("{name}-2"), other)];
        first(&one.0, &other.0)
            .expect("histories")
            .map(|found| (found.agent, found.seq, found.wrote))
    }

    #[test]
    fn the_same_entries_are_no_difference_wherever_others_stand_between_them() {
        assert_eq!(
            compared(
                "same",
                &[("a", &parent()), ("b", &[(2, "{}")])],
                &[("a", &parent()), ("b", &[(2, "{}")])]
            ),
            None
        );
        assert_eq!(compared("places", &[("b", &[(2, "{}")])], &[("b", &[(7, "{}")])]), None);
        assert_eq!(compared("nobody", &[], &[]), None);
    }

    #[test]
    fn what_differs_first_in_the_family_is_what_is_told() {
        let child: &[(u64, &str)] = &[(2, r#"{"child":1}"#), (4, r#"{"child":2}"#)];
        let other_child: &[(u64, &str)] = &[(2, r#"{"child":"other"}"#), (4, r#"{"child":2}"#)];
        let mut later = parent();
        later[2].1 = r#"{"seq":"other"}"#;
        let wrote = [Some(r#"{"child":1}"#.to_owned()), Some(r#"{"child":"other"}"#.to_owned())];
        let found = compared(
            "first",
            &[("a", &parent()), ("b", child)],
            &[("a", &later), ("b", other_child)],
        );
        assert_eq!(
            found,
            Some(("b".to_owned(), 1, wrote)),
            "the child's entry stands before that of its parent"
        );
        let wrote = [Some(r#"{"seq":3}"#.to_owned()), Some(r#"{"seq":"other"}"#.to_owned())];
        assert_eq!(
            compared("alone", &[("a", &parent())], &[("a", &later)]),
            Some(("a".to_owned(), 3, wrote))
        );
    }

    #[test]
    fn a_history_that_ends_before_the_other_differs_there() {
        let wrote = [Some(r#"{"seq":3}"#.to_owned()), None];
        assert_eq!(
            compared("shorter", &[("a", &parent())], &[("a", &parent()[..2])]),
            Some(("a".to_owned(), 3, wrote.clone()))
        );
        let [one, other] = wrote;
        assert_eq!(
            compared("longer", &[("a", &parent()[..2])], &[("a", &parent())]),
            Some(("a".to_owned(), 3, [other, one]))
        );
    }

    #[test]
    fn an_agent_that_only_one_of_them_has_differs_from_its_first_entry_on() {
        let found = compared("only", &[("a", &parent())], &[("a", &parent()), ("b", &[(2, "{}")])]);
        assert_eq!(found, Some(("b".to_owned(), 1, [None, Some("{}".to_owned())])));
    }

    #[test]
    fn a_line_that_is_none_is_an_error_and_families_come_by_their_numbers() {
        let folder = Folder::new("line", &[]);
        fs::write(folder.0.join("a.jsonl"), "{\"place\":x}\n").expect("a file");
        assert!(
            first(&folder.0, &folder.0)
                .is_err_and(|why| why.to_string().contains("not a line of a history"))
        );
        let folder = Folder::new("names", &[]);
        ["10", "9", "0"]
            .iter()
            .for_each(|name| fs::create_dir(folder.0.join(name)).expect("a folder"));
        assert_eq!(names(&folder.0).expect("names"), ["0", "9", "10"]);
    }
}
