//! Colours, on a terminal only: `anstream` takes them out elsewhere.

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};

/// Something is as it should be.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// Something is not.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What matters in a line.
pub(super) const STRONG: Style = Style::new().bold();
/// What matters less.
pub(super) const FAINT: Style = Style::new().dimmed();

/// Text in a style.
pub(super) fn painted(style: Style, text: &str) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}

/// A table with a header and without lines.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|name| if name.is_empty() { String::new() } else { painted(STRONG, name) }));
    table
}

/// Prints a table without the blanks that its layout leaves at the ends of lines.
pub(super) fn print(table: &Table) {
    for line in table.lines() {
        anstream::println!("{}", line.trim_end());
    }
}
