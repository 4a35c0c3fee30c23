//! Words that people read: the sizes of the first pages, and phrases that new readers did not
//! understand, each with what to write instead. docs/decisions/043-plain-english-is-checked.md says
//! what is not checked, and why.

use super::{
    Finding,
    tree::{File, Tree},
};

/// The pages that a newcomer reads first, and how many bytes each may have.
const SIZES: [(&str, usize); 2] = [("README.md", 6_000), ("ARCHITECTURE.md", 15_000)];

/// One phrase.
struct Phrase {
    /// Its words in lower case; `*` is any one word.
    words: &'static [&'static str],
    /// Words that make it right if one of them comes right before it.
    after: &'static [&'static str],
    /// Words that make it right if one of them is the last of it.
    unless: &'static [&'static str],
    instead: &'static str,
}

const fn phrase(words: &'static [&'static str], instead: &'static str) -> Phrase {
    Phrase { words, after: &[], unless: &[], instead }
}

/// "is no" before a noun: right after "there", and before "longer" and its like.
const fn is_no(words: &'static [&'static str]) -> Phrase {
    let after = &["there", "There", "here"];
    let unless = &["longer", "more", "less", "later", "earlier", "other", "matter"];
    Phrase { words, after, unless, instead: "write \"is not a\" or \"is not\"" }
}

const NAME_IT: &str = "say who or what it is";
const USE_IF: &str = "write \"if\"";

const PHRASES: &[Phrase] = &[
    is_no(&["is", "no", "*"]),
    is_no(&["are", "no", "*"]),
    is_no(&["was", "no", "*"]),
    is_no(&["were", "no", "*"]),
    is_no(&["be", "no", "*"]),
    phrase(&["whoever"], NAME_IT),
    phrase(&["whomever"], NAME_IT),
    phrase(&["somebody"], NAME_IT),
    phrase(&["none", "where"], "write \"`None` if\""),
    phrase(&["empty", "where"], "write \"empty if\""),
    phrase(&["where", "there", "is", "none"], "write \"if there is none\""),
    phrase(&["where", "there", "are", "none"], "write \"if there are none\""),
    phrase(&["where", "there", "is", "no"], USE_IF),
    phrase(&["where", "it", "is", "not"], USE_IF),
    phrase(&["where", "it", "cannot"], USE_IF),
    phrase(&["is", "told", "of"], "write \"gets\" or \"learns of\""),
    phrase(&["are", "told", "of"], "write \"get\" or \"learn of\""),
    phrase(&["is", "told", "so"], "say what it gets"),
    phrase(&["of", "which", "it", "is"], "turn the sentence round: actor first"),
    phrase(&["of", "which", "they", "are"], "turn the sentence round: actor first"),
    phrase(&["what", "it", "is", "about"], "name the subject"),
    phrase(&["what", "they", "are", "about"], "name the subject"),
    phrase(&["so", "many"], "name the number"),
    phrase(&["how", "manieth"], "write \"which\""),
    phrase(&["comes", "to"], "write \"reaches\", \"gives\" or \"is\""),
    phrase(&["stands", "in"], "write \"is in\""),
    phrase(&["stands", "at"], "write \"is at\""),
    phrase(&["is", "come", "to"], "write \"reaches\" or \"is reached\""),
    phrase(&["was", "come", "to"], "write \"reached\" or \"was reached\""),
    phrase(&["is", "there", "to"], "write what it does"),
    phrase(&["are", "there", "to"], "write what they do"),
    phrase(&["none", "the", "worse"], "write \"unaffected\""),
    phrase(&["lends"], "write \"provides\""),
];

/// A word of a file: its line, its letters and digits in lower case, and whether a sign after it
/// ends a phrase.
struct Word {
    line: usize,
    text: String,
    ends_phrase: bool,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sizes = SIZES.iter().filter_map(|(path, most)| {
        let bytes = tree.file(path).map_or(0, |file| file.text.len());
        let text = || format!("{bytes} bytes, more than {most}; move a part to docs/");
        (bytes > *most).then(|| Finding::new(path, 0, text()))
    });
    sizes.chain(tree.files.iter().filter(|file| is_read(file)).flat_map(phrases)).collect()
}

