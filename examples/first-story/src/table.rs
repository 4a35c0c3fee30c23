//! A table of plain text.

/// A line per row. Each column is as wide as its longest cell.
pub(crate) fn table(head: [&str; 4], rows: impl Iterator<Item = [String; 4]>) -> String {
    let rows: Vec<[String; 4]> = [head.map(str::to_owned)].into_iter().chain(rows).collect();
    let widths = [0, 1, 2].map(|column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    });
    let line = |[a, b, c, last]: &[String; 4]| {
        format!("{a:0$}  {b:1$}  {c:2$}  {last}\n", widths[0], widths[1], widths[2])
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_longest_cell() {
        let rows = [["09:00", "StartModelTurn", "3", "a"], ["9", "Sleep", "8.timer", "b"]];
        let rows = rows.into_iter().map(|row| row.map(str::to_owned));
        assert_eq!(
            table(["at", "decision", "rule", "reason"], rows),
            "at     decision        rule     reason\n\
             09:00  StartModelTurn  3        a\n\
             9      Sleep           8.timer  b\n"
        );
    }
}
