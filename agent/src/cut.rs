//! Cuts texts that are too long.

use std::borrow::Cow;

/// Marks that the rest was cut.
const REST: &str = " [...]";

/// A text on one line, cut after this many characters.
pub(crate) fn line(text: &str, characters: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(characters) {
        None => line,
        Some((end, _)) => format!("{}...", &line[..end]),
    }
}

/// The beginning of a text, cut after at most this many bytes and never inside a character.
pub(crate) fn beginning(text: &str, bytes: usize) -> Cow<'_, str> {
    match text.len() {
        length if length <= bytes => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{}{REST}", &text[..text.floor_char_boundary(bytes)])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_whole_and_the_rest_is_cut_between_characters() {
        assert_eq!(
            (line(" a \n b ", 3), line("a b c", 3)),
            ("a b".to_owned(), "a b...".to_owned())
        );
        assert!(matches!(beginning("äöü", 6), Cow::Borrowed("äöü")));
        assert_eq!(beginning("äöü", 5), "äö [...]");
    }
}
