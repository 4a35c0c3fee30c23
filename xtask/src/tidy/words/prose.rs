//! The prose of a file: its comments, its string literals, the text of a page.

use crate::tidy::tree::File;

/// Text that is read in one go: a paragraph of a comment or of a page, or a string literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) kind: Kind,
    /// Its lines with their numbers from 1, without what marks them as a comment.
    pub(super) lines: Vec<(usize, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Sentences: a comment, or the text of a page.
    Sentences,
    /// A string literal: words, and not always sentences.
    Literal,
}

/// One word of a passage.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) line: usize,
    /// As it is written, with the signs around it.
    pub(super) raw: String,
    /// Its letters and digits, in lower case.
    pub(super) text: String,
}

impl Word {
    /// Whether a comma, a full stop or another sign comes after it.
    pub(super) fn ends_phrase(&self) -> bool {
        self.raw.ends_with([',', '.', ';', ':', '?', '!', ')', ']'])
    }

    fn ends_sentence(&self) -> bool {
        let bare = self.raw.trim_end_matches(['"', '\'', '`', '*', '_', ')', ']']);
        bare.ends_with(['.', '?', '!']) && !matches!(bare, "e.g." | "i.e." | "vs." | "..")
    }
}

impl Passage {
    /// A passage of one line.
    #[cfg(test)]
    pub(super) fn of_line(line: usize, text: &str) -> Self {
        Self { kind: Kind::Sentences, lines: vec![(line, text.to_owned())] }
    }

    /// Its words. What stands between backticks is a name and counts as one word.
    pub(super) fn words(&self) -> Vec<Word> {
        let mut words = Vec::new();
        for (line, text) in &self.lines {
            for raw in without_code(text).replace("<br>", " | ").split_whitespace() {
                let text: String =
                    raw.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
                if !text.is_empty() {
                    words.push(Word { line: *line, raw: raw.to_owned(), text });
                } else if let Some(last) = words.last_mut() {
                    // A dash parts two phrases as a comma does, and a cell of a row is a sentence.
                    last.raw.push(if raw == "|" { '.' } else { ';' });
                }
            }
        }
        words
    }

    /// Its sentences, as their words.
    pub(super) fn sentences(&self) -> Vec<Vec<Word>> {
        if self.kind == Kind::Literal {
            return Vec::new();
        }
        let mut sentences = vec![Vec::new()];
        for word in self.words() {
            let ends = word.ends_sentence();
            if let Some(sentence) = sentences.last_mut() {
                sentence.push(word);
            }
            if ends {
                sentences.push(Vec::new());
            }
        }
        sentences
    }
}

/// A text whose code spans are one word each.
fn without_code(text: &str) -> String {
    let mut parts = text.split('`');
    let mut without = parts.next().unwrap_or_default().to_owned();
    let mut is_code = true;
    for part in parts {
        without.push_str(if is_code { "code" } else { part });
        is_code = !is_code;
    }
    without
}

/// All prose of a file.
pub(super) fn of(file: &File) -> Vec<Passage> {
    match file.extension() {
        "md" => of_page(file),
        "rs" => of_program(&file.text, Language::Rust),
        "ts" | "tsx" | "mts" | "mjs" | "js" => of_program(&file.text, Language::Script),
        "wit" => of_program(&file.text, Language::Wit),
        "toml" | "txt" => of_comments(file, "#"),
        _ => Vec::new(),
    }
}

/// The paragraphs, list items and rows of a page; blocks of code are left out.
fn of_page(file: &File) -> Vec<Passage> {
    let mut passages = Passages::default();
    let mut in_code = false;
    for (number, line) in file.lines() {
        let text = line.trim();
        if text.starts_with("```") {
            in_code = !in_code;
            passages.part();
        } else if !in_code {
            passages.add(number, text);
        }
    }
    passages.all
}

fn of_comments(file: &File, mark: &str) -> Vec<Passage> {
    let mut passages = Passages::default();
    for (number, line) in file.lines() {
        match line.trim().strip_prefix(mark) {
            Some(comment) => passages.add(number, comment.trim()),
            None => passages.part(),
        }
    }
    passages.all
}

#[derive(Default)]
struct Passages {
    all: Vec<Passage>,
    is_open: bool,
}

