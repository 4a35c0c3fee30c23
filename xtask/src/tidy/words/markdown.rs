//! One sentence per line in Markdown, so that a change shows the sentence that it changes.

use crate::tidy::tree::File;

/// The lines that hold more than one sentence, or only a part of one.
pub(super) fn found(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    let lines: Vec<(usize, &str)> = file.lines().collect();
    for (index, (number, line)) in lines.iter().enumerate() {
        let text = line.trim();
        if text.starts_with("```") {
            in_code = !in_code;
        }
        if in_code || is_other(text) {
            continue;
        }
        if let Some(next) = second_sentence(without_lead(text)) {
            let text = format!("one sentence per line: begin a new line at \"{next}\"");
            found.push((*number, text));
        }
        let next = lines.get(index + 1).map_or("", |(_, next)| next.trim());
        let continues = !is_other(next) && !begins_item(next) && !next.starts_with("```");
        if continues && !ends(text) {
            found.push((*number, "one sentence per line: join this line with the next".to_owned()));
        }
    }
    found
}

/// An empty line, a heading, a row of a table, a rule or a tag.
fn is_other(text: &str) -> bool {
    text.is_empty() || text.starts_with(['#', '|', '<']) || text.starts_with("```")
}

fn begins_item(text: &str) -> bool {
    text.starts_with("- ")
        || text.starts_with("* ")
        || text.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

/// The text after the mark of an item, and after a bold lead such as `**Floors.**`.
fn without_lead(text: &str) -> &str {
    let text =
        if begins_item(text) { text.split_once(' ').map_or("", |(_, item)| item) } else { text };
    let lead = text.strip_prefix("**").and_then(|bold| bold.split_once("**"));
    lead.map_or(text, |(_, after)| after)
}

/// The first words of the second sentence of a line.
fn second_sentence(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut in_code = false;
    for (index, word) in words.iter().enumerate() {
        in_code ^= word.matches('`').count() % 2 == 1;
        let next = words.get(index + 1)?;
        let begins = next.trim_start_matches(['"', '`', '*', '_', '(', '[']);
        // A sentence may begin with a name in code, which has no capital letter.
        let begins = begins.starts_with(char::is_uppercase) || next.starts_with('`');
        if !in_code && begins && ends(word) && !is_abbreviation(word) {
            return Some(words[index + 1..].iter().take(3).copied().collect::<Vec<_>>().join(" "));
        }
    }
    None
}

fn is_abbreviation(word: &str) -> bool {
    // A colon ends a line before a list, but inside a line its sentence goes on.
    word.ends_with(':') || matches!(word.trim_start_matches('('), "e.g." | "i.e." | "vs." | "..")
}

fn ends(text: &str) -> bool {
    text.trim_end_matches(['"', '\'', '`', '*', '_', ')', ']']).ends_with(['.', '?', '!', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::Tree;

    fn lines(text: &str) -> Vec<usize> {
        let tree = Tree::from_files(&[("README.md", text)]);
        found(&tree.files[0]).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn two_sentences_and_half_a_sentence_are_found() {
        assert_eq!(lines("One is here. Two is here.\n"), [1]);
        assert_eq!(lines("One goes over\nthe line.\n"), [1]);
        assert_eq!(lines("- One. `two` is code.\n  Three.\n"), [1]);
        assert_eq!(lines("One, said \"two.\" Three.\n"), [1]);
    }

    #[test]
    fn tables_code_headings_leads_and_lists_are_not() {
        let text = "\
# One. Two
One.
Two, e.g. Three, in 1.2 `a. B`:

- One
- two and

| One. Two. | three |

1. **Lead.** One.
   Two.

```sh
One. Two and
three
```
";
        assert_eq!(lines(text), [0; 0]);
    }
}
