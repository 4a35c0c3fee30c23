//! Comments cite the contract (`contract 5.3`, `I16`, `D4`), and what they cite exists.

use super::{
    Finding, statements, test_parts,
    tree::{File, Tree},
};

/// The folders whose code and tests may cite a statement.
const CITING: [&str; 9] =
    ["core/", "host-native/", "agent/", "serve/", "cli/", "lab/", "wasm/", "tests/", "web-demo/"];

/// One number in one comment.
#[derive(Debug, PartialEq, Eq)]
pub struct Citation<'a> {
    /// As it is written: `5.3`, `I16`, `D4`.
    pub number: String,
    /// The file, from the root.
    pub path: &'a str,
    /// From 1.
    pub line: usize,
    /// Whether a test says it; otherwise code does.
    pub is_test: bool,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let exists = |number: &str| statements::all().any(|statement| statement.number == number);
    let unknown = all(tree).into_iter().filter(|citation| !exists(&citation.number));
    unknown
        .map(|citation| {
            let text = format!(
                "the contract has no statement `{}`; cite the one that is meant",
                citation.number
            );
            Finding::new(citation.path, citation.line, text)
        })
        .collect()
}

/// Every citation, in the order of files and lines.
pub fn all(tree: &Tree) -> Vec<Citation<'_>> {
    let mut citations = Vec::new();
    for file in tree.files.iter().filter(|file| cites(file)) {
        let tests = test_parts::in_file(file);
        // A list of numbers may go over the end of a line.
        let mut in_list = false;
        for (line, text) in file.lines() {
            let listed = (file.extension() == "rs").then(|| quoted(text)).into_iter().flatten();
            let cited = match comment(file, text) {
                Some(comment) => cited(comment, &mut in_list),
                None => {
                    in_list = false;
                    Vec::new()
                }
            };
            for number in cited.into_iter().chain(listed) {
                citations.push(Citation {
                    number,
                    path: &file.path,
                    line,
                    is_test: tests.contains(line),
                });
            }
        }
    }
    citations
}

fn cites(file: &File) -> bool {
    CITING.iter().any(|folder| file.path.starts_with(folder))
        && (!file.is_recorded_data() || file.name() == "README.md")
}

/// The comment of a line: after `//` in a program, after `#` in a scenario; what describes test
/// data is a comment as a whole.
fn comment<'a>(file: &File, line: &'a str) -> Option<&'a str> {
    match file.extension() {
        "rs" | "ts" | "tsx" | "mjs" | "wit" => line.find("//").map(|at| &line[at..]),
        "txt" => line.trim_start().strip_prefix('#'),
        "md" if file.path.starts_with("tests/") => Some(line),
        _ => None,
    }
}

/// Numbers of invariants and of differences that stand alone in quotes, as in a list of them.
fn quoted(line: &str) -> impl Iterator<Item = String> {
    let is_number = |text: &&str| {
        text.starts_with(['I', 'D'])
            && text.len() > 1
            && text[1..].chars().all(|c| c.is_ascii_digit())
    };
    line.split('"').skip(1).step_by(2).filter(is_number).map(str::to_owned)
}

/// Every statement that a comment cites: numbers after the word `contract`, and `I<n>` and `D<n>`
/// anywhere. `in_list` says whether the line before ended in a list of numbers, and then whether
/// this one does.
fn cited(comment: &str, in_list: &mut bool) -> Vec<String> {
    let mut found = Vec::new();
    for word in comment.split_whitespace() {
        let bare = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        let is_number = !bare.is_empty()
            && bare.starts_with(|c: char| c.is_ascii_digit())
            && bare.chars().all(|c| c.is_ascii_digit() || c == '.');
        let is_numbered = bare.len() > 1
            && bare.starts_with(['I', 'D'])
            && bare[1..].chars().all(|c| c.is_ascii_digit());
        if is_numbered || (is_number && *in_list) {
            found.push(bare.to_owned());
        }
        // `contract 5.4, 8.2 and 9.1: the 3 and 4 after the list are not numbers of statements`. A
        // number that ends no phrase may be followed by `and`.
        let goes_on = word.ends_with(',')
            || word == "and"
            || (is_number && word.ends_with(|last: char| last.is_ascii_digit()));
        // The marks of a comment are not a word.
        if !bare.is_empty() {
            *in_list = bare == "contract" || (*in_list && goes_on);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_does_not_exist_is_found() {
        let text = "//! What it is.\n\
                    /// One thing (contract 5.99).\n\
                    let a = 1; // contract 5.4, 8.77: both; I28 and D30\n";
        let found: Vec<String> = check(&Tree::from_files(&[("core/src/a.rs", text)]))
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(
            found[0].starts_with("core/src/a.rs:2: the contract has no statement `5.99`"),
            "{}",
            found[0]
        );
        for cited in ["`8.77`", "`I28`", "`D30`"] {
            assert!(found.iter().any(|finding| finding.contains(cited)), "{cited}");
        }
    }

    #[test]
    fn a_number_in_quotes_is_a_citation_in_a_program() {
        assert_eq!(
            quoted(r#"    ("I7", 3, "D12x", "I") because "D5""#).collect::<Vec<_>>(),
            ["I7", "D5"]
        );
    }

    #[test]
    fn citations_are_read_in_all_their_forms() {
        let of = |comment| cited(comment, &mut false);
        assert_eq!(of("// one (contract 5.4, 5.16, 8.3)."), ["5.4", "5.16", "8.3"]);
        assert_eq!(of("// contract 8: a key is spent by 3 of 4"), ["8"]);
        assert_eq!(of("// contract 5.4 and 5.5 hold, in 2 ways"), ["5.4", "5.5"]);
        assert_eq!(of("// contract 5.4 says 12 things"), ["5.4"]);
        assert_eq!(of("// see I16, D4: Ids I9x DD3"), ["I16", "D4"]);
        assert_eq!(of("// the contract says 3"), [""; 0]);
    }

    #[test]
    fn a_citation_knows_its_place_and_whether_a_test_says_it() {
        let tree = Tree::from_files(&[
            (
                "core/src/a.rs",
                "//! contract 5.4\nlet contract = 5.5;\n#[cfg(test)]\nmod tests {\n    // I1\n}\n",
            ),
            ("tests/fixtures/scheduler/x/README.md", "A wait for the runtime: D2.\n"),
            ("tests/fixtures/scheduler/x/ledger/briefs.jsonl", "// D3\n"),
            ("core/src/b.rs", "/// One thing (contract\n/// 5.9,\n/// 5.10).\n// 5.11\n"),
            ("tests/scenarios/a.txt", "# contract 5.6\nprompt m1 contract 5.7\n"),
            ("wasm/web/js/README.md", "D4\n"),
            ("xtask/src/a.rs", "//! contract 5.8\n"),
        ]);
        let found: Vec<(String, &str, usize, bool)> = all(&tree)
            .into_iter()
            .map(|citation| (citation.number, citation.path, citation.line, citation.is_test))
            .collect();
        let expected = [
            ("5.4", "core/src/a.rs", 1, false),
            ("I1", "core/src/a.rs", 5, true),
            ("D2", "tests/fixtures/scheduler/x/README.md", 1, true),
            ("5.9", "core/src/b.rs", 2, false),
            ("5.10", "core/src/b.rs", 3, false),
            ("5.6", "tests/scenarios/a.txt", 1, true),
        ];
        assert_eq!(
            found,
            expected.map(|(number, path, line, is_test)| (number.to_owned(), path, line, is_test))
        );
    }
}
