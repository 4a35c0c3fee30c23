//! README says of `run` and `test` what docs/times.md has.

use super::{Finding, tree::Tree};
use crate::times::{PAGE, sentence};

const README: &str = "README.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(sentence) = tree.file(PAGE).and_then(|page| sentence(&page.text)) else {
        let text = "it does not say what `run` takes; write it with `cargo xtask tidy --times`";
        return vec![Finding::new(PAGE, 0, text)];
    };
    match tree.file(README) {
        Some(readme) if readme.text.contains(&sentence) => Vec::new(),
        _ => vec![Finding::new(README, 0, format!("it must say: {sentence}"))],
    }
}
