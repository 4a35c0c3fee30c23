//! Phrases that a stranger stumbles over, each with what to write instead.

use super::prose::{Passage, Word};

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

/// All of them. docs/decisions/043-plain-english-is-checked.md says why they are checked.
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

/// The phrases in a passage: where each begins, and what to do about it.
pub(super) fn found(passage: &Passage) -> Vec<(usize, String)> {
    let words = passage.words();
    let mut found = Vec::new();
    for at in 0..words.len() {
        if let Some(phrase) = PHRASES.iter().find(|phrase| phrase.begins(&words, at)) {
            let text: Vec<&str> =
                words[at..at + phrase.words.len()].iter().map(|word| word.text.as_str()).collect();
            let text = format!("\"{}\": {}", text.join(" "), phrase.instead);
            found.push((words[at].line, text));
        }
    }
    // A question may begin so: "Where is it?".
    for sentence in passage.sentences() {
        let is_question = sentence.last().is_some_and(|last| last.raw.contains('?'));
        if let Some(first) = sentence.first().filter(|first| first.raw == "Where" && !is_question) {
            let text = format!("a sentence begins with \"Where\": {USE_IF}, or name the place");
            found.push((first.line, text));
        }
    }
    found
}

impl Phrase {
    fn begins(&self, words: &[Word], at: usize) -> bool {
        let Some(these) = words.get(at..at + self.words.len()) else { return false };
        let equal = |(word, asked): (&Word, &&str)| *asked == "*" || word.text == **asked;
        // A phrase does not go over the end of a sentence.
        let in_one = these[..these.len() - 1].iter().all(|word| !word.ends_phrase());
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

    fn found_in(text: &str) -> Vec<String> {
        found(&Passage::of_line(1, text)).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn every_phrase_is_found_and_says_what_to_write() {
        for phrase in PHRASES {
            let text = format!("It {} .", phrase.words.join(" ").replace('*', "ledger"));
            let found = found_in(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(found[0].ends_with(phrase.instead), "{}", found[0]);
        }
    }

    #[test]
    fn is_no_is_right_after_there_and_before_longer() {
        assert_eq!(found_in("`X` is no file of ledgers").len(), 1);
        for right in ["there is no file", "it is no longer open", "it is no more than one"] {
            assert_eq!(found_in(right), [""; 0], "{right}");
        }
        // The end of a sentence parts the words, and so does a comma.
        assert_eq!(found_in("so it is. No file is open"), [""; 0]);
        assert_eq!(found_in("such as it is, no file is open"), [""; 0]);
    }

    #[test]
    fn where_may_begin_a_question_and_no_other_sentence() {
        assert_eq!(found_in("It ends. Where the ledger fails, it stays.").len(), 1);
        assert_eq!(found_in("Where is the ledger?"), [""; 0]);
        assert_eq!(found_in("The folder where the ledger is."), [""; 0]);
    }
}
