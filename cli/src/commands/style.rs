//! Colours and tables. `anstream` removes the colours if the output is not a terminal.

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use unicode_width::UnicodeWidthStr;

use super::{say::without_styles, visible::marked};

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

/// A table without borders, whose columns are as wide as their widest cell.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

/// A table with a header.
pub(super) fn table(header: &[&str]) -> Table {
    let title = |name: &&str| match *name {
        "" => String::new(),
        name => painted(STRONG, name),
    };
    Table { rows: vec![header.iter().map(title).collect()] }
}

impl Table {
    pub(super) fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn add_rows<R: IntoIterator<Item = String>>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
    ) {
        rows.into_iter().for_each(|row| self.add_row(row));
    }

    fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths = vec![0; columns];
        for (at, cell) in self.rows.iter().flat_map(|row| row.iter().enumerate()) {
            widths[at] = widths[at].max(width(cell));
        }
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, most)| {
                let blanks = most.saturating_sub(width(cell));
                format!(" {cell}{:blanks$} ", "")
            });
            cells.collect::<String>().trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

/// The columns that a text takes once it is printed.
fn width(text: &str) -> usize {
    without_styles(text).width()
}

/// Prints a table.
pub(super) fn print(table: &Table) {
    table.lines().iter().for_each(|line| say!("{line}"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_a_terminal_shows() {
        let mut table = table(&["a", ""]);
        table.add_row([painted(GOOD, "日本"), "x".to_owned()]);
        table.add_row(["\x1b".to_owned(), painted(FAINT, "y")]);
        table.add_row(["z".to_owned()]);
        let lines = table.lines();
        let shown: Vec<_> = lines.iter().map(|line| without_styles(line)).collect();
        assert_eq!(shown, [" a", " 日本    x", " \\u001b  y", " z"]);
    }
}
