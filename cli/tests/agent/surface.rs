//! Checks the page about agents: each row of the task surface names an existing test, and each tool
//! is on the page.

use std::fs;

use crate::program::source;

#[test]
fn each_row_of_the_task_surface_names_a_test() {
    let page = fs::read_to_string(source("docs/agent.md")).expect("the page");
    let (_, table) = page.split_once("## The task surface, row by row").expect("the section");
    let rows: Vec<_> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| asked for"))
        .collect();
    assert!(rows.len() >= 8, "{} rows", rows.len());
    for row in rows {
        let (_, test) = row.trim_end_matches(" |").rsplit_once(" | ").expect("two columns");
        let (file, name) = test.trim().split_once(' ').expect("a file and a test");
        let text = fs::read_to_string(source("cli/tests").join(file.trim_matches('`')))
            .unwrap_or_else(|why| panic!("{file}: {why}"));
        assert!(text.contains(&format!("fn {name}()")), "{file} has no test `{name}`");
    }
}

#[test]
fn each_tool_is_on_the_page() {
    let page = fs::read_to_string(source("docs/agent.md")).expect("the page");
    let tools = fs::read_to_string(source("agent/src/tools/mod.rs")).expect("the list of tools");
    let (_, list) = tools.split_once("tools! {").expect("the list");
    let (list, _) = list.split_once('}').expect("its end");
    let names: Vec<_> = list
        .lines()
        .filter_map(|line| line.trim().split_once("::"))
        .map(|(_, name)| name.trim_end_matches(','))
        .collect();
    assert_eq!(names.len(), 26, "{names:?}");
    for name in names {
        let name = name.split(' ').next().expect("a name").trim_end_matches(',');
        assert!(page.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}
