//! SECURITY.md has a table of the kinds, and each promise is in the words of a page.

use std::{fs, path::Path};

use crate::{
    kinds::{KINDS, Kind},
    rows,
};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// The table as SECURITY.md has it.
fn table() -> String {
    let line = |kind: &&Kind| {
        let cell = kind.open.map_or("held".to_owned(), |why| format!("open: {why}"));
        format!("| {} | {cell} |\n", kind.title)
    };
    let begin = "| a command that | bubblewrap |\n|---|---|\n";
    begin.to_owned() + &KINDS.iter().map(line).collect::<String>()
}

#[test]
fn the_page_has_the_table_of_the_rows() {
    let table = table();
    assert!(page("SECURITY.md").contains(&table), "SECURITY.md must have this table:\n{table}");
}

#[test]
fn each_kind_has_a_row_and_a_promise_in_the_words_of_a_page() {
    let pages = page("SECURITY.md") + &page("docs/agent.md").replace("](", "] (");
    for kind in KINDS {
        assert!(pages.contains(kind.promise), "no page says `{}`", kind.promise);
        assert!(
            rows().iter().any(|row| row.kind.title == kind.title),
            "no row is of the kind `{}`",
            kind.title
        );
    }
}

#[test]
fn no_two_rows_have_one_name_and_each_is_of_a_kind_on_the_page() {
    let rows = rows();
    for (at, row) in rows.iter().enumerate() {
        assert!(rows[..at].iter().all(|other| other.name != row.name), "{}", row.name);
        assert!(KINDS.iter().any(|kind| kind.title == row.kind.title), "{}", row.name);
        assert!(!row.ways.is_empty(), "{} has no way", row.name);
    }
}