fn is_read(file: &File) -> bool {
    let is_text = file.is_source() || matches!(file.extension(), "md" | "py" | "toml" | "wit");
    // This file names the phrases.
    is_text && file.path != "xtask/src/tidy/words.rs"
}

fn phrases(file: &File) -> Vec<Finding> {
    let words: Vec<Word> =
        file.lines().flat_map(|(line, text)| words(line, &text.replace("\\n", " "))).collect();
    let found = (0..words.len()).filter_map(|at| {
        let phrase = PHRASES.iter().find(|phrase| phrase.begins(&words, at))?;
        let said: Vec<&str> =
            words[at..at + phrase.words.len()].iter().map(|word| word.text.as_str()).collect();
        let text = format!("\"{}\": {}", said.join(" "), phrase.instead);
        Some(Finding::new(&file.path, words[at].line, text))
    });
    found.collect()
}

/// Signs that stand alone, such as what marks a comment, part no words, so a phrase is found over
/// two lines.
fn words(line: usize, text: &str) -> Vec<Word> {
    let parts = text.split_inclusive(|c: char| !c.is_alphanumeric());
    let words = parts.filter_map(|part| {
        let word = part.trim_end_matches(|c: char| !c.is_alphanumeric());
        let ends_phrase = !part[word.len()..].chars().all(char::is_whitespace);
        (!word.is_empty()).then(|| Word { line, text: word.to_lowercase(), ends_phrase })
    });
    words.collect()
}

impl Phrase {
    fn begins(&self, words: &[Word], at: usize) -> bool {
        let Some(these) = words.get(at..at + self.words.len()) else { return false };
        let equal = |(word, asked): (&Word, &&str)| *asked == "*" || word.text == **asked;
        let in_one = these[..these.len() - 1].iter().all(|word| !word.ends_phrase);
        let before = at.checked_sub(1).map(|before| words[before].text.as_str());
        these.iter().zip(self.words).all(equal)
            && in_one
            && !before.is_some_and(|before| self.after.contains(&before))
            && !these.last().is_some_and(|last| self.unless.contains(&last.text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<String> {
        check(&Tree::from_files(&[(path, text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_first_page_that_is_too_long_is_found() {
        for (path, most) in SIZES {
            assert_eq!(found_in(path, &"a.\n".repeat(most / 3)), [""; 0]);
            let found = found_in(path, &"a.\n".repeat(most / 3 + 1));
            assert!(found[0].contains(&format!("more than {most}")), "{found:?}");
        }
    }

    #[test]
    fn every_phrase_is_found_and_says_what_to_write() {
        for phrase in PHRASES {
            let text = format!("It {} .", phrase.words.join(" ").replace('*', "ledger"));
            let found = found_in("docs/a.md", &text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].ends_with(phrase.instead), "{}", found[0]);
        }
    }

    #[test]
    fn a_phrase_is_found_in_comments_literals_and_pages_and_over_two_lines() {
        let found = found_in("src/a.rs", "// It is no\n// ledger.\nlet a = \"whoever\";\n");
        assert!(found[0].starts_with("src/a.rs:1: \"is no ledger\""), "{found:?}");
        assert!(found[1].starts_with("src/a.rs:3: \"whoever\""), "{found:?}");
        assert_eq!(found_in("tests/fixtures/x/ledger/a.jsonl", "whoever"), [""; 0]);
        assert_eq!(found_in("src/a.rs", "let a = Some(body);"), [""; 0]);
    }

    #[test]
    fn is_no_is_right_after_there_before_longer_and_over_a_comma() {
        let right = [
            "there is no file",
            "it is no longer open",
            "it is no more than one",
            "so it is. No file is open",
            "such as it is, no file is open",
        ];
        for right in right {
            assert_eq!(found_in("docs/a.md", right), [""; 0], "{right}");
        }
    }
}
