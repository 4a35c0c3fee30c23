//! Code is at most 100 columns wide.
//!
//! The formatters see to that, but they leave alone what they cannot break: comments, the bodies of
//! macros, and long string literals. Of these only a literal may be wider, because a text in one
//! piece can be searched for.

use super::{
    Finding,
    tree::{File, Tree},
    words,
};

const MOST_COLUMNS: usize = 100;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_checked = |file: &&File| {
        file.is_source() && !file.is_generated() && !words::is_checked_later(&file.path)
    };
    for file in tree.files.iter().filter(is_checked) {
        let literals = words::lines_with_literals(file);
        for (number, line) in file.lines() {
            let columns = line.chars().count();
            let is_wide = columns > MOST_COLUMNS && !literals.contains(&number);
            if is_wide && !may_be_wide(line) {
                let text = format!("{columns} columns, more than {MOST_COLUMNS}; break the line");
                findings.push(Finding::new(&file.path, number, text));
            }
        }
    }
    findings
}

/// A row of a table, a link, a name, or a regular expression of JavaScript: each is in one piece.
fn may_be_wide(line: &str) -> bool {
    let trimmed = line.trim_start();
    let text = trimmed.trim_start_matches(['/', '!', '*', ' ']);
    // rustfmt cannot break a name.
    let is_name = trimmed.starts_with("fn ") && trimmed.ends_with("()");
    let has_link = || text.split_whitespace().any(|word| word.len() > 60);
    let is_comment = ["//", "/*", "*"].iter().any(|mark| trimmed.starts_with(mark));
    if is_comment {
        text.starts_with('|') || has_link()
    } else {
        is_name || trimmed.starts_with('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_line_is_found_unless_it_holds_a_text() {
        let wide = "a".repeat(MOST_COLUMNS + 1);
        let words = "word ".repeat(21);
        let found = |line: &str| {
            let text = format!("//! What it is.\n{line}\n");
            check(&Tree::from_files(&[("src/a.rs", &text)])).len()
        };
        assert_eq!(found(&wide[1..]), 0);
        assert_eq!(found(&wide), 1);
        assert_eq!(found(&format!("// {words}")), 1);
        assert_eq!(found(&format!("/// | {words} |")), 0);
        assert_eq!(found(&format!("/// https://{wide}")), 0);
        assert_eq!(found(&format!("let a = \"{words}\";")), 0);
        assert_eq!(found(&format!("let a = \"\n{words}\";")), 0);
    }
}
