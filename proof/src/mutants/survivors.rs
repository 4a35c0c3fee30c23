//! Survivors that are accepted, each with its reason, in survivors.txt.
//!
//! One line each: `<file>: <mutation> -- <the line of source> -- <reason>`. Lines of source are
//! used instead of line numbers, because every edit above would change the numbers. Two mutants
//! that read the same need two lines.

/// The accepted survivors.
const ACCEPTED: &str = include_str!("survivors.txt");

/// The path of the list, for messages.
pub(super) const LIST: &str = "proof/src/mutants/survivors.txt";

/// One accepted survivor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    key: Key,
    pub(super) reason: String,
}

/// A mutant without its line number: its file and mutation, and the line of source that it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(String);

/// How survivors and the list compare.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Survivors that are not accepted: the name of the mutant, and its line for the list.
    pub(super) unlisted: Vec<(String, String)>,
    /// Accepted survivors, with the reason.
    pub(super) accepted: Vec<(String, String)>,
    /// Lines of the list whose mutant did not survive or no longer exists.
    pub(super) stale: Vec<String>,
}

impl Key {
    /// Reads a mutant's name (`core/src/a.rs:12:5: delete ! in f`), and finds the line that it
    /// changes in the source.
    pub(super) fn from_mutant(mutant: &str, text_of: impl Fn(&str) -> String) -> Self {
        let (place, what) = mutant.split_once(": ").unwrap_or((mutant, ""));
        let mut parts = place.split(':');
        let file = parts.next().unwrap_or_default();
        let line = parts.next().and_then(|line| line.parse::<usize>().ok()).unwrap_or_default();
        let text = text_of(file);
        let source = line
            .checked_sub(1)
            .and_then(|index| text.lines().nth(index))
            .map(str::trim)
            .unwrap_or_default();
        Self(format!("{file}: {what} -- {source}"))
    }

    /// The key of a survivor of a settled file: `<mutation> -- <line of source>`.
    pub(super) fn settled(file: &str, survivor: &str) -> Self {
        Self(format!("{file}: {survivor}"))
    }

    /// The key without the file.
    pub(super) fn survivor(&self) -> &str {
        self.0.split_once(": ").map_or(&*self.0, |(_, survivor)| survivor)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads the list.
///
/// # Errors The number of a line without a reason.
pub(super) fn accepted() -> Result<Vec<Accepted>, usize> {
    read(ACCEPTED)
}

fn read(text: &str) -> Result<Vec<Accepted>, usize> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(index, line)| {
            // From the end, because the key has this sign too, between mutation and source.
            let (key, reason) = line.rsplit_once(" -- ").ok_or(index + 1)?;
            if !key.contains(" -- ") || reason.trim().is_empty() {
                return Err(index + 1);
            }
            Ok(Accepted { key: Key(key.to_owned()), reason: reason.trim().to_owned() })
        })
        .collect()
}

/// Compares survivors (names with keys) with the list. `others` are the keys of mutants that may
/// survive because they were not tried or not selected; their lines are not stale. Lines of files
/// outside of `is_asked` are ignored.
pub(super) fn compare(
    survivors: Vec<(String, Key)>,
    mut others: Vec<Key>,
    accepted: &[Accepted],
    is_asked: impl Fn(&str) -> bool,
) -> Compared {
    let mut open = accepted.to_vec();
    let mut compared = Compared::default();
    for (name, key) in survivors {
        match open.iter().position(|one| one.key == key) {
            // Each line serves once. Two mutants that read the same need two lines.
            Some(at) => compared.accepted.push((name, open.remove(at).reason)),
            None => compared.unlisted.push((name, key.0)),
        }
    }
    for one in open.into_iter().filter(|one| is_asked(&one.key.0)) {
        match others.iter().position(|other| *other == one.key) {
            // Its mutant was not tried, so the line may still be right.
            Some(at) => drop(others.remove(at)),
            None => compared.stale.push(one.key.0),
        }
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn f() {\n    if !x { a() }\n    if !x { a() }\n}\n";

    fn key(mutant: &str) -> Key {
        Key::from_mutant(mutant, |_| SOURCE.to_owned())
    }

    #[test]
    fn the_list_is_readable_and_every_line_has_a_reason() {
        assert!(accepted().is_ok(), "line {:?} of {LIST}", accepted().err());
        assert_eq!(
            read("# note\n\na.rs: delete ! -- if !x -- it is an order\n")
                .map(|all| all[0].reason.clone()),
            Ok("it is an order".into())
        );
        for line in ["a.rs: delete !", "a.rs: delete ! -- if !x", "a.rs: delete ! -- if !x -- "] {
            assert_eq!(read(line), Err(1), "{line}");
        }
    }

    #[test]
    fn a_mutant_is_known_by_its_source_and_not_by_its_line() {
        assert_eq!(
            key("core/a.rs:2:8: delete ! in f"),
            Key("core/a.rs: delete ! in f -- if !x { a() }".to_owned())
        );
        assert_eq!(key("core/a.rs:2:8: delete ! in f"), key("core/a.rs:3:8: delete ! in f"));
        assert_eq!(
            key("core/a.rs:9:8: delete ! in f"),
            Key("core/a.rs: delete ! in f -- ".to_owned())
        );
    }

    #[test]
    fn survivors_are_compared_one_by_one() {
        let list = read(
            "core/a.rs: delete ! in f -- if !x { a() } -- one of the two\n\
             core/a.rs: gone -- a -- b\n\
             host/a.rs: other -- a -- b\n",
        );
        let survivors = ["core/a.rs:2:8: delete ! in f", "core/a.rs:3:8: delete ! in f"]
            .map(|name| (name.to_owned(), key(name)));
        let compared = compare(survivors.into(), Vec::new(), &list.expect("a list"), |key| {
            key.starts_with("core/")
        });
        assert_eq!(
            compared.accepted,
            [("core/a.rs:2:8: delete ! in f".to_owned(), "one of the two".to_owned())]
        );
        assert_eq!(compared.unlisted.len(), 1);
        assert_eq!(compared.unlisted[0].0, "core/a.rs:3:8: delete ! in f");
        assert_eq!(compared.stale, ["core/a.rs: gone -- a"]);
    }

    #[test]
    fn a_mutant_that_was_not_tried_yet_is_not_stale() {
        let list = read("core/a.rs: delete ! in f -- if !x { a() } -- why\n").expect("a list");
        let compared =
            compare(Vec::new(), vec![key("core/a.rs:2:8: delete ! in f")], &list, |_| true);
        assert_eq!(compared, Compared::default());
    }
}