impl Passages {
    /// A line of text: it continues the passage before it, or begins one.
    fn add(&mut self, number: usize, text: &str) {
        let begins = text.starts_with(['#', '|', '-', '*', '>'])
            || text.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if text.is_empty() {
            self.part();
            return;
        }
        let line = (number, text.to_owned());
        match self.all.last_mut().filter(|_| self.is_open && !begins) {
            Some(passage) => passage.lines.push(line),
            None => self.all.push(Passage { kind: Kind::Sentences, lines: vec![line] }),
        }
        // A heading and a row end where their line ends.
        self.is_open = !text.starts_with(['#', '|']);
    }

    fn part(&mut self) {
        self.is_open = false;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Rust,
    Script,
    Wit,
}

/// The comments of a program, joined over lines, and its string literals.
fn of_program(text: &str, language: Language) -> Vec<Passage> {
    let mut comments = Passages::default();
    let mut literals = Vec::new();
    let mut rest = Scanner::default();
    let mut in_example = false;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let read = rest.line(line, language);
        match read.comment {
            Some(comment) => {
                let comment = comment.trim().trim_end_matches("*/").trim();
                if comment.starts_with("```") {
                    in_example = !in_example;
                    comments.part();
                } else if !in_example {
                    // A comment after code stands alone and does not continue the comment above.
                    if read.has_code {
                        comments.part();
                    }
                    comments.add(number, comment);
                }
            }
            None => {
                in_example = false;
                comments.part();
            }
        }
        literals.extend(
            read.literals
                .into_iter()
                .map(|literal| Passage { kind: Kind::Literal, lines: vec![(number, literal)] }),
        );
    }
    comments.all.extend(literals);
    comments.all
}

/// Where a line ends: in a comment, in a literal, or in code.
#[derive(Default)]
struct Scanner {
    in_block: bool,
    /// What ends the literal that is open.
    literal: Option<String>,
}

#[derive(Default)]
struct Read {
    comment: Option<String>,
    literals: Vec<String>,
    has_code: bool,
}

impl Scanner {
    fn line(&mut self, line: &str, language: Language) -> Read {
        let mut read = Read::default();
        let mut rest = line;
        loop {
            if self.in_block {
                let (comment, after) = match rest.split_once("*/") {
                    Some((comment, after)) => (comment, Some(after)),
                    None => (rest, None),
                };
                let comment = comment.trim();
                read.comment = Some(comment.strip_prefix('*').unwrap_or(comment).to_owned());
                let Some(after) = after else { break };
                self.in_block = false;
                rest = after;
            } else if let Some(end) = self.literal.clone() {
                let at = end_of_literal(rest, &end);
                read.literals.push(rest[..at.unwrap_or(rest.len())].replace("\\n", " "));
                let Some(at) = at else { break };
                self.literal = None;
                rest = &rest[at + end.len()..];
            } else {
                let Some(at) = rest.find(['"', '\'', '`', '/', 'r']) else {
                    read.has_code |= !rest.trim().is_empty();
                    break;
                };
                read.has_code |= !rest[..at].trim().is_empty();
                let before = rest[..at].chars().next_back();
                rest = &rest[at..];
                rest = self.token(rest, before, language, &mut read);
                if rest.is_empty() {
                    break;
                }
            }
        }
        // Only some literals go over the end of a line.
        let goes_on = language == Language::Rust || self.literal.as_deref() == Some("`");
        if !goes_on {
            self.literal = None;
        }
        read
    }

    /// One sign that may open a comment or a literal, and what follows it.
    fn token<'a>(
        &mut self,
        rest: &'a str,
        before: Option<char>,
        language: Language,
        read: &mut Read,
    ) -> &'a str {
        if let Some(comment) = rest.strip_prefix("//") {
            let comment = comment.trim_start_matches(['/', '!']);
            read.comment = Some(comment.to_owned());
            return "";
        }
        if let Some(block) = rest.strip_prefix("/*") {
            self.in_block = true;
            return block.trim_start_matches('*');
        }
        // The `r` at the end of a name does not open a raw literal.
        let is_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if language == Language::Rust && rest.starts_with('r') && !is_name {
            let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
            if let Some(raw) = rest[1 + hashes..].strip_prefix('"') {
                self.literal = Some(format!("\"{}", "#".repeat(hashes)));
                read.has_code = true;
                return raw;
            }
        }
        let opens = match (language, rest.as_bytes()[0]) {
            (Language::Rust, b'"') | (Language::Script, b'"' | b'\'' | b'`') => true,
            (Language::Rust, b'\'') => return after_character(rest),
            _ => false,
        };
        if opens {
            self.literal = Some(rest[..1].to_owned());
        }
        read.has_code = true;
        &rest[1..]
    }
}

