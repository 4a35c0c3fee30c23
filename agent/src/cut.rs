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

/// The beginning of a text, and a note of how the model reads the rest. `whole` is the length of
/// the whole text, of which this may already be the beginning.
pub(crate) fn with_rest(text: &str, whole: usize, bytes: usize, id: &str) -> String {
    if text.len() <= bytes && whole <= text.len() {
        return text.to_owned();
    }
    let told = &text[..text.floor_char_boundary(bytes)];
    let (shown, whole) = (told.len(), whole.max(text.len()));
    format!(
        "{told}\n[runtime: these are the first {shown} of {whole} bytes; ReadRest with id \
         \"{id}\" and offset {shown} reads on]"
    )
}

/// The length to which each text is cut so that all together have at most `bytes`. Texts that are
/// shorter leave their part to the others.
pub(crate) fn equal_part(lengths: impl IntoIterator<Item = usize>, bytes: usize) -> usize {
    let mut lengths: Vec<_> = lengths.into_iter().collect();
    lengths.sort_unstable();
    let mut left = bytes;
    for (index, length) in lengths.iter().enumerate() {
        let part = left / (lengths.len() - index);
        if *length > part {
            return part;
        }
        left -= length;
    }
    lengths.last().copied().unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_says_where_the_rest_is() {
        assert_eq!(with_rest("abc", 3, 3, "m"), "abc");
        let cut = with_rest("äöü", 0, 5, "m-1");
        assert!(cut.starts_with("äö\n") && cut.contains("first 4 of 6 bytes"), "{cut}");
        assert!(cut.contains("ReadRest with id \"m-1\" and offset 4"), "{cut}");
        assert!(
            with_rest("abc", 10, 20, "m").starts_with("abc\n[runtime: these are the first 3 of 10")
        );
    }

    #[test]
    fn short_texts_leave_their_part_to_long_ones() {
        assert_eq!(equal_part([10, 100, 100], 130), 60);
        assert_eq!(equal_part([10, 20], 100), 20);
        assert_eq!(equal_part([100, 100], 0), 0);
        assert_eq!(equal_part([], 7), 7);
    }

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
