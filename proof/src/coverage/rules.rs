//! The rules of the ladder, read from their source, with the number of decisions that each made.
//!
//! A rule has decided if the closure of its `decide` was executed, because only the ladder calls
//! it, if the rule wins.

use super::export::{Files, Measured, Place};

/// The folder of the rules.
const LADDER: &str = "core/src/ladder/";

/// One rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) id: String,
    /// How often it decided. `None` if its `decide` is not a separate closure, so that this cannot
    /// be measured.
    pub(super) decided: Option<u64>,
}

/// The rules of all files of the ladder, in the order of the source. `text_of` returns the text of
/// a file.
pub(super) fn all(files: &Files, text_of: impl Fn(&str) -> String) -> Vec<Rule> {
    files
        .iter()
        .filter(|(path, _)| path.starts_with(LADDER))
        .flat_map(|(path, file)| in_file(&text_of(path), file))
        .collect()
}

fn in_file(text: &str, file: &Measured) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut id = None;
    let mut decide: Option<Place> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index as u64 + 1;
        if line.contains(": Rule = Rule {") {
            // A rule that lacks a field must not get that of the rule before it.
            (id, decide) = (None, None);
        } else if let Some(rest) = line.strip_prefix("    id: \"") {
            id = rest.split('"').next().map(str::to_owned);
        } else if line.starts_with("    decide: ") {
            decide = Some((number, 1));
        } else if line == "};"
            && let (Some(id), Some(from)) = (id.take(), decide.take())
        {
            rules.push(Rule { id, decided: file.first_function_in(from, (number, 1)) });
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const TEXT: &str = "\
pub(super) const STOPPED: Rule = Rule {
    id: \"1.stopped\",
    keys: |view| view.keys(),
    decide: |view| Verdict {
        because: view.map(|one| one.seq),
    },
};

const NOT_A_RULE: Other = Other {
    id: \"no\",
};

pub(super) const CLOSING: Rule = Rule {
    id: \"1.closing\",
    decide: elsewhere,
};
";

    #[test]
    fn a_rule_decided_as_often_as_its_own_closure_ran() {
        let functions = BTreeMap::from([((3, 20), 9), ((4, 20), 2), ((5, 36), 7)]);
        let files = Files::from([
            ("core/src/ladder/rule.rs".to_owned(), Measured { functions, ..Measured::default() }),
            ("core/src/derive/rule.rs".to_owned(), Measured::default()),
        ]);
        let expected = [
            Rule { id: "1.stopped".to_owned(), decided: Some(2) },
            Rule { id: "1.closing".to_owned(), decided: None },
        ];
        assert_eq!(all(&files, |_| TEXT.to_owned()), expected);
    }
}