/// What follows a character of Rust, as `'"'`, or the sign of a lifetime.
fn after_character(rest: &str) -> &str {
    for literal in ["'\"'", "'\\\"'", "'\\''", "'`'", "'/'"] {
        if let Some(after) = rest.strip_prefix(literal) {
            return after;
        }
    }
    &rest[1..]
}

/// Where a literal ends; a sign after a backslash does not end it.
fn end_of_literal(text: &str, end: &str) -> Option<usize> {
    let is_raw = end.len() > 1;
    let mut escaped = false;
    for (at, sign) in text.char_indices() {
        if !escaped && text[at..].starts_with(end) {
            return Some(at);
        }
        escaped = sign == '\\' && !escaped && !is_raw;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::Tree;

    fn passages(path: &str, text: &str) -> Vec<(Kind, Vec<(usize, String)>)> {
        let tree = Tree::from_files(&[(path, text)]);
        of(&tree.files[0]).into_iter().map(|passage| (passage.kind, passage.lines)).collect()
    }

    fn sentences(lines: &[(usize, &str)]) -> (Kind, Vec<(usize, String)>) {
        let lines = lines.iter().map(|(number, text)| (*number, (*text).to_owned())).collect();
        (Kind::Sentences, lines)
    }

    fn literal(line: usize, text: &str) -> (Kind, Vec<(usize, String)>) {
        (Kind::Literal, vec![(line, text.to_owned())])
    }

    #[test]
    fn comments_are_joined_over_lines_and_literals_stand_alone() {
        let text = "\
//! One.
//! Two.
//!
//! - Three
//!   and four.

fn a<'a>(b: &'a str) {
    let c = '\"'; // Five.
    let d = \"six \\\" seven\"; /* Eight. */
    let e = r#\"nine \" // ten\"#;
    /// ```
    /// left out
    /// ```
    /// Eleven.
}
";
        let expected = [
            sentences(&[(1, "One."), (2, "Two.")]),
            sentences(&[(4, "- Three"), (5, "and four.")]),
            sentences(&[(8, "Five.")]),
            sentences(&[(9, "Eight.")]),
            sentences(&[(14, "Eleven.")]),
            literal(9, "six \\\" seven"),
            literal(10, "nine \" // ten"),
        ];
        assert_eq!(passages("a.rs", text), expected);
    }

    #[test]
    fn scripts_have_blocks_and_templates() {
        let text = "/**\n * One.\n * Two.\n */\nconst a = 'three' + `four\nfive`; // Six.\n";
        let expected = [
            sentences(&[(2, "One."), (3, "Two.")]),
            sentences(&[(6, "Six.")]),
            literal(5, "three"),
            literal(5, "four"),
            literal(6, "five"),
        ];
        assert_eq!(passages("a.ts", text), expected);
    }

    #[test]
    fn a_page_is_read_without_its_code() {
        let text =
            "# One\n\nTwo.\nThree.\n\n```sh\nfour\n```\n\n| five | six |\n- seven\n  eight\n";
        let expected = [
            sentences(&[(1, "# One")]),
            sentences(&[(3, "Two."), (4, "Three.")]),
            sentences(&[(10, "| five | six |")]),
            sentences(&[(11, "- seven"), (12, "eight")]),
        ];
        assert_eq!(passages("docs/a.md", text), expected);
    }

    #[test]
    fn names_between_backticks_are_one_word() {
        let passage = Passage::of_line(1, "Call `is no ledger` - then stop. Go.");
        let words: Vec<String> = passage.words().into_iter().map(|word| word.text).collect();
        assert_eq!(words, ["call", "code", "then", "stop", "go"]);
        let lengths: Vec<usize> = passage.sentences().iter().map(Vec::len).collect();
        assert_eq!(lengths, [4, 1, 0]);
    }
}
