//! Colours and tables. `anstream` removes the colours if the output is not a terminal.

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use super::visible::marked;

/// Something is right.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Something is wrong.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// The most important part of a line.
pub(super) const STRONG: Style = Style::new().bold();
/// A less important part of a line.
pub(super) const FAINT: Style = Style::new().dimmed();

/// All of them.
pub(super) const STYLES: [Style; 4] = [GOOD, BAD, STRONG, FAINT];

/// The text in a style, for one of the functions of [`say`](super::say).
pub(super) fn painted(style: Style, text: &str) -> String {
    marked(style, text)
}

/// A table with a header and without borders.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(
        header
            .iter()
            .map(|name| if name.is_empty() { String::new() } else { painted(STRONG, name) }),
    );
    table
}

/// Prints a table without the blanks that its layout leaves at line ends.
pub(super) fn print(table: &Table) {
    for line in table.lines() {
        say!("{}", line.trim_end());
    }
}

/// A progress bar for a long command. It is hidden if there is no terminal.
pub(super) fn progress(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
    match style {
        Ok(style) => bar.with_style(style),
        // INVARIANT: the template above is valid, so this is not reached.
        Err(_) => bar,
    }
}
