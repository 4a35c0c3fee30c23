//! Makes control characters visible, so that no text can steer a terminal or look like another.
//!
//! What a command prints has passages of models, commands and ledgers in it. Each of them could
//! hold escape sequences. So every output passes [`visible`] as its last step, and only styles that
//! [`painted`](super::style::painted) has marked reach the terminal as escape sequences.

use std::{
    borrow::Cow,
    collections::hash_map::RandomState,
    fmt::Write,
    hash::{BuildHasher, Hasher},
    sync::LazyLock,
};

use anstyle::{Reset, Style};

use super::style::STYLES;

/// Characters without a width. Until it is printed, a style is a row of them in a text, so the text
/// can be measured as if it had no style. The last one ends a style.
const DIGITS: [char; 5] = ['\u{2061}', '\u{2062}', '\u{2063}', '\u{2064}', '\u{2060}'];

/// What comes before the number of a style. It differs in every process and is never printed, so no
/// text can contain it.
static MARK: LazyLock<String> = LazyLock::new(|| {
    let random = RandomState::new().build_hasher().finish();
    (0..32).map(|place| DIGITS[(random >> (2 * place) & 3) as usize]).collect()
});

/// The text in one of our styles, in the form that [`visible`] prints as that style.
pub(super) fn marked(style: Style, text: &str) -> String {
    let Some(number) = STYLES.iter().position(|known| *known == style) else {
        return text.to_owned();
    };
    format!("{}{}{text}{}{}", *MARK, DIGITS[number], *MARK, DIGITS[STYLES.len()])
}

/// The escape sequence of the mark with which a text begins, and the rest of the text.
fn style_at(text: &str) -> Option<(String, &str)> {
    let rest = text.strip_prefix(MARK.as_str())?;
    let digit = rest.chars().next()?;
    let number = DIGITS.iter().position(|known| *known == digit)?;
    let rest = &rest[digit.len_utf8()..];
    Some(match STYLES.get(number) {
        Some(style) => (style.render().to_string(), rest),
        None => (Reset.render().to_string(), rest),
    })
}

/// The text with all control characters written as JSON does (`\u001b`), except line breaks, tabs
/// and marked styles. So text in JSON keeps its meaning.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_hidden) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(c) = rest.chars().next() {
        if let Some((sequence, after)) = style_at(rest) {
            shown.push_str(&sequence);
            rest = after;
            continue;
        }
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // A string takes any text.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(shown)
}

/// Whether a character does something instead of being seen.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Joiners change only the form of their neighbours, and some scripts need them.
        '\u{200c}' | '\u{200d}' => false,
        _ if c.is_control() => true,
        // Direction: marks, embeddings, overrides and isolates.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // Separators of lines and paragraphs, which some terminals and editors obey.
        '\u{2028}' | '\u{2029}' => true,
        // Characters without a form: spaces of no width, invisible operators, annotations, tags.
        '\u{200b}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::style::{BAD, GOOD, STRONG, painted};

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        for (text, shown) in [
            ("plain ä 日本 👩\u{200d}💻 \n\t", "plain ä 日本 👩\u{200d}💻 \n\t"),
            ("\x1b]52;c;Y29weQ==\x07", r"\u001b]52;c;Y29weQ==\u0007"),
            ("\x1b[2J\x1b[31mred", r"\u001b[2J\u001b[31mred"),
            ("\u{9b}31m \u{9d}0;t\u{9c}", r"\u009b31m \u009d0;t\u009c"),
            ("a\rb\u{8}c\u{7f}\0", r"a\u000db\u0008c\u007f\u0000"),
            ("\u{202e}\u{2066}\u{200f}\u{61c}", r"\u202e\u2066\u200f\u061c"),
            ("\u{2028}\u{2029}\u{200b}\u{feff}", r"\u2028\u2029\u200b\ufeff"),
            ("\u{e0041}", r"\udb40\udc41"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let text = "\u{7f}\u{9b}\u{202e}\u{e0041}\u{2028}";
        let json = format!("[\"{text}\"]");
        assert_ne!(visible(&json), json);
        let read: Vec<String> = serde_json::from_str(&visible(&json)).expect("JSON");
        assert_eq!(read, [text]);
    }

    #[test]
    fn a_style_is_printed_only_if_it_is_ours() {
        for style in [GOOD, BAD, STRONG] {
            let ours = painted(style, "x \x1b[1m y");
            let shown = format!("{}x \\u001b[1m y{}", style.render(), style.render_reset());
            assert_eq!(visible(&ours), shown);
        }
        // What looks like a mark is not one.
        let like = "\u{2061}".repeat(33);
        assert_eq!(visible(&like), r"\u2061".repeat(33));
        assert!(!visible(&painted(BAD, "x")).contains(DIGITS));
    }
}
